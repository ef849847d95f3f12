mv "$OUTSIDE/victim" here
