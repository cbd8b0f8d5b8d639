"""The server or model that reads the first results of profiles that give it a share; empty: none.

The protocol is cohere or tei, its scores lie between 0 and 1. RERANKER=sentences needs no server.
"""

from environ import Env

env = Env()
RERANKER = env.str("RERANKER", default="")
RERANKER_URL = env.str("RERANKER_URL", default="")
RERANKER_MODEL = env.str("RERANKER_MODEL", default="")
RERANKER_API_KEY = env.str("RERANKER_API_KEY", default="")
