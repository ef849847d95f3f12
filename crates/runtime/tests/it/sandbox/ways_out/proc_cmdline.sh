grep -a sleep "/proc/$VICTIM/cmdline"
