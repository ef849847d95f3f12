# A datagram to the socket of another program, such as that of a log.
import os, socket
socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM).sendto(b"x", os.environ["OUTSIDE"] + "/datagram")
