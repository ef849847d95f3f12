unshare --user --map-root-user true
