"""Known faults of what is installed: pip-audit, and whether its answer is one."""

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path

# Exit codes; a caller that runs this monthly tells them apart.
CLEAN, FAULTS, NOT_AUDITED = 0, 1, 3


def audit(program: str, lock: Path, arguments: Sequence[str] = ()) -> tuple[int, str]:
    """Return an exit code and a report of a compiled file.

    :param program: pip-audit; it asks an advisory database about every package
    :param arguments: to pip-audit, such as ``--vulnerability-service osv``
    """
    command = [program, "--disable-pip", "--require-hashes", "--requirement", str(lock)]
    command += ["--format", "json", "--progress-spinner", "off", *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    return verdict(done.stdout, done.stderr)


def verdict(output: str, complaints: str) -> tuple[int, str]:
    """Return an exit code and a report of what pip-audit wrote.

    A package that the database does not know counts as not audited: pip-audit itself says "No
    known vulnerabilities found" and 0 where an index has no advisories at all.
    """
    try:
        dependencies = json.loads(output)["dependencies"]
    except (ValueError, KeyError):
        last = (complaints.strip().splitlines() or ["pip-audit wrote nothing"])[-1]
        return NOT_AUDITED, f"Nothing was audited; the advisory database was not reached: {last}"
    faults = [
        f"{entry['name']} {entry['version']}: {fault['id']}, "
        f"mended in {', '.join(fault['fix_versions']) or 'no version yet'}"
        for entry in dependencies
        for fault in entry.get("vulns", ())
    ]
    skipped = [entry["name"] for entry in dependencies if "skip_reason" in entry]
    asked = len(dependencies) - len(skipped)
    lines = [*faults, f"{asked} of {len(dependencies)} packages were audited."]
    if skipped:
        lines.append(f"The advisory database does not know {', '.join(skipped[:10])}.")
        if not asked:
            lines.append("Run this where pypi.org itself, or api.osv.dev, can be reached.")
    if faults:
        return FAULTS, "\n".join(lines)
    return (NOT_AUDITED if skipped or not dependencies else CLEAN), "\n".join(lines)
