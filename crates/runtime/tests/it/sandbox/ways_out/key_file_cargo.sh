grep secret "$HOME/.cargo/credentials.toml"
