ls "$HOME/.ssh" | grep id
