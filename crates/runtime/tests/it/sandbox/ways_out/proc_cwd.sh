echo x > "/proc/$VICTIM/cwd/new"
