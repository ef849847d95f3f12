grep secret "$HOME/.pgpass"
