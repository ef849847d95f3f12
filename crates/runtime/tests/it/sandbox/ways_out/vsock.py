import socket; socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM)
