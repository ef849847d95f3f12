mkdir -p .claude/agents && echo evil > .claude/agents/evil.md
