echo evil > .git/hooks/post-commit
