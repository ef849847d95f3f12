"""Servers that others wrote, used by the real program: each call of the scripted model has the server's answer in the next request.

Arguments: the program, the folder of the npm servers, the Python time server.
"""

import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

program, npm, time_server = sys.argv[1:4]
scratch = pathlib.Path(tempfile.mkdtemp())
(scratch / "project").mkdir()
(scratch / "project" / "note.txt").write_text("the note says 4711\n")

# The agent, its server, a call, and what the answer contains.
CASES = [
    ("everything", "echo", {"message": "hello 42"}, "hello 42"),
    ("everything", "get-sum", {"a": 20, "b": 22}, "42"),
    ("everything", "get-structured-content", {"location": "New York"}, "temperature"),
    ("everything", "get-tiny-image", {}, "image"),
    ("everything", "get-resource-links", {"count": 2}, "resource"),
    ("everything", "no-such-tool", {}, "no-such-tool"),
    ("everything", "trigger-sampling-request", {"prompt": "Name a planet."}, "Mars, as sampled"),
    ("everything", "trigger-elicitation-request", {}, "declined"),
    ("everything", "trigger-long-running-operation", {"duration": 1, "steps": 2}, "completed"),
    ("files", "read_text_file", {"path": str(scratch / "project" / "note.txt")}, "4711"),
    ("files", "read_text_file", {"path": "/etc/passwd"}, "denied"),
    (
        "memory",
        "create_entities",
        {"entities": [{"name": "Ada", "entityType": "person", "observations": ["counts"]}]},
        "Ada",
    ),
    ("time", "get_current_time", {"timezone": "Europe/Berlin"}, "Berlin"),
    ("web", "echo", {"message": "over HTTP"}, "over HTTP"),
    ("web", "trigger-sampling-request", {"prompt": "Name a planet."}, "Mars, as sampled"),
]
asked = []
plan = []


class Model(BaseHTTPRequestHandler):
    """Calls the tool of the plan, then completes the task."""

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        asked.append(body)
        is_answered = any(message["role"] == "tool" for message in body["messages"])
        name, arguments = ("complete_task", {"result": "done"}) if is_answered else plan[0]
        call = {"index": 0, "id": "call_1", "type": "function"}
        call["function"] = {"name": name, "arguments": json.dumps(arguments)}
        delta = {"role": "assistant", "tool_calls": [call]}
        if "tools" not in body:  # a server asks for a sample
            delta = {"role": "assistant", "content": "Mars, as sampled"}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        pieces = [
            {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]},
            {"choices": [], "usage": usage},
        ]
        text = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("content-length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())


model = ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=model.serve_forever, daemon=True).start()
home = scratch / "home" / ".attache"
home.mkdir(parents=True)
with socket.create_server(("127.0.0.1", 0)) as free:
    port = free.getsockname()[1]
web = subprocess.Popen(
    [f"{npm}/mcp-server-everything", "streamableHttp"],
    env=dict(os.environ, PORT=str(port)),
    stderr=subprocess.PIPE,
    stdout=subprocess.DEVNULL,
    text=True,
)
for line in web.stderr:
    if "listening" in line:
        break
home.joinpath("config.toml").write_text(
    f"""model = "m"
model_provider = "lab"
[model_providers.lab]
base_url = "http://127.0.0.1:{model.server_port}"
wire_api = "chat"
[mcp_servers.everything]
command = "{npm}/mcp-server-everything"
[mcp_servers.files]
command = "{npm}/mcp-server-filesystem"
args = ["{scratch / "project"}"]
[mcp_servers.memory]
command = "{npm}/mcp-server-memory"
env = {{ MEMORY_FILE_PATH = "{scratch / "memory.jsonl"}" }}
[mcp_servers.time]
command = "{time_server}"
[mcp_servers.web]
url = "http://127.0.0.1:{port}/mcp"
"""
)
failed = 0
for server, tool, arguments, expected in CASES:
    plan[:] = [(f"mcp__{server}__{tool}", arguments)]
    asked.clear()
    agents = {"user": {"description": "d", "prompt": "p", "tools": [f"mcp__{server}"]}}
    ran = subprocess.run(
        [program, "--agents", json.dumps(agents), "run", "user", "go", "--approve", "all", "--json"],
        cwd=scratch / "project",
        env={"HOME": str(scratch / "home"), "PATH": os.environ["PATH"]},
        capture_output=True,
        text=True,
        check=False,
    )
    messages = asked[-1]["messages"] if asked else []
    calls = [number for number, message in enumerate(messages) if message["role"] == "assistant"]
    told = json.dumps(messages[calls[0] + 1 :]) if calls else ran.stderr
    if ran.returncode == 0 and calls and expected in told:
        print(f"ok      {server} {tool}")
    else:
        failed += 1
        print(f"FAILED  {server} {tool}: {told[-600:]} {ran.stderr[-400:]}")
web.terminate()
model.shutdown()
sys.exit(1 if failed else 0)
