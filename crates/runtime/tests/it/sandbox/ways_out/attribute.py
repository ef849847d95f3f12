# An extended attribute of a file outside.
import os
os.setxattr(os.environ["OUTSIDE"] + "/victim", "user.attache", b"x")
