#!/usr/bin/env python3
"""make.py - writes the folders beside it: one model a theme, each node an output, expected values by onnxruntime.

Every model has symbolic dims, so the cases show conversion without numbers too.  Run with onnx, onnxruntime and numpy installed:
    python3 frontend/onnx/testdata/make.py
"""
import os

import numpy as np
import onnx
import onnxruntime
from onnx import TensorProto as T
from onnx import helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))


class Model:
    """Inputs, nodes and initialisers of one theme; every node's results are outputs."""

    def __init__(self, name, opset=20):
        self.name, self.opset = name, opset
        self.inputs, self.feeds, self.nodes, self.outputs, self.constants = [], {}, [], [], []

    def input(self, name, array, dims):
        self.inputs.append(helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), dims))
        self.feeds[name] = array
        return name

    def const(self, value, dtype):
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.array(value, dtype), name))
        return name

    def ints(self, *value):
        return self.const(value, np.int64)

    def node(self, op, *inputs, n_out=1, out=True, **attrs):
        results = [f"{op}_{len(self.nodes)}" + (f"_{k}" if k else "") for k in range(n_out)]
        self.nodes.append(helper.make_node(op, list(inputs), results, name=results[0], **attrs))
        if out:
            self.outputs += results
        return results[0]

    def write(self):
        graph = helper.make_graph(self.nodes, self.name, self.inputs, [onnx.ValueInfoProto(name=o) for o in self.outputs], self.constants)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=9)
        session = onnxruntime.InferenceSession(model.SerializeToString())
        folder = os.path.join(HERE, self.name)
        os.makedirs(folder, exist_ok=True)
        onnx.save(model, folder + "/model.onnx")
        for i, x in enumerate(self.feeds.values()):
            np.save(f"{folder}/in_{i}.npy", x)
        for i, y in enumerate(session.run(self.outputs, self.feeds)):
            np.save(f"{folder}/out_{i}.npy", np.require(y, requirements="C"))
        with open(folder + "/tolerance.txt", "w") as f:
            f.write("1e-4 1e-5\n")
        print(f"{self.name}: {len(self.nodes)} nodes")


rng = np.random.default_rng(20261130)


def f32(*shape):
    return rng.standard_normal(shape).astype(np.float32)


def math():
    m = Model("math")
    x, y = m.input("x", f32(3, 4), ["n", "m"]), m.input("y", f32(4), ["m"])
    unit, big = m.input("u", (f32(3, 4) * 0.3).clip(-0.95, 0.95), ["n", "m"]), m.input("b", abs(f32(3, 4)) + 1.1, ["n", "m"])
    i, j = m.input("i", np.array([[7, -7, 5], [-5, 0, 9]], np.int32), ["p", "q"]), m.input("j", np.array([3, 3, -2], np.int32), ["q"])
    t = m.input("t", np.array([[True, False, True, True]]), [1, "m"])
    for op in "Neg Abs Sign Ceil Floor Round Exp Sin Cos Tanh Sinh Cosh Erf Sigmoid Relu Softplus Softsign HardSwish Mish Elu Selu Celu " \
              "LeakyRelu HardSigmoid ThresholdedRelu Gelu IsNaN Reciprocal".split():
        m.node(op, x)
    m.node("Gelu", x, approximate="tanh")
    m.node("Shrink", x, lambd=0.7, bias=0.2)
    m.node("Selu", x, alpha=1.5, gamma=2.0)
    for op in "Asin Acos Atan Tan Atanh Asinh".split():
        m.node(op, unit)
    for op in "Sqrt Log Acosh".split():
        m.node(op, big)
    for op in "Add Sub Mul Div Max Min Less LessOrEqual Greater GreaterOrEqual Equal PRelu Sum Mean".split():
        m.node(op, x, y)
    for op in "Add Sub Mul Div Mod".split():
        m.node(op, i, j)
    m.node("Mod", i, j, fmod=1)
    m.node("Pow", big, x)
    m.node("Clip", x, m.const(-0.5, np.float32), "")
    m.node("Clip", x, m.const(-0.5, np.float32), m.const(0.25, np.float32))
    m.node("Where", t, x, y)
    g = m.node("Greater", x, y, out=False)
    for op in "And Or Xor".split():
        m.node(op, g, t)
    m.node("Not", t)
    m.node("Cast", x, to=T.INT32)
    m.node("Cast", i, to=T.FLOAT)
    m.node("Cast", x, to=T.FLOAT16)
    m.node("CastLike", i, x)
    m.node("Max", x, y, big)
    m.write()


def shape():
    m = Model("shape")
    x = m.input("x", f32(2, 6, 4), ["n", 6, "w"])
    s = m.node("Shape", x)
    n = m.node("Gather", s, m.ints(0), axis=0)
    w = m.node("Slice", s, m.ints(-1), m.ints(9))
    double = m.node("Mul", n, m.ints(2))
    m.node("Reshape", x, m.node("Concat", double, m.ints(-1), axis=0))
    m.node("Reshape", x, m.ints(0, 3, 2, -1))
    m.node("Reshape", x, m.node("Concat", w, m.ints(6), n, axis=0))
    m.node("Expand", m.node("Unsqueeze", x, m.ints(1)), m.node("Concat", n, m.ints(3, 6), w, axis=0))
    m.node("Flatten", x, axis=-1)
    m.node("Transpose", x, perm=[2, 0, 1])
    m.node("Transpose", x)
    m.node("Tile", x, m.ints(2, 1, 3))
    m.node("Concat", x, x, axis=-2)
    m.node("Split", x, m.ints(1, 2, 3), n_out=3, axis=1)
    m.node("Split", x, n_out=2, axis=1, num_outputs=2)
    m.node("Slice", x, m.ints(1, -1), m.ints(2**62, -99), m.ints(0, 2), m.ints(1, -2))
    m.node("Slice", x, m.ints(-3), m.ints(-1), m.ints(2))
    m.node("Slice", x, m.ints(0), m.node("Sub", w, m.ints(1)), m.ints(2))
    for mode in "constant edge reflect wrap".split():
        m.node("Pad", x, m.ints(0, 1, 2, 0, 2, 1), mode=mode)
    m.node("Pad", x, m.ints(1, 0, 0, -1), m.const(2.5, np.float32), m.ints(0, 2))
    m.node("Squeeze", m.node("Unsqueeze", x, m.ints(0, -1)), m.ints(-1))
    m.node("Range", m.const(1, np.int64), m.node("Squeeze", w, m.ints(0)), m.const(2, np.int64))
    m.node("ConstantOfShape", m.node("Concat", n, m.ints(2), axis=0), value=helper.make_tensor("v", T.INT32, [1], [7]))
    m.node("Trilu", x, m.const(1, np.int64), upper=0)
    m.node("Trilu", x)
    m.node("EyeLike", m.node("Reshape", x, m.ints(6, -1)), k=-1, dtype=T.FLOAT)
    m.node("Size", x)
    d = m.node("Reshape", x, m.ints(0, 4, 3, -1))
    m.node("DepthToSpace", d, blocksize=2)
    m.node("DepthToSpace", d, blocksize=2, mode="CRD")
    m.node("SpaceToDepth", m.node("Reshape", x, m.ints(0, 1, 6, -1)), blocksize=2)
    m.write()


def index():
    m = Model("index")
    x = m.input("x", f32(3, 4, 5), ["n", "m", "k"])
    at = m.input("at", np.array([[0, -1], [2, 1]], np.int64), [2, 2])
    m.node("Gather", x, at, axis=1)
    m.node("Gather", x, m.ints(-1, 0), axis=2)
    m.node("GatherND", x, at)
    m.node("GatherND", x, m.const([[[0], [1]], [[3], [2]], [[-1], [0]]], np.int64), batch_dims=1)
    elements = m.const(rng.integers(-4, 4, (3, 2, 5)), np.int64)
    m.node("GatherElements", x, elements, axis=1)
    more = m.const(f32(3, 2, 5), np.float32)
    m.node("ScatterElements", x, m.const([[[0] * 5, [-1] * 5]] * 3, np.int64), more, axis=1)
    for how in "add mul max min".split():
        m.node("ScatterElements", x, m.const([[[1] * 5, [1] * 5]] * 3, np.int64), more, axis=1, reduction=how)
    m.node("ScatterND", x, at, m.const(f32(2, 5), np.float32))
    m.node("ScatterND", x, m.const([[1], [1]], np.int64), m.const(f32(2, 4, 5), np.float32), reduction="add")
    m.node("OneHot", at, m.const(4, np.int64), m.const([-1, 2], np.float32), axis=1)
    m.node("TopK", x, m.ints(2), n_out=2, axis=1)
    m.node("TopK", x, m.ints(3), n_out=2, largest=0)
    m.node("ArgMax", x, axis=1, keepdims=0)
    m.node("ArgMin", x, axis=-1)
    m.node("ArgMax", m.const([[1, 3, 3], [2, 2, 0]], np.float32), axis=1, select_last_index=1)
    m.node("CumSum", x, m.const(1, np.int64))
    m.node("CumSum", x, m.const(-1, np.int64), exclusive=1, reverse=1)
    m.write()


def reduce():
    m = Model("reduce")
    x, p = m.input("x", f32(2, 3, 4), ["a", "b", "c"]), m.input("p", abs(f32(2, 3, 4)) + 0.1, ["a", "b", "c"])
    for op in "Sum Mean Max Min Prod L1 L2 LogSum LogSumExp SumSquare".split():
        m.node("Reduce" + op, p, m.ints(1, -1), keepdims=0)
        m.node("Reduce" + op, p if op == "LogSum" else x)
    m.node("ReduceSum", x, m.ints(), noop_with_empty_axes=1)
    m.node("ReduceSum", m.node("Cast", x, to=T.INT32), m.ints(0))
    for op in "Softmax LogSoftmax Hardmax".split():
        m.node(op, x)
        m.node(op, x, axis=0)
    m.node("LpNormalization", x, axis=1, p=1)
    m.node("LpNormalization", x)
    for equation in ["abc,abd->cd", "abc->ca", "abc,acd"]:
        other = {"abc,abd->cd": x, "abc,acd": m.const(f32(2, 4, 2), np.float32)}.get(equation)
        m.node("Einsum", *([x, other] if other else [x]), equation=equation)
    m.write()


def softmax_2d():
    m = Model("softmax_2d", opset=11)
    x = m.input("x", f32(2, 3, 4), ["a", "b", "c"])
    for op in "Softmax LogSoftmax Hardmax".split():
        m.node(op, x, axis=1)
    m.node("ReduceSum", x, axes=[1])
    m.node("Squeeze", m.node("Unsqueeze", x, axes=[0]), axes=[0])
    m.node("Clip", x, m.const(-0.5, np.float32))
    m.write()


def nn():
    m = Model("nn")
    x = m.input("x", f32(2, 4, 7, 6), ["n", 4, "h", "w"])
    a = m.input("a", f32(2, 3, 5), ["n", "p", "k"])
    m.node("Conv", x, m.const(f32(6, 4, 3, 3), np.float32), m.const(f32(6), np.float32), pads=[1, 0, 1, 2], strides=[2, 1])
    m.node("Conv", x, m.const(f32(4, 2, 2, 3), np.float32), group=2, dilations=[2, 1])
    m.node("Conv", x, m.const(f32(2, 4, 3, 4), np.float32), auto_pad="SAME_UPPER", strides=[2, 3])
    m.node("Conv", x, m.const(f32(2, 4, 3, 4), np.float32), auto_pad="SAME_LOWER")
    m.node("ConvTranspose", x, m.const(f32(4, 3, 3, 2), np.float32), m.const(f32(3), np.float32), strides=[2, 3], pads=[1, 0, 0, 1], output_padding=[1, 2])
    m.node("ConvTranspose", x, m.const(f32(4, 1, 3, 3), np.float32), group=2, dilations=[1, 2])
    m.node("MaxPool", x, kernel_shape=[3, 2], strides=[2, 2], pads=[1, 0, 1, 1])
    m.node("MaxPool", x, kernel_shape=[2, 2], n_out=2)
    m.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    m.node("AveragePool", x, kernel_shape=[3, 2], pads=[1, 1, 1, 0])
    m.node("AveragePool", x, kernel_shape=[3, 2], pads=[1, 1, 1, 0], count_include_pad=1)
    m.node("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1)
    m.node("AveragePool", x, kernel_shape=[2, 2], auto_pad="SAME_UPPER", strides=[2, 2])
    m.node("GlobalMaxPool", x)
    m.node("GlobalAveragePool", x)
    c = [m.const(abs(f32(4)) + 0.5, np.float32) for _ in range(4)]
    m.node("BatchNormalization", x, *c)
    m.node("InstanceNormalization", x, c[0], c[1])
    m.node("LayerNormalization", a, m.const(f32(5), np.float32), m.const(f32(5), np.float32), n_out=3)
    m.node("LayerNormalization", a, m.const(f32(5), np.float32), axis=-1, epsilon=0.1)
    m.node("MatMul", a, m.const(f32(5, 4), np.float32))
    m.node("MatMul", a, m.const(f32(1, 5, 2), np.float32))
    m.node("MatMul", a, m.const(f32(5), np.float32))
    m.node("MatMul", m.const(f32(3, 1, 2, 3), np.float32), a)
    g = m.node("Reshape", a, m.ints(-1, 5))
    m.node("Gemm", g, m.const(f32(4, 5), np.float32), m.const(f32(4), np.float32), transB=1, alpha=0.5, beta=2.0)
    m.node("Gemm", m.const(f32(6, 2), np.float32), m.const(f32(3, 6), np.float32), transA=1, transB=1)
    m.node("Resize", x, "", m.const([1, 1, 2, 2], np.float32), mode="nearest")
    m.node("Resize", x, "", m.const([1, 1, 2, 0.5], np.float32), mode="linear")
    m.node("Resize", x, "", "", m.ints(2, 4, 5, 9), mode="linear", coordinate_transformation_mode="align_corners")
    m.node("Resize", x, "", m.const([1, 1, 1.5, 2], np.float32), mode="cubic")
    m.node("Dropout", x)
    m.write()


def quant():
    m = Model("quant", opset=19)
    x, a = m.input("x", f32(3, 4), ["n", 4]), m.input("a", rng.integers(0, 255, (3, 4)).astype(np.uint8), ["n", 4])
    scale, zero = m.const([0.02], np.float32), m.const([128], np.uint8)
    one, at = m.const(0.02, np.float32), m.const(128, np.uint8)
    m.node("QuantizeLinear", x, one, at)
    m.node("QuantizeLinear", x, m.const([0.02, 0.1, 0.5, 1], np.float32), m.const([0, 1, -2, 3], np.int8), axis=1)
    m.node("DequantizeLinear", a, one, at)
    m.node("DynamicQuantizeLinear", x, n_out=3)
    b = m.const(rng.integers(-64, 64, (4, 2)), np.int8)   # onnxruntime saturates pairs of large products without VNNI
    m.node("MatMulInteger", a, b, at, m.const(3, np.int8))
    m.node("QLinearMatMul", a, one, at, m.const(rng.integers(0, 255, (4, 2)), np.uint8), one, at, m.const(0.05, np.float32), m.const(100, np.uint8))
    m.write()


if __name__ == "__main__":
    for make in (math, shape, index, reduce, softmax_2d, nn, quant):
        make()
