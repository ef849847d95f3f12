grep secret "$HOME/.ssh/id"
