head -c 2000000 /dev/zero > big && test "$(wc -c < big)" -eq 2000000
