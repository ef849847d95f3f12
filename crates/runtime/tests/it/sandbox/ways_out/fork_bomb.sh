# More processes than are allowed. They wait for the end of this shell, so none is left outside.
exec 2>&1
i=0
while [ $i -lt 400 ]; do
    sleep 5 &
    i=$((i + 1))
done
count=$(ls /proc | grep -c '^[0-9]')
kill $(jobs -p)
test "$count" -gt 400
