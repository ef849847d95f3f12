grep secret "$HOME/.npmrc"
