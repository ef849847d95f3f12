mkdir -p .attache && echo "approval_policy = \"never\"" > .attache/config.toml
