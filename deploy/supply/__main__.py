"""The commands of the Makefile: ``python -m deploy.supply COMMAND``."""

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence

from deploy.supply import locks


def lock(arguments: Sequence[str]) -> int:
    """Compile all requirements; the arguments go to uv, whose program is the first."""
    try:
        locks.lock(arguments[0], arguments[1:])
    except subprocess.CalledProcessError as error:
        print("Nothing was written: uv found no set of versions that fits.", file=sys.stderr)
        return error.returncode
    return 0


def check(_arguments: Sequence[str]) -> int:
    """Say where requirements/*.in and the compiled files disagree; needs no network."""
    wrong = locks.disagreements()
    for sentence in wrong:
        print(sentence, file=sys.stderr)
    if wrong:
        print("Run make lock, and commit what it writes.", file=sys.stderr)
    return bool(wrong)


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {"lock": lock, "check": check}


def main() -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m deploy.supply", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    chosen, rest = parser.parse_known_args()
    return COMMANDS[chosen.command](rest)


if __name__ == "__main__":
    raise SystemExit(main())
