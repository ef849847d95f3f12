echo "[core] fsmonitor = evil" >> vendor/lib/.git/config
