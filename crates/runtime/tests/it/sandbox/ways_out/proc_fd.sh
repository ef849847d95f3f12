echo x >> "/proc/$VICTIM/fd/9"
