# An IPv6 datagram.
import socket
socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).connect(("::1", 9))
