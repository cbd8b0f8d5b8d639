"""Jupyter notebooks made by code."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence


def make_notebook(cells: Sequence[Mapping[str, object]], **metadata: object) -> bytes:
    """A Jupyter notebook of format 4; cells get the fields that they lack."""
    whole = [
        {
            "metadata": {},
            **({"execution_count": 1, "outputs": []} if cell["cell_type"] == "code" else {}),
            **cell,
        }
        for cell in cells
    ]
    notebook = {"cells": whole, "metadata": metadata, "nbformat": 4, "nbformat_minor": 4}
    return json.dumps(notebook, indent=1).encode()
