mv vendor vendor.old && mkdir -p vendor/lib/.git/hooks && echo evil > vendor/lib/.git/hooks/post-commit
