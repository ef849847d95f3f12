f=$(TMPDIR= mktemp -p /tmp) && rm "$f"
