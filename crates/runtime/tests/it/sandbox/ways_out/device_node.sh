mknod node c 1 3 && head -c 1 node
