# A TCP connection.
import os, socket
socket.create_connection(("127.0.0.1", int(os.environ["TCP"])))
