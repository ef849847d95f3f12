echo x > "$OUTSIDE/new"
