mkdir m && mount -t tmpfs none m && umount m
