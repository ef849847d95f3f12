# Reading another process's memory.
import os
pid = os.environ["VICTIM"]
start = int(open(f"/proc/{pid}/maps").readline().split("-")[0], 16)
with open(f"/proc/{pid}/mem", "rb") as memory:
    memory.seek(start)
    assert memory.read(4) == b"\x7fELF"
