ln "$OUTSIDE/victim" link && echo x > link
