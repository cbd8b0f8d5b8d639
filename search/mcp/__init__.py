"""Search for agents: an MCP server over HTTP (`gate`).

    request -> Gate (host, origin, token, rate) -> Caller -> tool -> tools.search(..., caller)

Each call runs as its caller, and every tool only reads. docs/agents.md describes it for users.
"""
