"""An MCP server over stdio for tests. Each argument is a way to behave, good or bad."""

import json
import os
import subprocess
import sys

HOW = sys.argv[1:]
OUT = sys.stdout.buffer
VERSION = next((how.removeprefix("version=") for how in HOW if how.startswith("version=")), None)


def send(message):
    OUT.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
    OUT.flush()


def tool(name, description, reads=False, **properties):
    found = {"name": name, "description": description,
             "inputSchema": {"type": "object", "properties": properties}}
    if reads:
        found["annotations"] = {"readOnlyHint": True}
    return found


TEXT = {"type": "string"}
TOOLS = [
    tool("echo", "Says the text.", reads=True, text=TEXT),
    tool("note", "Appends the text to a file.", text=TEXT),
    tool("environment", "Shows variables.", reads=True, names={"type": "array", "items": TEXT}),
    tool("die", "Ends the server in the middle of the call.", reads=True),
    tool("big", "Answers with 100 MB.", reads=True),
    tool("image", "Answers with an image and structured content.", reads=True),
    tool("fail", "Fails.", reads=True),
    tool("ask", "Asks the client for an answer of a model.", reads=True),
    tool("form", "Asks the user for values.", reads=True),
    tool("roots", "Asks the client for its roots.", reads=True),
    tool("change", "Adds a tool.", reads=True),
    tool("work", "Reports progress.", reads=True),
    tool("hang", "Never answers.", reads=True),
]
if "many" in HOW:
    TOOLS = [tool(f"tool_{n}", f"Tool number {n}. " + "It does much. " * 20, reads=True, text=TEXT)
             for n in range(200)] + [tool("find_planet", "Finds a planet by name.", reads=True, text=TEXT),
                                     tool("note", "Appends the text to a file.", text=TEXT)]
if "escapes" in HOW:
    TOOLS.append(tool("odd\u001b[31m name", "\u001b]0;owned\u0007Looks \u001b[31mred\u202e.", reads=True))


def result(text, **more):
    return {"content": [{"type": "text", "text": text}], **more}


def answer(request, name, arguments):
    if name == "echo" or name == "find_planet" or name.startswith("tool_") or name.startswith("odd"):
        return result("it says: " + arguments.get("text", ""))
    if name == "note":
        with open("notes.txt", "a", encoding="utf-8") as notes:
            notes.write(arguments.get("text", "") + "\n")
        return result("noted")
    if name == "environment":
        return result(json.dumps({key: os.environ.get(key) for key in arguments["names"]}))
    if name == "die":
        print("about to die", file=sys.stderr, flush=True)
        os._exit(3)
    if name == "big":
        return result("x" * (100 << 20))
    if name == "image":
        pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
        return {"content": [{"type": "image", "data": pixel, "mimeType": "image/png"},
                            {"type": "resource_link", "uri": "file:///a", "name": "a"}],
                "structuredContent": {"width": 1}}
    if name == "fail":
        return result("it did \u001b[31mnot work", isError=True)
    if name == "ask":
        send({"id": "s1", "method": "sampling/createMessage",
              "params": {"messages": [{"role": "user", "content": {"type": "text", "text": "Name a \u001b[31mplanet."}}],
                         "systemPrompt": "You know planets.", "maxTokens": 100_000}})
        reply = json.loads(sys.stdin.readline())
        return result(json.dumps(reply.get("error", reply.get("result"))))
    if name == "form":
        send({"id": "e1", "method": "elicitation/create", "params": {
            "message": "Where \u001b[31mto?",
            "requestedSchema": {"type": "object", "required": ["city"], "properties": {
                "city": {"type": "string", "title": "City"},
                "nights": {"type": "integer", "minimum": 1}}}}})
        reply = json.loads(sys.stdin.readline())
        return result(json.dumps(reply.get("error", reply.get("result"))))
    if name == "roots":
        send({"id": "r1", "method": "roots/list"})
        reply = json.loads(sys.stdin.readline())
        return result(json.dumps(reply.get("error", reply.get("result"))))
    if name == "change":
        TOOLS.append(tool("added", "Came later.", reads=True))
        send({"method": "notifications/tools/list_changed"})
        return result("changed")
    if name == "work":
        token = request["params"].get("_meta", {}).get("progressToken")
        for step in range(1, 4):
            send({"method": "notifications/progress",
                  "params": {"progressToken": token, "progress": step, "total": 3,
                             "message": "step \u001b[31m" + str(step)}})
        return result("worked")
    if name == "hang":
        sys.stdin.read()
    return result("no such tool: " + name, isError=True)


def main():
    if witness := os.environ.get("WITNESS"):
        with open(witness, "a", encoding="utf-8") as file:
            file.write(f"{os.getpid()}\n")
    if "grandchild" in HOW:
        child = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        with open(os.environ["WITNESS"], "a", encoding="utf-8") as file:
            file.write(f"{child.pid}\n")
    for how, mode in (("meets-first", "w"), ("meets-second", "r")):
        if how in HOW:
            # Waits until somebody has the other end.
            open("meeting", mode, encoding="utf-8").close()
    if "silent" in HOW:
        print("\u001b[31mnothing to say", file=sys.stderr, flush=True)
        sys.stdin.read()
    if "broken" in HOW:
        print("no module named x", file=sys.stderr, flush=True)
        sys.exit(1)
    for line in sys.stdin:
        if "garbage" in HOW:
            OUT.write(b"not json\n\xff\xfe\n{\"jsonrpc\": 1}\n[]\n")
        request = json.loads(line)
        if "id" not in request or "method" not in request:
            continue
        method, params = request["method"], request.get("params", {})
        if method == "initialize":
            send({"id": request["id"], "result": {
                "protocolVersion": VERSION or params["protocolVersion"], "capabilities": {"tools": {"listChanged": True}},
                "serverInfo": {"name": "test", "version": "1"}}})
        elif method == "tools/list":
            send({"id": request["id"], "result": {"tools": TOOLS}})
        elif method == "tools/call":
            found = answer(request, params["name"], params.get("arguments", {}))
            send({"id": request["id"], "result": found})
        else:
            send({"id": request["id"], "error": {"code": -32601, "message": "unknown: " + method}})


main()
