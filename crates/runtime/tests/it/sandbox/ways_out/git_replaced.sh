mv .git old && mkdir -p .git/hooks && echo evil > .git/hooks/post-commit
