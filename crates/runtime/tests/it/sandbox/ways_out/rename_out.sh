echo x > here && mv here "$OUTSIDE/new"
