"""The outlines of shapes on slides as polygons and boxes. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from .deck import Box, whole

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Point = tuple[float, float]
Outline = list[Box | list[Point]]
"""Boxes and polygons, which together are the shape."""

# Corners in shares of the box, with the usual proportions of PowerPoint's shapes.
_POLYGONS: dict[str, Sequence[Point]] = {
    "triangle": ((0.5, 0), (1, 1), (0, 1)),
    "rtTriangle": ((0, 0), (1, 1), (0, 1)),
    "diamond": ((0.5, 0), (1, 0.5), (0.5, 1), (0, 0.5)),
    "parallelogram": ((0.25, 0), (1, 0), (0.75, 1), (0, 1)),
    "trapezoid": ((0.25, 0), (0.75, 0), (1, 1), (0, 1)),
    "hexagon": ((0.25, 0), (0.75, 0), (1, 0.5), (0.75, 1), (0.25, 1), (0, 0.5)),
    "homePlate": ((0, 0), (0.75, 0), (1, 0.5), (0.75, 1), (0, 1)),
    "chevron": ((0, 0), (0.75, 0), (1, 0.5), (0.75, 1), (0, 1), (0.25, 0.5)),
    "rightArrow": ((0, 0.25), (0.6, 0.25), (0.6, 0), (1, 0.5), (0.6, 1), (0.6, 0.75), (0, 0.75)),
    "leftArrow": ((1, 0.25), (0.4, 0.25), (0.4, 0), (0, 0.5), (0.4, 1), (0.4, 0.75), (1, 0.75)),
    "downArrow": ((0.25, 0), (0.75, 0), (0.75, 0.6), (1, 0.6), (0.5, 1), (0, 0.6), (0.25, 0.6)),
    "upArrow": ((0.25, 1), (0.75, 1), (0.75, 0.4), (1, 0.4), (0.5, 0), (0, 0.4), (0.25, 0.4)),
}
_ROUND = 1 / 6
"""PowerPoint's usual radius of rounded corners: of the shorter side."""
# Of drawings by hand; each curve becomes so many lines.
_MOST_POINTS, _CURVE_STEPS = 20_000, 8


def outline_of(stated: Element | None, box: Box, *, is_line: bool = False) -> Outline:
    """The outline of a shape with these properties in this box; a rectangle if it is not known."""
    preset = stated.find("prstGeom") if stated is not None else None
    name = preset.get("prst", "") if preset is not None else ""
    if is_line or name == "line" or name.endswith(("Connector1", "Connector2", "Connector3")):
        return [_diagonal(stated, box)]
    left, top, width, height = box
    if stated is not None and (drawn := stated.find("custGeom/pathLst")) is not None:
        return [*_paths(drawn, box)] or [box]
    if name in _POLYGONS:
        return [[(left + x * width, top + y * height) for x, y in _POLYGONS[name]]]
    if name in ("ellipse", "flowChartConnector", "donut", "pie", "chord", "cloud"):
        turns = [step / 36 * math.pi for step in range(72)]
        across, down = width / 2, height / 2
        return [
            [(left + across * (1 + math.cos(a)), top + down * (1 + math.sin(a))) for a in turns]
        ]
    if name in ("roundRect", "flowChartAlternateProcess", "wedgeRoundRectCallout", "plaque"):
        return [_rounded(preset, box)]
    return [box]


def edges_of(outline: Outline) -> list[list[Point]]:
    """The closed lines around an outline; a line is itself."""
    edges = []
    for one in outline:
        points = one if isinstance(one, list) else corners_of(one)
        edges.append([*points, points[0]] if len(points) > 2 else points)
    return edges


def corners_of(box: Box) -> list[Point]:
    left, top, width, height = box
    right, bottom = left + width, top + height
    return [(left, top), (right, top), (right, bottom), (left, bottom)]


def _diagonal(stated: Element | None, box: Box) -> list[Point]:
    left, top, width, height = box
    placed = stated.find("xfrm") if stated is not None else None
    flips = [
        placed is not None and placed.get(name) in ("1", "true") for name in ("flipH", "flipV")
    ]
    if flips[0] != flips[1]:
        return [(left, top + height), (left + width, top)]
    return [(left, top), (left + width, top + height)]


def _rounded(preset: Element | None, box: Box) -> list[Point]:
    left, top, width, height = box
    guide = preset.find("avLst/gd") if preset is not None else None
    said = guide.get("fmla", "").removeprefix("val ") if guide is not None else ""
    part = int(said) / 100_000 if said.isdecimal() and len(said) < 8 else _ROUND
    radius = min(width, height) * min(part, 0.5)
    right, bottom = left + width - radius, top + height - radius
    middles = ((right, bottom), (left + radius, bottom), (left + radius, top + radius),
               (right, top + radius))  # fmt: skip
    return [
        (x + radius * math.cos(turn), y + radius * math.sin(turn))
        for quarter, (x, y) in enumerate(middles)
        for turn in ((quarter + step / 8) * math.pi / 2 for step in range(9))
    ]


def _paths(drawn: Element, box: Box) -> list[list[Point]]:
    """The figures of a shape that was drawn by hand; arcs are left out."""
    found: list[list[Point]] = []
    left = _MOST_POINTS
    for path in drawn.iterfind("path"):
        sides = (whole(path, "w"), whole(path, "h"))
        if min(sides) <= 0:
            continue
        for step in path:
            points = [
                (
                    box[0] + whole(p, "x") / sides[0] * box[2],
                    box[1] + whole(p, "y") / sides[1] * box[3],
                )
                for p in step.iterfind("pt")
            ]
            if (left := left - len(points) * _CURVE_STEPS) < 0:
                return found
            if step.tag == "moveTo" and points:
                found.append(points[:1])
            elif found and step.tag == "lnTo":
                found[-1] += points[:1]
            elif found and step.tag in ("cubicBezTo", "quadBezTo") and points:
                found[-1] += _curve([found[-1][-1], *points])
    return [figure for figure in found if len(figure) > 1]


def _curve(controls: list[Point]) -> list[Point]:
    """Points of a Bezier curve after its first, by de Casteljau."""
    out = []
    for step in range(1, _CURVE_STEPS + 1):
        part, points = step / _CURVE_STEPS, controls
        while len(points) > 1:
            points = [
                (a[0] + (b[0] - a[0]) * part, a[1] + (b[1] - a[1]) * part)
                for a, b in pairwise(points)
            ]
        out.append(points[0])
    return out
