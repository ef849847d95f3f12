rm "$OUTSIDE/victim"
