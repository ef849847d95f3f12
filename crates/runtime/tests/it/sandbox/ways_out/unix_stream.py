# The socket of another program, such as that of a container engine.
import os, socket
socket.socket(socket.AF_UNIX).connect(os.environ["OUTSIDE"] + "/stream")
