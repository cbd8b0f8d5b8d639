"""The folder of the WordNet database (index.noun, data.noun, ...).

Debian's package wordnet-base puts it here. Only profiles that weigh WordNet need it.
"""

from environ import Env

env = Env()
WORDNET_DIR = env.str("WORDNET_DIR", default="/usr/share/wordnet")
