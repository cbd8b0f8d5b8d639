"""Which licences the parts have, and whether each is one that we agreed to."""

import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from license_expression import ExpressionError, get_spdx_licensing
from packaging.utils import canonicalize_name

POLICY = Path(__file__).with_name("licences.toml")
CLASSIFIER = "License :: OSI Approved :: "


@dataclass(frozen=True)
class Policy:
    """The agreed licences, and what metadata does not say; see licences.toml."""

    allowed: frozenset[str]
    classifiers: Mapping[str, str]
    packages: Mapping[str, str]
    contained: tuple[Mapping[str, str], ...]

    @classmethod
    def read(cls, path: Path = POLICY) -> "Policy":
        """Return the policy of a file."""
        data = tomllib.loads(path.read_text("utf-8"))
        return cls(
            frozenset(data["allowed"]),
            data["classifiers"],
            data["packages"],
            tuple(data["contained"]),
        )

    def components(self) -> Iterator[dict[str, Any]]:
        """Yield what wheels carry inside, as components of CycloneDX."""
        for part in self.contained:
            properties = [{"name": "steelyard:inside", "value": part["in"]}]
            if "because" in part:
                properties.append({"name": "steelyard:accepted-because", "value": part["because"]})
            yield {
                "type": part.get("type", "library"),
                "bom-ref": f"{part['in']}/{part['name']}",
                "name": part["name"],
                "version": part["version"],
                "licenses": [{"expression": part["licence"]}],
                "properties": properties,
            }

    def licence_of(self, component: Mapping[str, Any]) -> str:
        """Return a component's licence as an SPDX expression; empty if nobody states one.

        Several statements hold together, unless they say the same.
        """
        stated = self.packages.get(canonicalize_name(component["name"]))
        if stated:
            return stated
        found = [self._statement(choice) for choice in component.get("licenses", ())]
        exact = [expression for expression in found if expression]
        return " AND ".join(f"({one})" if " " in one else one for one in dict.fromkeys(exact))

    def _statement(self, choice: Mapping[str, Any]) -> str:
        if "expression" in choice:
            return str(choice["expression"])
        licence = choice["license"]
        if "id" in licence:
            return str(licence["id"])
        name = str(licence.get("name", "")).removeprefix(CLASSIFIER).removeprefix("License :: ")
        return self.classifiers.get(name, name)

    def surprises(self, components: Iterable[Mapping[str, Any]]) -> Iterator[str]:
        """Yield a sentence for each component without a licence or with one that is not agreed."""
        reasons = {part["name"] for part in self.contained if part.get("because")}
        for component in components:
            licence = self.licence_of(component)
            label = f"{component['name']} {component.get('version', '')}".strip()
            if not licence:
                yield f"{label} states no licence: read its file, add it to {POLICY.name}."
            elif not permits(licence, self.allowed) and component["name"] not in reasons:
                yield f"{label} has the licence {licence}, which {POLICY.name} does not allow."


@cache
def _licensing() -> Any:
    return get_spdx_licensing()


def permits(expression: str, allowed: frozenset[str]) -> bool:
    """Return whether the allowed licences satisfy an SPDX expression; unknown names never do."""
    try:
        parsed = _licensing().parse(expression, validate=True)
    except ExpressionError:
        return False
    return _satisfied(parsed, allowed)


def _satisfied(node: Any, allowed: frozenset[str]) -> bool:
    licensing = _licensing()
    if isinstance(node, licensing.AND):
        return all(_satisfied(part, allowed) for part in node.args)
    if isinstance(node, licensing.OR):
        return any(_satisfied(part, allowed) for part in node.args)
    return node.render() in allowed
