"""all-MiniLM-L6-v2, the default model: its publisher's weights, with matrix products in int8."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ingestion.embedding.local_model import LocalModel
from ingestion.embedding.model_files import file_by_hash, prepared, tensors

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

    model = parser.parse_model(_graph_text())
    for name, tensor in tensors(source):
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


_LAYERS = 6

# The graph of all-MiniLM-L6-v2 (BERT, six layers) in ONNX's text form, without its weights. The
# order of sums is that of the graph that made the vectors of existing spaces, which onnxruntime
# fuses into the same operators: another order gives other vectors (mean cosine .9991).
# The shape is stated because of the slice: without it onnxruntime fuses half of the norms.
# `scale` is (1 / sqrt(32)) as the square of a float32; `root` is sqrt(2) in GELU (Hendrycks 2016).
_HEAD = """
<ir_version: 10, opset_import: ["" : 17]>
minilm (
    int64[texts, tokens] input_ids,
    int64[texts, tokens] attention_mask,
    int64[texts, tokens] token_type_ids
) => (float[texts, tokens, 384] layer_6)
<
    float[texts, tokens, 384] layer_0,
    int64[1] zero = {0}, int64[1] one = {1}, int64[2] middle = {1, 2},
    int64[4] heads = {0, 0, 12, 32}, int64[3] joined = {0, 0, 384},
    float seen = {0}, float unseen = {-3.4028235e38},
    float scale = {0.17677671}, float root = {1.4142135}, float unit = {1}, float half = {0.5}
>
{
    width = Shape <start = 1> (input_ids)
    places = Slice (embeddings_position_ids, zero, width, one)
    word = Gather (embeddings_word_embeddings_weight, input_ids)
    type = Gather (embeddings_token_type_embeddings_weight, token_type_ids)
    place = Gather (embeddings_position_embeddings_weight, places)
    typed = Add (word, type)
    placed = Add (typed, place)
    layer_0 = LayerNormalization <axis = -1, epsilon = 1e-12>
        (placed, embeddings_LayerNorm_weight, embeddings_LayerNorm_bias)
    is_token = Cast <to = 9> (attention_mask)
    is_seen = Unsqueeze (is_token, middle)
    mask = Where (is_seen, seen, unseen)
"""

# `#` is the layer from `@` to `NEXT`: layer_0_ and so on before the names of its own values.
_LAYER = """
    #query_product = MatMul (@, #attention_self_query_weight)
    #query_sum = Add (#query_product, #attention_self_query_bias)
    #query_heads = Reshape (#query_sum, heads)
    #query = Transpose <perm = [0, 2, 1, 3]> (#query_heads)
    #key_product = MatMul (@, #attention_self_key_weight)
    #key_sum = Add (#key_product, #attention_self_key_bias)
    #key_heads = Reshape (#key_sum, heads)
    #key = Transpose <perm = [0, 2, 3, 1]> (#key_heads)
    #value_product = MatMul (@, #attention_self_value_weight)
    #value_sum = Add (#value_product, #attention_self_value_bias)
    #value_heads = Reshape (#value_sum, heads)
    #value = Transpose <perm = [0, 2, 1, 3]> (#value_heads)
    #dots = MatMul (#query, #key)
    #scaled = Mul (#dots, scale)
    #masked = Add (#scaled, mask)
    #shares = Softmax <axis = -1> (#masked)
    #mixed = MatMul (#shares, #value)
    #turned = Transpose <perm = [0, 2, 1, 3]> (#mixed)
    #joined = Reshape (#turned, joined)
    #output_product = MatMul (#joined, #attention_output_dense_weight)
    #output_sum = Add (#output_product, #attention_output_dense_bias)
    #output_residual = Add (#output_sum, @)
    #attended = LayerNormalization <axis = -1, epsilon = 1e-12>
        (#output_residual, #attention_output_LayerNorm_weight, #attention_output_LayerNorm_bias)
    #wide_product = MatMul (#attended, #intermediate_dense_weight)
    #wide = Add (#wide_product, #intermediate_dense_bias)
    #gelu_input = Div (#wide, root)
    #gelu_error = Erf (#gelu_input)
    #gelu_unit = Add (#gelu_error, unit)
    #gelu_half = Mul (half, #gelu_unit)
    #gelu = Mul (#wide, #gelu_half)
    #narrow_product = MatMul (#gelu, #output_dense_weight)
    #narrow = Add (#narrow_product, #output_dense_bias)
    #narrow_residual = Add (#narrow, #attended)
    NEXT = LayerNormalization <axis = -1, epsilon = 1e-12>
        (#narrow_residual, #output_LayerNorm_weight, #output_LayerNorm_bias)
"""


def _graph_text() -> str:
    """The whole graph. Its weights are named as in the publisher's file, with `_` for `.`."""
    layers = (
        _LAYER.replace("#", f"layer_{i}_")
        .replace("@", f"layer_{i}")
        .replace("NEXT", f"layer_{i + 1}")
        for i in range(_LAYERS)
    )
    return f"{_HEAD}{''.join(layers)}}}"
