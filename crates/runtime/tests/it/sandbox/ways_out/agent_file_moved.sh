mv .github old && mkdir -p .github/agents && echo evil > .github/agents/evil.agent.md
