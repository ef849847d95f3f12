echo evil > vendor/lib/.git/hooks/post-commit
