grep secret "$HOME/.pypirc"
