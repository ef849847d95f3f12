x = bytearray(512 << 20)
