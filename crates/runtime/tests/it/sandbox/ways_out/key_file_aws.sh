grep secret "$HOME/.aws/credentials"
