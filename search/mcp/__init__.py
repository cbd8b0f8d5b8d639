"""Search for agents: an MCP server over HTTP (`agents_app`) and on standard input (`build`).

    request -> Gate (host, origin, token, rate) -> Caller -> tool -> tools.search(..., caller)

Each call runs as its caller, and every tool only reads. docs/agents.md describes it for users.
"""

from search.mcp.gate import agents_app, is_for_agents
from search.mcp.server import build

__all__ = ["agents_app", "build", "is_for_agents"]
