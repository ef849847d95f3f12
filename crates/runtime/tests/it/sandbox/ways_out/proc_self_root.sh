echo x > "/proc/self/root$OUTSIDE/new"
