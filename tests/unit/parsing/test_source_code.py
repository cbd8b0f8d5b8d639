"""Source code: declarations become headings, and no line is lost or changed."""

from __future__ import annotations

import pytest

from ingestion.domain import BlockKind
from ingestion.errors import TypeMismatch
from ingestion.files.filetypes import sniff
from ingestion.parsing.formats.source_code import source_blocks

from .conftest import Parse
from .shorthand import code, h

PYTHON = '''"""Weighing.

class NotOne:
"""
import math

@dataclass
class Beam:
    """A beam."""

    length: int

    def weigh(self):
        def inner():
            return 1
        return inner()

# Turns it over.
async def turn(beam):
    return beam
'''
JAVA = """package beams;

/** A beam
 class Comment { */
public final class Beam<T> extends Bar {
    private static final Map<String, T> ARMS = new HashMap<>();

    Beam() {
        if (true) { weigh(1); }
    }

    @Override
    public static List<T> weigh(int amount)
        throws IOException {
        return make(amount);
    }

    enum Side { LEFT }
}
"""
TYPESCRIPT = """import { a } from "a";
export interface Arm { length: number }
export default class Beam extends Bar {
  private async weigh(amount: number): Promise<void> {
    if (amount) {
    }
  }
}
export const turn = async (beam: Beam) => {
  return beam;
};
function* hooks() {}
"""
C = """#include <stdio.h>
struct beam;
struct beam {
    int length;
};
static int *weigh(struct beam *b, int x)
{
    return turn(b);
}
int turn(struct beam *b);
"""
CPP = """namespace scales {
class Beam : public Bar {
  int weigh(int x) const {
    return x;
  }
};
}
"""
RUST = """pub struct Beam { length: u8 }
mod arms;
impl<T> Weigh for Beam {
    pub fn weigh(&self) -> u8 { self.length }
}
"""
SQL = """-- Beams
CREATE TABLE IF NOT EXISTS beam (id int);
create or replace view arms as select 1;
"""


@pytest.mark.parametrize(
    ("family", "text", "headings"),
    [
        ("python", PYTHON, ["2 class Beam", "3 def weigh", "2 async def turn"]),
        ("java", JAVA, ["2 class Beam", "3 Beam", "3 weigh", "3 enum Side"]),
        (
            "script",
            TYPESCRIPT,
            ["2 interface Arm", "2 class Beam", "3 weigh", "2 turn", "2 function* hooks"],
        ),
        ("c", C, ["2 struct beam", "2 weigh"]),
        ("c", CPP, ["2 namespace scales", "2 class Beam", "3 weigh"]),
        ("rust", RUST, ["2 struct Beam", "2 impl Weigh for Beam", "3 fn weigh"]),
        ("sql", SQL, ["2 table beam", "2 view arms"]),
        (
            "go",
            "type Beam struct {\n}\nfunc (b *Beam) Weigh() int {\n}\nfunc main() {\n}\n",
            ["2 type Beam", "2 func (b *Beam) Weigh", "2 func main"],
        ),
        (
            "ruby",
            "module Scales\n  class Beam\n    def heavy?\n    end\n  end\nend\n",
            ["2 module Scales", "3 class Beam", "4 def heavy?"],
        ),
        (
            "php",
            "<?php\nfinal class Beam {\n    public static function weigh($x) {\n    }\n}\n",
            ["2 class Beam", "3 function weigh"],
        ),
        (
            "shell",
            "set -e\nweigh() {\n  true\n}\nfunction turn {\n}\n",
            ["2 weigh", "2 function turn"],
        ),
        (
            "modern",
            "data class Beam(val x: Int) {\n    override fun weigh() = x\n}\nfunc turn() {}\n"
            "object Arms {\n  def hook = 1\n}\n",
            ["2 class Beam", "3 fun weigh", "2 func turn", "2 object Arms", "3 def hook"],
        ),
        (
            "lua",
            "local function weigh(x)\nend\nBeam.turn = function(y)\nend\n",
            ["2 function weigh", "2 Beam.turn"],
        ),
        ("perl", "package Beam;\nsub weigh {\n  my $x;\n}\n", ["2 package Beam", "2 sub weigh"]),
        ("r", "weigh <- function(x) {\n  x\n}\n", ["2 weigh"]),
        (
            "yaml",
            "name: beam\njobs:\n  test:\n    steps:\n      - run: x\n  lint:\n    on: y\n",
            ["2 jobs", "3 test", "4 steps", "3 lint"],
        ),
        (
            "sections",
            "a = [\n]\n[tool.beam]\nx = 1\n[[arm]]  # long\ny = 2\n",
            ["2 tool.beam", "2 arm"],
        ),
    ],
    ids=lambda value: value if isinstance(value, str) and value.isalpha() else "",
)
def test_source_code_gets_headings_and_keeps_every_line(
    family: str, text: str, headings: list[str]
) -> None:
    blocks = list(source_blocks(text, family))
    found = [f"{b.level} {b.text}" for b in blocks if b.kind is BlockKind.HEADING]
    assert found == headings
    assert "\n".join(b.text for b in blocks if b.kind is BlockKind.CODE) == text


def test_comments_and_decorators_stay_with_their_definition(parse: Parse) -> None:
    document = parse(PYTHON, "beam.py")
    assert list(document.blocks) == [
        code('"""Weighing.\n\nclass NotOne:\n"""\nimport math'),
        h(2, "class Beam"),
        code('@dataclass\nclass Beam:\n    """A beam."""\n\n    length: int'),
        h(3, "def weigh"),
        code(
            "    def weigh(self):\n        def inner():\n            return 1\n"
            "        return inner()"
        ),
        h(2, "async def turn"),
        code("# Turns it over.\nasync def turn(beam):\n    return beam"),
    ]
    assert document.title == ""


def test_a_line_of_two_megabytes_is_one_block(parse: Parse) -> None:
    line = "function a(){return 1};" * 90_000
    document = parse(line, "bundle.min.js")
    assert list(document.blocks) == [code(line)]


@pytest.mark.parametrize("stuffing", [b"\xff", b"\x00", b"\xe4"])
def test_video_stream_named_ts_is_refused(stuffing: bytes) -> None:
    packet = b"G\x1f\xff\x10" + stuffing * 184
    with pytest.raises(TypeMismatch, match="an MPEG video stream"):
        sniff(packet * 300, "film.ts")
    assert sniff(b"Good = 1;\n" * 200, "good.ts").label == "TypeScript source"


def test_other_content_named_as_source_code_is_refused() -> None:
    with pytest.raises(TypeMismatch, match="contains a PDF"):
        sniff(b"%PDF-1.7\n", "a.py")
