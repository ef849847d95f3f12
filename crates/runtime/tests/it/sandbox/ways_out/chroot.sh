chroot / true
