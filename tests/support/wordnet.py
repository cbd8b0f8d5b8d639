"""A small database in WordNet's file formats (wndb(5WN)), written by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

LICENCE = "  1 This is no licence, but takes the place of one.  \n"
PARTS = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}


@dataclass(frozen=True, slots=True)
class Sense:
    """A sense: its part of speech, its words (the first names it), the senses above, its gloss."""

    part: str
    words: Sequence[str]
    above: Sequence[str] = ()
    gloss: str = "a gloss"

    def line(self, offsets: Mapping[tuple[str, str], int]) -> str:
        """Its line in data.*, with the offsets of the senses by part and first word."""
        offset = offsets.get((self.part, self.words[0]), 0)
        words = "".join(f" {word} 0" for word in self.words)
        pointers = "".join(
            f" @ {offsets.get((self.part, name), 0):08} {PARTS[self.part]} 0000"
            for name in self.above
        )
        count = f"{len(self.words):02x}{words} {len(self.above):03}{pointers}"
        return f"{offset:08} 00 {PARTS[self.part]} {count} | {self.gloss}  \n"


SENSES = (
    Sense("noun", ["car", "auto", "automobile", "motorcar"], ["motor_vehicle"]),
    Sense("noun", ["cable_car", "car"], ["compartment"]),
    Sense("noun", ["motor_vehicle", "automotive_vehicle", "vehicle"], []),
    Sense("noun", ["compartment"]),
    Sense("noun", ["mouse"], ["rodent", "gnawer", "animal"], "a small rodent"),
    Sense("noun", ["rodent"]), Sense("noun", ["gnawer"]), Sense("noun", ["animal"]),
    Sense("noun", ["bank", "side"], [], "sloping land beside a river"),
    Sense("noun", ["bank", "depository"], [], "accepts deposits of money"),
    Sense("noun", ["heart_attack", "infarction"], []), Sense("noun", ["heart", "ticker"], []),
    Sense("noun", ["inch", "in"], []), Sense("verb", ["repair", "mend", "fix"], ["better"]),
    Sense("verb", ["better", "improve"]), Sense("adj", ["broken", "wiped_out(p)"]),
)  # fmt: skip
EXCEPTIONS = {"noun": {"mice": "mouse"}}


def write_wordnet(folder: Path, senses: Sequence[Sense] = SENSES) -> Path:
    """The folder, with the files of a database of these senses."""
    folder.mkdir(exist_ok=True)
    for part in PARTS:
        own = [sense for sense in senses if sense.part == part]
        offsets: dict[tuple[str, str], int] = {}
        place = len(LICENCE)
        starts = []
        for sense in own:
            starts.append(place)
            offsets.setdefault((part, sense.words[0]), place)
            place += len(sense.line({}))
        data = [
            sense.line({**offsets, (part, sense.words[0]): start})
            for sense, start in zip(own, starts, strict=True)
        ]
        (folder / f"data.{part}").write_text(LICENCE + "".join(data))
        by_word: dict[str, list[int]] = {}
        for sense, start in zip(own, starts, strict=True):
            for word in sense.words:
                by_word.setdefault(word.partition("(")[0].lower(), []).append(start)
        index = [
            f"{word} {PARTS[part]} {len(places)} 1 @ {len(places)} 0 "
            + " ".join(f"{each:08}" for each in places)
            + "  \n"
            for word, places in sorted(by_word.items())
        ]
        (folder / f"index.{part}").write_text(LICENCE + "".join(index))
        forms = EXCEPTIONS.get(part, {"zzz": "zzz"})
        lines = [f"{form} {base}\n" for form, base in sorted(forms.items())]
        (folder / f"{part}.exc").write_text("".join(lines))
    return folder
