chmod 777 "$OUTSIDE/victim"
