touch -d 2001-01-01 "$OUTSIDE/victim"
