unshare --mount true
