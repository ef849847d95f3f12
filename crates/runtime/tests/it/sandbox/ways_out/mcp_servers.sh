echo "{}" > .mcp.json
