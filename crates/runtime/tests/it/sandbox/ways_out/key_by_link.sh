ln "$HOME/.ssh/id" here && grep secret here
