"""Logs in to an MCP server with the real program, as a user with a browser would, and lists its tools.

Arguments: the program, and the server's address. The conformance suite runs it against its own authorization servers.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.error
import urllib.parse
import urllib.request

program, url = sys.argv[1], sys.argv[-1]
scratch = pathlib.Path(tempfile.mkdtemp())
home = scratch / ".attache"
home.mkdir()
context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
entry = f'[mcp_servers.test]\nurl = "{url}"\n'
if "client_id" in context:
    entry += f'oauth = {{ client_id = "{context["client_id"]}", client_secret_env_var = "SECRET" }}\n'
(home / "config.toml").write_text(entry)
env = {"HOME": str(scratch), "PATH": os.environ["PATH"], "SECRET": context.get("client_secret", "none")}


class Stay(urllib.request.HTTPRedirectHandler):
    """The browser's last address is pasted, not opened."""

    def redirect_request(self, *_):
        return None


def browse(address):
    try:
        urllib.request.build_opener(Stay).open(address)
    except urllib.error.HTTPError as answer:
        return answer.headers["location"]
    raise SystemExit("the authorization server does not send the browser back")


login = subprocess.Popen([program, "mcp", "login", "test"], env=env, cwd=scratch, text=True,
                         stdin=subprocess.PIPE, stderr=subprocess.PIPE)
for line in login.stderr:
    print(line, end="", file=sys.stderr)
    if line.strip().startswith("http"):
        address = line.strip()
    if line.startswith("waiting"):
        login.stdin.write(urllib.parse.urljoin(address, browse(address)) + "\n")
        login.stdin.flush()
if login.wait() != 0:
    sys.exit(1)
listed = subprocess.run([program, "mcp", "list", "--json"], env=env, cwd=scratch, text=True, check=True,
                        stdout=subprocess.PIPE).stdout
print(listed)
sys.exit(0 if json.loads(listed)[0]["state"] == "ready" else 1)
