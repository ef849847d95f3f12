# One of a pair of datagram sockets can send to any address.
import os, socket
one, other = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
one.sendto(b"x", os.environ["OUTSIDE"] + "/datagram")
