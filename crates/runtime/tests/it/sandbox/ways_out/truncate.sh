truncate -s 0 "$OUTSIDE/victim"
