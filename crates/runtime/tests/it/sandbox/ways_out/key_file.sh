grep secret "$HOME/.netrc"
