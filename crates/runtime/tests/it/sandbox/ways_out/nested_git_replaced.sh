mv vendor/lib/.git old && mkdir -p vendor/lib/.git/hooks
