#!/usr/bin/env python3
"""onnx_nodes.py FOLDER [--only REGEX] [--as-inputs] [--symbolic] - writes onnx's own node tests as folders that onnx_eval reads.

Each case becomes FOLDER/NAME with model.onnx, in_K.npy, out_K.npy and tolerance.txt.  Left out: strings, sequences, optionals,
and 4- and 2-bit types, which numpy cannot store.  Small integer inputs that say a shape, axes, bounds and the like are made
initialisers, as they are in models that people have; --as-inputs leaves them as they are.  --symbolic gives every input dim of
two or more a name by its size, so that the same cases show what conversion does without numbers.
"""
import argparse
import collections
import os
import re

import numpy as np
import onnx
from onnx import helper, numpy_helper
from onnx.backend.test.case import node as node_cases

CONSTANT = {"Reshape": [1], "Expand": [1], "Tile": [1], "Slice": [1, 2, 3, 4], "Pad": [1, 3], "ConstantOfShape": [0], "Range": [0, 1, 2],
            "Squeeze": [1], "Unsqueeze": [1], "Split": [1], "TopK": [1], "OneHot": [1], "CumSum": [1], "CumProd": [1], "Trilu": [1],
            "ReduceSum": [1], "ReduceMean": [1], "ReduceMax": [1], "ReduceMin": [1], "ReduceProd": [1], "ReduceL1": [1], "ReduceL2": [1],
            "ReduceLogSum": [1], "ReduceLogSumExp": [1], "ReduceSumSquare": [1], "Dropout": [1, 2], "Resize": [1, 2, 3], "Upsample": [1]}
BY_BITS = {8: np.uint8, 16: np.uint16}


def stored(x):
    """x as an array that numpy's own format has, or None."""
    if not isinstance(x, np.ndarray) and not np.isscalar(x):
        return None
    x = np.asarray(x)
    if x.dtype.kind in "biuf" and x.dtype.isbuiltin == 1:
        return np.require(x, requirements="C")
    name = x.dtype.name
    if name.startswith(("float8", "bfloat16")):
        return np.ascontiguousarray(x).view(BY_BITS[x.dtype.itemsize * 8])
    return None


def constants(model):
    """Names of graph inputs that are read only where a constant is usual."""
    uses = collections.defaultdict(list)
    for n in model.graph.node:
        for i, name in enumerate(n.input):
            uses[name].append(i in CONSTANT.get(n.op_type, []))
    return {name for name, places in uses.items() if name and all(places)}


def write(case, folder, as_inputs, symbolic):
    model = onnx.ModelProto()
    model.CopyFrom(case.model)
    inputs, outputs = case.data_sets[0]
    if len(inputs) != len(model.graph.input):
        return "inputs are left out"
    ins, outs = [stored(x) for x in inputs], [stored(x) for x in outputs]
    if any(x is None for x in ins + outs):
        return "types"
    fixed = set() if as_inputs else constants(model)
    kept = []
    for value, raw, x in zip(list(model.graph.input), inputs, ins):
        if value.name in fixed:
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(raw), value.name))
            model.graph.input.remove(value)
        else:
            kept.append(x)
    for value in model.graph.input if symbolic else []:
        for dim in value.type.tensor_type.shape.dim:
            if dim.dim_value > 1:
                dim.dim_param = f"d{dim.dim_value}"
    os.makedirs(folder, exist_ok=True)
    onnx.save(model, folder + "/model.onnx")
    for i, x in enumerate(kept):
        np.save(f"{folder}/in_{i}.npy", x)
    for i, x in enumerate(outs):
        np.save(f"{folder}/out_{i}.npy", x)
    with open(folder + "/tolerance.txt", "w") as f:
        f.write(f"{case.rtol} {case.atol}\n")
    return None


def main():
    p = argparse.ArgumentParser()
    p.add_argument("folder")
    p.add_argument("--only", default="")
    p.add_argument("--as-inputs", action="store_true")
    p.add_argument("--symbolic", action="store_true")
    args = p.parse_args()
    left_out = collections.Counter()
    n = 0
    for case in node_cases.collect_testcases(None):
        if args.only and not re.search(args.only, case.name):
            continue
        why = write(case, os.path.join(args.folder, case.name), args.as_inputs, args.symbolic)
        if why:
            left_out[why] += 1
        else:
            n += 1
    print(f"{n} cases written, left out: {dict(left_out)}")


if __name__ == "__main__":
    main()
