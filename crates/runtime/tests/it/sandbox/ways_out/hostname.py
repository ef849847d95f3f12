import socket; socket.sethostname(socket.gethostname())
