"""The part's settings."""

from environ import Env

env = Env()
BREVITY_CHARACTERS = env.int("BREVITY_CHARACTERS", default=100)
