grep -a of-the-victim "/proc/$VICTIM/environ"
