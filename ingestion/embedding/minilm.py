"""all-MiniLM-L6-v2, the default model: its publisher's weights, with matrix products in int8."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from ingestion.embedding.local_model import LocalModel
from ingestion.embedding.minilm_graph import graph_text
from ingestion.embedding.model_files import file_by_hash, prepared

if TYPE_CHECKING:
    import onnx

# As at huggingface.co/sentence-transformers/all-MiniLM-L6-v2.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

NAME = "all-MiniLM-L6-v2-int8-dynamic"
# As spaces have had it since 0.1.0; the number is of another file with these weights, rounded to
# int8. The vectors are the same to the bit: change it with anything that changes them.
FINGERPRINT = f"{NAME}-8199be6f699a-r1"
BUILT = f"{NAME}-{WEIGHTS_SHA256[:12]}.onnx"
WINDOW = 256  # tokens, two special ones included; 512 gains nothing (docs/adr/0009)


def minilm_model(models_dir: Path) -> LocalModel:
    """The model, whose weights are built when they are first needed."""
    return LocalModel(
        name=NAME,
        weights=lambda: prepared_model(models_dir),
        tokenizer=tokenizer_file(models_dir),
        dimensions=384,
        window=WINDOW,
        languages=("en",),
        identity=FINGERPRINT,
    )


def weights_file(models_dir: Path) -> Path:
    """The publisher's weights, in float32."""
    return file_by_hash("model.safetensors", WEIGHTS_SHA256, models_dir / "minilm")


def tokenizer_file(models_dir: Path) -> Path:
    """The publisher's tokenizer."""
    return file_by_hash("tokenizer.json", TOKENIZER_SHA256, models_dir / "minilm")


def prepared_model(models_dir: Path) -> bytes:
    """The quantized model, built by the first process and verified by each."""
    return prepared(models_dir / BUILT, lambda target: build(weights_file(models_dir), target))


def build(source: Path, target: Path) -> None:
    """Write the model with the weights of `source` to `target`, with matrix products in int8.

    onnxruntime quantizes the weights for its integer kernels, with one scale per column: one scale
    per matrix gives visibly different vectors (mean cosine .935 instead of .995).
    """
    # Imported here, because only the first start needs it: it takes 3 s and 600 MB at peak.
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    model = float_model(source)
    # Without this mark the quantizer logs to the root logger, which configures it.
    add_pre_process_metadata(model)
    quantize_dynamic(model, target, weight_type=QuantType.QInt8, per_channel=True)


def float_model(source: Path) -> onnx.ModelProto:
    """The model in float32, but for the rows of its embedding tables, which are rounded to int8.

    That is how the earlier file had them, and keeps the vectors of existing spaces.
    """
    from onnx import numpy_helper, parser

    model = parser.parse_model(graph_text())
    for name, tensor in _tensors(source):
        if name.startswith("pooler"):
            continue
        if name.endswith(("word_embeddings.weight", "position_embeddings.weight")):
            scale = np.abs(tensor).max(axis=1, keepdims=True) / np.float32(127)
            tensor = np.round(tensor / scale) * scale
        elif name.startswith("encoder") and tensor.ndim == 2:
            tensor = tensor.T  # x @ W in ONNX, x @ W.T in PyTorch
        name = name.removeprefix("encoder.").replace(".", "_")
        model.graph.initializer.append(numpy_helper.from_array(tensor.copy(), name))
    return model


def _tensors(source: Path) -> Iterator[tuple[str, npt.NDArray[np.generic]]]:
    """Yield the names and values of a safetensors file (huggingface.co/docs/safetensors)."""
    content = source.read_bytes()
    start = 8 + int.from_bytes(content[:8], "little")
    for name, field in json.loads(content[8:start]).items():
        if name != "__metadata__":
            first, last = (start + offset for offset in field["data_offsets"])
            kind = {"F32": "<f4", "I64": "<i8"}[field["dtype"]]
            yield name, np.frombuffer(content[first:last], kind).reshape(field["shape"])
