mkdir m && mount --bind "$OUTSIDE" m && umount m
