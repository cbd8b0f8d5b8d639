"""Two benchmarks, one after the other: `make bench`. Arguments go to the search benchmark."""

from __future__ import annotations

import subprocess
import sys

for module, arguments in (
    ("benchmarks.search_speed", sys.argv[1:]),
    ("benchmarks.ingestion_speed", ["path"]),
):
    subprocess.run([sys.executable, "-m", module, *arguments], check=True)
