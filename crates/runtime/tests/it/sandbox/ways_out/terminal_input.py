# Typing into a terminal.
import fcntl, os, pty, sys, termios
leader, follower = os.openpty()
if os.fork() == 0:
    os.setsid()
    fcntl.ioctl(follower, termios.TIOCSCTTY, 0)
    try:
        fcntl.ioctl(follower, termios.TIOCSTI, b"x")
    except OSError:
        os._exit(1)
    os._exit(0)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
