grep secret "$HOME/.docker/config.json"
