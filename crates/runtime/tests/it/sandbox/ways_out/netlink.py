# Asking the kernel about the network.
import socket
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0))
