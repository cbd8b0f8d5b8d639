"""The commands of the Makefile: ``python -m deploy.supply COMMAND``."""

import argparse
import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from deploy.supply import audit as audits
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


def sbom(arguments: Sequence[str]) -> int:
    """Write bills of materials and the licence report into a folder; fail on a surprise."""
    # Only of the development environment, which `make lock` and `make audit` do without.
    from deploy.supply import licences, materials

    folder = Path(arguments[0] if arguments else "build")
    folder.mkdir(parents=True, exist_ok=True)
    policy = licences.Policy.read()
    environment = materials.installed()
    for name, lock_file in (
        ("production", "requirements/production.txt"),
        ("demo", "requirements.txt"),
    ):
        bill = materials.bill_of(locks.ROOT / lock_file, environment, policy)
        wrong = materials.errors(bill)
        if wrong:
            print(f"sbom-{name}: {wrong}", file=sys.stderr)
            return 1
        (folder / f"sbom-{name}.cdx.json").write_text(json.dumps(bill, indent=1) + "\n", "utf-8")
        (folder / f"licences-{name}.md").write_text(materials.table(bill, policy), "utf-8")
        print(f"{folder}/sbom-{name}.cdx.json: {len(bill['components'])} parts")
    # Everything here, tools for tests too.
    surprises = list(policy.surprises([*environment["components"], *policy.components()]))
    print("\n".join(surprises) or "Every licence is one that deploy/supply/licences.toml allows.")
    return bool(surprises)


def audit(arguments: Sequence[str]) -> int:
    """Ask an advisory database about all packages; the first argument is pip-audit."""
    worst = audits.CLEAN
    # The files of the demo and of production are parts of the first one.
    parts = {"requirements.txt", "requirements/production.txt"}
    for name in [output for output in locks.locks().values() if output not in parts]:
        code, report = audits.audit(arguments[0], locks.ROOT / name, arguments[1:])
        print(f"{name}\n{report}")
        # Faults come before a database that answered for a part only.
        worst = audits.FAULTS if audits.FAULTS in (worst, code) else max(worst, code)
    return worst


COMMANDS: dict[str, Callable[[Sequence[str]], int]] = {
    "lock": lock,
    "check": check,
    "sbom": sbom,
    "audit": audit,
}


def main() -> int:
    """Run one command and return its exit code."""
    parser = argparse.ArgumentParser(prog="python -m deploy.supply", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    chosen, rest = parser.parse_known_args()
    return COMMANDS[chosen.command](rest)


if __name__ == "__main__":
    raise SystemExit(main())
