"""What a PPTX says of a slide: its parts, what they inherit from layout and master, its colours.

Element names are those of ECMA-376 without their namespaces, which its two editions (transitional
and strict) write differently. Attributes of relations keep the prefix `r:`.
"""

from __future__ import annotations

import colorsys
import math
import posixpath
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ingestion.errors import DamagedFile, PageNotDrawn

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

Colour = tuple[int, int, int, int]
"""Red, green, blue and opacity, 0 to 255 each."""
Box = tuple[float, float, float, float]
"""Left, top, width, height."""

_PRESENTATION = "ppt/presentation.xml"
# 13.33 by 7.5 inches, in English Metric Units: PowerPoint's own default.
_USUAL_SIZE = (12_192_000, 6_858_000)
_RELATIONS = "relationships}"
_NAMED = {"black": "000000", "white": "FFFFFF", "red": "FF0000", "green": "008000",
          "blue": "0000FF", "yellow": "FFFF00", "gray": "808080", "orange": "FFA500"}  # fmt: skip
# Which of the theme's colours are text and background, unless the master says otherwise.
_USUAL_MAP = {"tx1": "dk1", "tx2": "dk2", "bg1": "lt1", "bg2": "lt2"}
_USUAL_COLOURS = {
    "dk1": "000000", "lt1": "FFFFFF", "dk2": "44546A", "lt2": "E7E6E6", "accent1": "4472C4",
    "accent2": "ED7D31", "accent3": "A5A5A5", "accent4": "FFC000", "accent5": "5B9BD5",
    "accent6": "70AD47", "hlink": "0563C1", "folHlink": "954F72",
}  # fmt: skip
# The master's placeholder of each type that is not one itself.
_SAME = {"ctrTitle": "title", "subTitle": "body", "obj": "body", "": "body"}


class Deck:
    """The parts of a PPTX, read as they are asked for. Raises DamagedFile, PageNotDrawn."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._held = frozenset(archive.namelist())
        self._parts: dict[str, Element] = {}

    def slide(self, number: int) -> Slide:
        """The slide at place `number`, from 1."""
        presentation = self.part(_PRESENTATION)
        names = self.relations(_PRESENTATION)
        listed = [names.get(one.get("r:id", ""), "") for one in presentation.iter("sldId")]
        if not 1 <= number <= len(listed) or listed[number - 1] not in self._held:
            raise PageNotDrawn("There is no such slide.")
        name = listed[number - 1]
        size = presentation.find("sldSz")
        sides = [abs(whole(size, side)) for side in ("cx", "cy")]
        layout = self._related(name, "slideLayout")
        master = self._related(layout, "slideMaster")
        theme = self._related(master, "theme")
        held = [one for one in (name, layout, master) if one]
        return Slide(
            self,
            held,
            (sides[0], sides[1]) if all(sides) else _USUAL_SIZE,
            self._theme(theme, master),
            presentation.find("defaultTextStyle"),
        )

    def part(self, name: str) -> Element:
        """The root of an XML part. Entities were refused when the archive was checked."""
        from xml.etree import ElementTree

        if name not in self._parts:
            try:
                root = ElementTree.fromstring(self._archive.read(name))  # noqa: S314  # see above
            except (KeyError, ElementTree.ParseError) as error:
                raise DamagedFile(f"Its part {name} cannot be read.") from error
            _simplify(root)
            self._parts[name] = root
        return self._parts[name]

    def relations(self, name: str) -> Mapping[str, str]:
        """The parts that a part refers to, by the ids of its relations."""
        return {found.get("Id", ""): target for found, target in self._relations(name)}

    def content(self, name: str) -> bytes:
        """The bytes of a part; none if it is missing."""
        return self._archive.read(name) if name in self._held else b""

    def _relations(self, name: str) -> Iterator[tuple[Element, str]]:
        folder, _, file = name.rpartition("/")
        listed = f"{folder}/_rels/{file}.rels"
        if not name or listed not in self._held:
            return
        for found in self.part(listed):
            target = found.get("Target", "")
            if found.get("TargetMode") != "External":
                whole_path = target if target.startswith("/") else f"{folder}/{target}"
                yield found, posixpath.normpath(whole_path).lstrip("/")

    def _related(self, name: str, kind: str) -> str:
        """The part of this kind that a part refers to; empty if there is none."""
        found = (
            target
            for one, target in self._relations(name)
            if one.get("Type", "").endswith(f"/{kind}") and target in self._held
        )
        return next(found, "")

    def _theme(self, name: str, master: str) -> Theme:
        colours, fonts = dict(_USUAL_COLOURS), {}
        if name:
            root = self.part(name)
            for one in root.iterfind("themeElements/clrScheme/*"):
                stated = (one[0].get("lastClr") or one[0].get("val") or "") if len(one) else ""
                colours[one.tag] = stated if len(stated) == 6 else colours.get(one.tag, "000000")
            for kind, mark in (("majorFont", "+mj-lt"), ("minorFont", "+mn-lt")):
                latin = root.find(f"themeElements/fontScheme/{kind}/latin")
                fonts[mark] = latin.get("typeface", "") if latin is not None else ""
        mapped = self.part(master).find("clrMap") if master else None
        return Theme(
            colours, fonts, _USUAL_MAP | (dict(mapped.attrib) if mapped is not None else {})
        )


@dataclass(frozen=True)
class Theme:
    """A deck's colours and fonts, and which colours are its text and background."""

    colours: Mapping[str, str]
    fonts: Mapping[str, str]
    mapped: Mapping[str, str]

    def colour(self, holder: Element | None, style: Colour | None = None) -> Colour | None:
        """The colour that an element such as `solidFill` holds; `style` is that of the shape."""
        for one in holder if holder is not None else ():
            stated = one.get("val", "")
            if one.tag == "sysClr":
                stated = one.get("lastClr", "000000")
            elif one.tag == "prstClr":
                stated = _NAMED.get(stated, "808080")
            elif one.tag == "schemeClr":
                if stated == "phClr" and style:
                    return _changed(style, one)
                stated = self.colours.get(self.mapped.get(stated, stated), "808080")
            elif one.tag != "srgbClr":
                continue
            return _changed(_read(stated), one)
        return None

    def text(self) -> Colour:
        """The colour of texts that state none."""
        return self.named(self.mapped.get("tx1", "dk1"))

    def named(self, name: str) -> Colour:
        """A colour by its name in the theme, such as accent1."""
        return _read(self.colours.get(name, "000000"))


@dataclass
class Slide:
    """A slide: `names` are its part, its layout's and its master's; `size` is in EMU."""

    deck: Deck
    names: list[str]
    size: tuple[int, int]
    theme: Theme
    usual: Element | None
    _kinds: dict[str, list[Element]] = field(default_factory=dict)

    def background(self) -> tuple[str, Element] | None:
        """The innermost stated background, with the name of its part."""
        for name in self.names:
            found = self.deck.part(name).find("cSld/bg")
            if found is not None and len(found):
                return name, found[0]
        return None

    def trees(self) -> Iterator[tuple[str, Element]]:
        """The shapes of the master, of the layout and of the slide, the lowest first."""
        shown = []
        for name in self.names:
            root = self.deck.part(name)
            tree = root.find("cSld/spTree")
            if tree is not None:
                shown.append((name, tree))
            if root.get("showMasterSp") in ("0", "false"):
                break
        yield from reversed(shown)

    def inherited(self, shape: Element) -> list[Element]:
        """The shape, then the placeholders of layout and master that it stands in for."""
        mark = placeholder(shape)
        found = [shape]
        if mark is None:
            return found
        kind, index = mark.get("type", ""), mark.get("idx", "")
        for name in self.names[1:]:
            others = [(one, placeholder(one)) for one in self.deck.part(name).iter("sp")]
            marked = [(one, held) for one, held in others if held is not None]
            same = [one for one, held in marked if index and held.get("idx") == index]
            alike = [one for one, held in marked if _kind(held.get("type", "")) == _kind(kind)]
            found += (same or alike)[:1] if name != self.names[-1] else (alike or same)[:1]
        return found

    def styles(self, shape: Element) -> list[Element]:
        """The text styles of a shape, the innermost first."""
        lists = [one.find("txBody/lstStyle") for one in self.inherited(shape)]
        mark = placeholder(shape)
        held = _kind(mark.get("type", "")) if mark is not None else "other"
        name = {"title": "titleStyle", "body": "bodyStyle"}.get(held, "otherStyle")
        master = self.deck.part(self.names[-1])
        lists += [master.find(f"txStyles/{name}"), self.usual]
        return [one for one in lists if one is not None]


def placeholder(shape: Element) -> Element | None:
    """The mark by which a shape is a placeholder; None if it is none."""
    for one in shape:
        if one.tag.startswith("nv"):
            return one.find("nvPr/ph")
    return None


def whole(element: Element | None, name: str, default: int = 0) -> int:
    """An attribute as a whole number; the default if it is missing or no number."""
    try:
        return int(float(element.get(name, default))) if element is not None else default
    except (ValueError, OverflowError):
        return default


def share(element: Element | None, name: str, default: float = 0) -> float:
    """An attribute in thousandths of a percent, or in percent, as a share."""
    said = (element.get(name) if element is not None else None) or ""
    try:
        found = float(said[:-1]) / 100 if said.endswith("%") else float(said) / 100_000
    except ValueError:
        return default
    return found if math.isfinite(found) else default


def _kind(stated: str) -> str:
    return _SAME.get(stated, stated)


def _simplify(root: Element) -> None:
    """Take namespaces off, and of alternatives take what older programs read."""
    for one in root.iter():
        if isinstance(one.tag, str):
            one.tag = one.tag.rpartition("}")[2]
        for name in [name for name in one.attrib if name.startswith("{")]:
            local = name.rpartition("}")[2]
            one.attrib[f"r:{local}" if _RELATIONS in name.lower() else local] = one.attrib[name]
    for one in list(root.iter()):
        for place, child in reversed(list(enumerate(one))):
            if child.tag == "AlternateContent":
                fallback, choice = child.find("Fallback"), child.find("Choice")
                kept = fallback if fallback is not None and len(fallback) else choice
                one[place : place + 1] = list(kept) if kept is not None else []


def _read(stated: str) -> Colour:
    try:
        return (int(stated[0:2], 16), int(stated[2:4], 16), int(stated[4:6], 16), 255)
    except ValueError:
        return (128, 128, 128, 255)


def _changed(colour: Colour, changes: Element) -> Colour:
    """A colour after its changes of lightness and opacity."""
    red, green, blue = (side / 255 for side in colour[:3])
    opacity = colour[3] / 255
    for one in changes:
        amount = min(max(share(one, "val", 1), 0), 4)
        hue, light, full = colorsys.rgb_to_hls(red, green, blue)
        if one.tag == "lumMod":
            red, green, blue = colorsys.hls_to_rgb(hue, min(light * amount, 1), full)
        elif one.tag == "lumOff":
            red, green, blue = colorsys.hls_to_rgb(hue, min(light + amount, 1), full)
        elif one.tag == "tint":
            red, green, blue = (1 - (1 - side) * min(amount, 1) for side in (red, green, blue))
        elif one.tag == "shade":
            red, green, blue = (side * min(amount, 1) for side in (red, green, blue))
        elif one.tag == "alpha":
            opacity = min(amount, 1)
    return (round(red * 255), round(green * 255), round(blue * 255), round(opacity * 255))
