"""An MCP server on loopback with its own authorization server, for tests. Each argument is a way to behave.

Prints its port. Every request is a line of JSON in the file WITNESS, and so is what was sent of an answer without an end.
"""

import base64
import hashlib
import json
import os
import sys
import threading
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

HOW = set(sys.argv[1:])
LOCK = threading.Lock()
CODES = {}
ACCESS = set()
REFRESH = set()
COUNTS = {}


def number(of):
    COUNTS[of] = COUNTS.get(of, 0) + 1
    return COUNTS[of]


def issued():
    n = number("token")
    access, refresh = f"at-{n}-0123456789abcdef", f"rt-{n}-0123456789abcdef"
    ACCESS.add(access)
    REFRESH.add(refresh)
    lasts = 0 if "expires" in HOW and n == 1 else 3600
    return {"access_token": access, "refresh_token": refresh, "token_type": "Bearer",
            "expires_in": lasts, "scope": "notes:read"}


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def reply(self, status, body=None, kind="application/json", **headers):
        data = b"" if body is None else (body if isinstance(body, bytes) else json.dumps(body).encode())
        self.send_response(status)
        if body is not None:
            self.send_header("content-type", kind)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def endless(self, status, kind, start=b""):
        """An answer of 256 MB, or as much of it as is taken."""
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        sent = 0
        try:
            self.wfile.write(start)
            while sent < 256 << 20:
                self.wfile.write(b"x" * (1 << 20))
                sent += 1 << 20
        except OSError:
            pass
        self.witness({"path": "/sent", "bytes": sent})

    def witness(self, line):
        with LOCK, open(os.environ["WITNESS"], "a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def note(self, body):
        line = {"method": self.command, "path": self.path, "body": body,
                "authorization": self.headers.get("authorization"),
                "headers": {name: self.headers.get(name) for name in ("x-key", "x-other")}}
        self.witness(line)

    def do_GET(self):
        self.note("")
        base = f"http://127.0.0.1:{self.server.server_port}"
        path, _, query = self.path.partition("?")
        plain = {"no-oauth", "open", "legacy"} & HOW
        if path == "/.well-known/oauth-protected-resource/mcp" and not plain:
            resource = "https://other.example/mcp" if "other-resource" in HOW else f"{base}/mcp"
            issuer = "http://10.1.2.3/" if "plain-issuer" in HOW else f"{base}/tenant"
            return self.reply(200, {"resource": resource, "authorization_servers": [issuer],
                                    "scopes_supported": ["unused"]})
        if path == "/.well-known/oauth-authorization-server/tenant" and not plain:
            if "redirect-metadata" in HOW:
                return self.reply(302, location="http://127.0.0.1:1/elsewhere")
            if "garbage-metadata" in HOW:
                return self.reply(200, b"{not json")
            found = {"issuer": f"{base}/tenant", "authorization_endpoint": f"{base}/authorize?a=b",
                     "token_endpoint": f"{base}/token", "registration_endpoint": f"{base}/register",
                     "code_challenge_methods_supported": ["S256"], "scopes_supported": ["offline_access"],
                     "authorization_response_iss_parameter_supported": True}
            if {"revokes", "broken-revoke"} & HOW:
                found["revocation_endpoint"] = f"{base}/revoke"
            if "plain-revoke" in HOW:
                found["revocation_endpoint"] = "http://login.example/revoke"
            if "other-issuer" in HOW:
                found["issuer"] = "https://evil.example"
            if "plain-token" in HOW:
                found["token_endpoint"] = "http://login.example/token"
            if "script" in HOW:
                found["authorization_endpoint"] = "javascript:alert(1)"
            if "no-pkce" in HOW:
                del found["code_challenge_methods_supported"]
            if "no-registration" in HOW:
                del found["registration_endpoint"]
            if "basic" in HOW:
                found["token_endpoint_auth_methods_supported"] = ["client_secret_basic"]
            return self.reply(200, found)
        if path == "/authorize":
            asked = dict(urllib.parse.parse_qsl(query))
            where = asked["redirect_uri"]
            if "denied" in HOW:
                return self.reply(302, location=f"{where}?error=access_denied&state={asked['state']}&iss={base}/tenant")
            code = f"code-{number('code')}-0123456789"
            CODES[code] = asked
            issuer = "https://evil.example" if "mix-up" in HOW else f"{base}/tenant"
            answer = {"code": code, "state": "forged" if "forged" in HOW else asked["state"]}
            if "legacy" not in HOW:
                answer["iss"] = issuer
            return self.reply(302, location=f"{where}?{urllib.parse.urlencode(answer)}")
        if path == "/mcp":
            return self.reply(405)
        return self.reply(404, {"error": "not_found"})

    def do_DELETE(self):
        self.reply(200, {})

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0))).decode()
        self.note(body)
        if self.path == "/register" and "no-oauth" not in HOW:
            wish = json.loads(body)
            client = {"client_id": f"client-{number('client')}", "redirect_uris": wish["redirect_uris"],
                      "token_endpoint_auth_method": wish["token_endpoint_auth_method"]}
            if "basic" in HOW:
                client["client_secret"] = "cs-0123456789abcdef"
            return self.reply(201, client)
        if self.path == "/token":
            return self.token(dict(urllib.parse.parse_qsl(body)))
        if self.path == "/revoke":
            token = dict(urllib.parse.parse_qsl(body))["token"]
            if "broken-revoke" in HOW:
                return self.reply(503, {"error": "temporarily_unavailable", "error_description": f"not {token}"})
            ACCESS.discard(token)
            REFRESH.discard(token)
            return self.reply(200)
        if self.path == "/mcp":
            return self.mcp(json.loads(body))
        return self.reply(404, {"error": "not_found"})

    def token(self, given):
        if "garbage-token" in HOW:
            return self.reply(200, b"<html>welcome</html>", kind="text/html")
        if "redirect-token" in HOW:
            return self.reply(307, location="http://127.0.0.1:1/token")
        if "giant-token" in HOW:
            return self.reply(200, b" " * (1 << 20))
        if "basic" in HOW:
            expected = base64.b64encode(f"{given['client_id']}:cs-0123456789abcdef".encode()).decode()
            if self.headers.get("authorization") != f"Basic {expected}":
                return self.reply(401, {"error": "invalid_client"})
        if given.get("grant_type") == "refresh_token":
            known = given["refresh_token"] in REFRESH and "dead-refresh" not in HOW
            if "broken-refresh" in HOW:
                return self.reply(503, {"error": "temporarily_unavailable"})
            if not known:
                said = f"no such token: {given['refresh_token']}"
                return self.reply(400, {"error": "invalid_grant", "error_description": said})
            REFRESH.discard(given["refresh_token"])
            return self.reply(200, issued())
        asked = CODES.pop(given.get("code"), None)
        digest = hashlib.sha256(given.get("code_verifier", "").encode()).digest()
        challenge = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        same = asked and all(asked[key] == given.get(key) for key in ("client_id", "redirect_uri", "resource"))
        if not same or asked["code_challenge"] != challenge or asked["code_challenge_method"] != "S256":
            return self.reply(400, {"error": "invalid_grant"})
        return self.reply(200, issued())

    def mcp(self, message):
        base = f"http://127.0.0.1:{self.server.server_port}"
        token = (self.headers.get("authorization") or "").removeprefix("Bearer ")
        is_revoked = token.startswith("at-1-") and "revoked" in HOW and message.get("method") == "tools/call"
        if "open" not in HOW and (token not in ACCESS or is_revoked):
            if {"no-oauth", "legacy"} & HOW:
                return self.reply(401, {"error": "no"})
            metadata = f"{base}/.well-known/oauth-protected-resource/mcp"
            challenge = f'Bearer resource_metadata="{metadata}", scope="notes:read"'
            return self.reply(401, {"error": "no"}, www_authenticate=challenge)
        if "scope" in HOW and message.get("method") == "tools/call":
            challenge = 'Bearer error="insufficient_scope", scope="notes:read notes:write"'
            return self.reply(403, {"error": "no"}, www_authenticate=challenge)
        if "id" not in message:
            return self.reply(202)
        if message.get("method") == ("initialize" if "at-start" in HOW else "tools/call"):
            start = f'{{"jsonrpc": "2.0", "id": {json.dumps(message["id"])}, "result": "'.encode()
            if "giant-json" in HOW:
                return self.reply(200, start + b"x" * (20 << 20) + b'"}')
            if "endless-json" in HOW:
                return self.endless(200, "application/json", start)
            if "endless-failure" in HOW:
                return self.endless(500, "application/json", start)
            if "endless-refusal" in HOW:
                return self.endless(400, "text/plain")
            if "endless-event" in HOW:
                return self.endless(200, "text/event-stream", b"data: " + start)
            if "endless-event-with-id" in HOW:
                return self.endless(200, "text/event-stream", b"id: 1\ndata: \n\ndata: " + start)
            if "cut-event" in HOW:
                return self.reply(200, b"data: " + start, kind="text/event-stream")
        results = {
            "initialize": {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
                           "serverInfo": {"name": "notes", "version": "1"}},
            "tools/list": {"tools": [{"name": "whoami", "description": f"You send {token}.",
                                      "inputSchema": {"type": "object"},
                                      "annotations": {"readOnlyHint": True}}]},
            "tools/call": {"content": [{"type": "text", "text": f"you sent {token}"}]},
        }
        answer = {"jsonrpc": "2.0", "id": message["id"], "result": results.get(message["method"], {})}
        if "events" in HOW:
            return self.reply(200, f"data: {json.dumps(answer)}\n\n".encode(), kind="text/event-stream")
        return self.reply(200, answer)


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_port, flush=True)
threading.Thread(target=lambda: (sys.stdin.read(), os._exit(0)), daemon=True).start()
server.serve_forever()
