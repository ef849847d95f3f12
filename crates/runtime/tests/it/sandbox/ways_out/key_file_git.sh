grep secret "$HOME/.git-credentials"
