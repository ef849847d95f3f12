echo "[core] fsmonitor = evil" >> .git/config
