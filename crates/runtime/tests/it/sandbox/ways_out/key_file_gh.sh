grep secret "$HOME/.config/gh/hosts.yml"
