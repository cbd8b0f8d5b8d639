"""The bill of materials: CycloneDX of what is installed, with what the wheels carry inside."""

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from packaging.utils import canonicalize_name

from deploy.supply.licences import Policy
from deploy.supply.locks import ROOT, pins

Bill = dict[str, Any]


def installed(python: str = sys.executable) -> Bill:
    """Return the bill of an environment's packages, as cyclonedx-py sees them (5 to 15 s)."""
    program = Path(sys.executable).with_name("cyclonedx-py")
    command = [str(program), "environment", "--output-reproducible", python]
    found = subprocess.run(command, check=True, capture_output=True, text=True)
    bill: Bill = json.loads(found.stdout)
    return bill


def bill_of(lock: Path, environment: Bill, policy: Policy, root: Path = ROOT) -> Bill:
    """Return the part of an environment's bill that a compiled file installs, and what is inside.

    :param lock: such as requirements.txt; packages for other systems are left out
    :raises ValueError: the environment has another version than the file
    """
    wanted = pins(lock)
    components = []
    for component in environment["components"]:
        pin = wanted.get(canonicalize_name(component["name"]))
        if pin is None:
            continue
        if component["version"] not in pin.versions:
            raise ValueError(
                f"{component['name']} {component['version']} is installed, {lock.name} has "
                f"{' and '.join(sorted(pin.versions))}: install {lock.name} first."
            )
        components.append(component)
    inside = [part for part in policy.components() if part["bom-ref"].split("/")[0] in wanted]
    kept = {component["bom-ref"] for component in components}
    dependencies = [
        {**entry, "dependsOn": sorted(set(entry.get("dependsOn", ())) & kept)}
        for entry in environment["dependencies"]
        if entry["ref"] in kept
    ]
    main = _main(root)
    return {
        **environment,
        "metadata": {**environment["metadata"], "component": main},
        "components": [*components, *inside],
        "dependencies": [
            {"ref": main["bom-ref"], "dependsOn": sorted(kept)},
            *dependencies,
            *({"ref": part["bom-ref"], "dependsOn": []} for part in inside),
        ],
    }


def _main(root: Path) -> dict[str, Any]:
    project = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]
    return {
        "type": "application",
        "bom-ref": "steelyard",
        "name": project["name"],
        "version": project["version"],
        "description": project["description"],
        "licenses": [{"license": {"id": "MIT"}}],
    }


def errors(bill: Bill) -> str:
    """Return what the CycloneDX schema says against a bill; empty if nothing."""
    # Imported when they are needed: they take more than a second, and other commands do not.
    from cyclonedx.schema import SchemaVersion
    from cyclonedx.validation.json import JsonStrictValidator

    found = JsonStrictValidator(SchemaVersion.V1_6).validate_str(json.dumps(bill))
    return str(found) if found else ""


def table(bill: Bill, policy: Policy) -> str:
    """Return the licence report: a Markdown table of every part."""
    rows = ["| part | version | licence | inside |", "|---|---|---|---|"]
    for component in sorted(bill["components"], key=lambda part: part["name"].lower()):
        properties = {entry["name"]: entry["value"] for entry in component.get("properties", ())}
        cells = (
            component["name"],
            component["version"],
            policy.licence_of(component),
            properties.get("steelyard:inside", ""),
        )
        rows.append(f"| {' | '.join(cells)} |")
    return "\n".join(rows) + "\n"
