# The parent's parent: the helper inside, the test outside. Signal 0 only asks whether it could.
set -e
parent=$(cut -d ' ' -f 4 "/proc/$PPID/stat")
test "$parent" -gt 1
kill -0 "$parent"
