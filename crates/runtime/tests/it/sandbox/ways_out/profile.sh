echo evil > "$HOME/.profile"
