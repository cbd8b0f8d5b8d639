"""Print one package of uv.lock as a line for pip, with its hashes: `python3 deploy/locked.py uv`.

For uv itself, which exports the others. Needs Python alone.
"""

import sys
import tomllib
from pathlib import Path

LOCK = Path(__file__).resolve().parents[1] / "uv.lock"


def pin(name: str) -> str:
    """The requirement of the package: its version, and the hash of each of its files."""
    packages = tomllib.loads(LOCK.read_text())["package"]
    package = next(each for each in packages if each["name"] == name)
    hashes = (f"--hash={file['hash']}" for file in package["wheels"])
    return f"{name}=={package['version']} {' '.join(hashes)}"


if __name__ == "__main__":
    sys.stdout.write(pin(sys.argv[1]) + "\n")
