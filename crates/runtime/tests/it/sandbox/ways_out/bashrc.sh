echo evil >> "$HOME/.bashrc"
