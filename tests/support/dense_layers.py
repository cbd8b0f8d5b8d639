"""The dense layer of a sentence-transformers folder, as safetensors."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

IDENTITY = "torch.nn.modules.linear.Identity"


def write_dense(
    folder: Path, arrays: Mapping[str, Any], *, out_features: int, activation: str = IDENTITY
) -> None:
    """Write the layer's files: its configuration, and its arrays of float32 or float16."""
    dense = folder / "2_Dense"
    dense.mkdir(parents=True, exist_ok=True)
    fields = {"out_features": out_features, "activation_function": activation}
    (dense / "config.json").write_text(json.dumps(fields))
    header, data = {}, b""
    for name, array in arrays.items():
        kind = {"float32": "F32", "float16": "F16"}[np.dtype(array.dtype).name]
        end = len(data) + array.nbytes
        offsets = [len(data), end]
        header[name] = {"dtype": kind, "shape": list(array.shape), "data_offsets": offsets}
        data += array.tobytes()
    text = json.dumps(header).encode()
    (dense / "model.safetensors").write_bytes(len(text).to_bytes(8, "little") + text + data)
