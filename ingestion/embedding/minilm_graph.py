"""The graph of all-MiniLM-L6-v2 (BERT, six layers) in ONNX's text form, without its weights.

The order of sums is that of the graph that made the vectors of existing spaces, which onnxruntime
fuses into the same operators: another order gives other vectors (mean cosine .9991).
"""

from __future__ import annotations

LAYERS = 6

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


def graph_text() -> str:
    """The whole graph. Its weights are named as in the publisher's file, with `_` for `.`."""
    layers = (
        _LAYER.replace("#", f"layer_{i}_")
        .replace("@", f"layer_{i}")
        .replace("NEXT", f"layer_{i + 1}")
        for i in range(LAYERS)
    )
    return f"{_HEAD}{''.join(layers)}}}"
