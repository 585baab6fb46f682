"""Policies in ONNX files, as tests write them, and the task of a walker that they are for."""

from __future__ import annotations

import numpy as np
import pytest

import vitree as vt


def walker(ground=None):
    """A trunk of 5 kg on two legs with a hinge each, whose spherical feet touch the ground; drives hold the hinges."""
    tree = vt.Tree("walker")
    trunk = tree.world.add(vt.free("root"), vt.body("trunk", 5.0, (0.05, 0.05, 0.05)))
    feet = []
    for side, y in (("left", 0.2), ("right", -0.2)):
        leg = trunk.add(vt.ty(y), vt.ry(f"{side} hip"), vt.tz(-0.15), vt.body(f"{side} leg", 0.5, (0.004, 0.004, 1e-3)))
        leg.add(vt.tz(-0.15), vt.frame(f"{side} foot"))
        feet.append(vt.Contact(f"{side} foot", shapes=[vt.Sphere(0.03)]))
    tree.contact(vt.Ground(friction=0.8) if ground is None else ground,
                 [*feet, vt.Contact("trunk", shapes=[vt.Box((0.3, 0.3, 0.2))])])  # fmt: skip
    return tree.compile().with_drives({"*": (60, 2)})


def walking_task(**more):
    """A task of the walker with an observation of 14 numbers, and two actions every 5 steps of 4 ms."""
    from vitree import gym as vg

    model = walker()
    observe = {"base_angular_velocity": 0.25, "projected_gravity": 1.0, "command": 2.0, "joint_positions": 1.0,
               "joint_velocities": 0.05, "last_action": 1.0}  # fmt: skip
    return vg.Task(**{
        "model": model, "dt": 0.004, "frame_skip": 5, "reward": lambda state: np.zeros(len(state.q)),
        "action": "targets", "observe": observe, "pose": vt.place_on_ground(model, model.neutral()),
        "command": vg.Command({"x": (-1, 1), "yaw": (-1, 1)}),
    } | more)  # fmt: skip


def network(path, weights, *, shape="many", batch=None, dtype=np.float32, choice=False, inputs=("obs",),
            outputs=("actions",)):  # fmt: skip
    """Write tanh(x W) as an ONNX file: for "many" instances, for "one", or "flat", without an axis of instances."""
    onnx = pytest.importorskip("onnx")
    helper = onnx.helper
    kind = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    rows = {"many": ["n" if batch is None else batch], "one": [1], "flat": []}[shape]
    W = np.asarray(weights, dtype=dtype)
    nodes = [helper.make_node("MatMul", ["obs", "W"], ["y"]), helper.make_node("Tanh", ["y"], ["actions"])]
    results = [helper.make_tensor_value_info(name, kind, None) for name in outputs]
    if choice:
        nodes[1] = helper.make_node("ArgMax", ["y"], ["actions"], axis=-1, keepdims=0)
        results[0] = helper.make_tensor_value_info("actions", onnx.TensorProto.INT64, None)
    nodes += [helper.make_node("Identity", ["y"], [name]) for name in outputs if name != "actions"]
    given = [helper.make_tensor_value_info(name, kind, [*rows, W.shape[0]]) for name in inputs]
    graph = helper.make_graph(nodes, "policy", given, results, [onnx.numpy_helper.from_array(W, "W")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=10)
    helper.set_model_props(model, {"trained by": "hand"})
    onnx.save(model, path)
