grep secret "/proc/self/root$HOME/.ssh/id"
