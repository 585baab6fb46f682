"""Mutated robot files: whatever is read gives a Model without NaN, or a VitreeError, in time.

More examples: HYPOTHESIS_MAX_EXAMPLES=100000 python -m pytest tests/test_urdf_fuzz.py
"""

from __future__ import annotations

import io
import os
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import fields

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import vitree as vt
from vitree.errors import VitreeError
from vitree.urdf.robots import example_robots, own_robots

#: Files of up to this size [bytes] are mutated, lest a run be all parsing.
LARGEST = 60_000
ROBOTS = (*own_robots().values(), *example_robots().values())
FILES = sorted({path for path in ROBOTS if path.stat().st_size < LARGEST})
EXAMPLES = int(os.environ.get("HYPOTHESIS_MAX_EXAMPLES", "150"))
SECONDS = 5.0

#: What is put in the place of an attribute.
ODD = (
    "", " ", "nan", "inf", "-inf", "1e999", "-1e308", "1e-320", "0", "-0.0", "-1", "1,5", "1.5kg", "0x10", "1_000",
    "\u0661", "1 2", "0 0 0", "1 0 0", "nan nan nan", "1e200 1e200 1e200", "world", "base_link", "${x}", "$(arg y)",
    "&amp;", "\U0001f916", "\x7f", "a" * 5000, "fixed", "floating", "planar", "continuous", "prismatic", "screw",
    "../../etc/passwd", "package://x/y.stl", "file:///dev/zero", "package://../../x", "http://[", "C:\\x\\y.stl",
    "a\\0b",
)  # fmt: skip
#: Elements that are put in somewhere.
ELEMENTS = (
    "<mimic joint='base_link'/>", "<mimic/>", "<inertial/>", "<mass value='-1'/>", "<limit lower='3' upper='-3'/>",
    "<axis xyz='0 0 0'/>", "<link name='a'/>", "<joint name='j' type='fixed'/>", "<origin rpy='1e9 -1e9 1e300'/>",
    "<dynamics damping='-1' friction='inf'/>", "<visual/>", "<geometry><mesh/></geometry>", "<robot/>", "<!-- x -->",
    "<gazebo><a><b/></a></gazebo>", "<xacro:if value='1'/>", "<a:b xmlns:a='x'/>", "text", "<![CDATA[<link/>]]>",
)  # fmt: skip
#: Pieces of bytes that are put in somewhere.
BYTES = (
    b"\x00", b"\xff", b"\xef\xbb\xbf", b"<", b">", b"&", b"&#0;", b"&x;", b'"', b"<!DOCTYPE r>",
    b"<?xml version='1.1'?>",
)  # fmt: skip


@st.composite
def mutated(draw):
    """The bytes of a real file with some of its elements, attributes and bytes changed."""
    data = draw(st.sampled_from(FILES)).read_bytes()
    root = ElementTree.fromstring(data)
    for _ in range(draw(st.integers(0, 4))):
        nodes = list(root.iter())
        node = nodes[draw(st.integers(0, len(nodes) - 1))]
        other = nodes[draw(st.integers(0, len(nodes) - 1))]
        what = draw(st.integers(0, 6))
        if what <= 1 and node.attrib:
            node.set(draw(st.sampled_from(sorted(node.attrib))), draw(st.sampled_from(ODD)))
        elif what == 2 and node.attrib:
            del node.attrib[draw(st.sampled_from(sorted(node.attrib)))]
        elif what == 3 and other.attrib:  # a value from elsewhere, so that names point to wrong things
            key = draw(st.sampled_from(sorted(other.attrib)))
            node.set(draw(st.sampled_from([*sorted(node.attrib), key])), other.get(key))
        elif what == 4 and len(node):
            del node[draw(st.integers(0, len(node) - 1))]
        elif what == 5 and other not in node.iter() and node not in other.iter():
            node.append(other)
        elif what == 6:
            node.tag = draw(st.sampled_from(sorted({x.tag for x in nodes if isinstance(x.tag, str)})))
    data = ElementTree.tostring(root, encoding=draw(st.sampled_from(["utf-8", "utf-8", "utf-16", "iso-8859-1"])))
    for _ in range(draw(st.integers(0, 2))):
        at, size = draw(st.integers(0, len(data))), draw(st.integers(0, 300))
        what = draw(st.integers(0, 4))
        if what == 0:
            data = data[:at] + draw(st.sampled_from(BYTES)) + data[at:]
        elif what == 1:
            data = data[:at] + data[at + size :]
        elif what == 2:
            data = data[:at] + draw(st.sampled_from(ELEMENTS)).encode() + data[at:]
        elif what == 3:
            data = data[:at]
        else:
            data = data[:at] + data[at : at + size] * 2 + data[at + size :]
    return data


OPTIONS = st.fixed_dictionaries(
    {
        "base": st.sampled_from(["fixed", "free", "euler"]),
        "mimic": st.sampled_from(["reduced", "constraints", "independent"]),
        "loops": st.sampled_from(["error", "constraints"]),
        "inertia": st.sampled_from(["strict", "warn", "repair", "geometry"]),
    }
)


@pytest.mark.skipif(len(FILES) < 10, reason="example-robot-data is not installed")
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=list(HealthCheck), print_blob=True)
@given(data=mutated(), options=OPTIONS)
def test_every_outcome_is_a_model_or_an_error_of_ours(data, options):
    began = time.monotonic()
    try:
        model = vt.load_urdf(io.BytesIO(data), **options)
    except VitreeError as error:
        assert str(error) and "\n" not in str(error)
        model = None
    assert time.monotonic() - began < SECONDS
    if model is None:
        return
    for field in fields(model.flat):
        value = getattr(model.flat, field.name)
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            assert np.isfinite(value).all(), field.name
    for joint in model.joints:
        assert not np.isnan([*joint.lower, *joint.upper, *joint.velocity, *joint.effort]).any()
    poses = model.body_poses(model.neutral())
    assert np.isfinite(poses).all() or not np.abs(model.flat.p).max() < 1e100
