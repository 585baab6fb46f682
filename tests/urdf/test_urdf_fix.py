"""Repaired robot files: what was wrong is right, and all else is as it was."""

from __future__ import annotations

import re

import numpy as np
import pytest
from places import TESTS
from urdf_faults.expected import EXPECTED

import vitree as vt
from vitree.errors import InputError, UrdfError
from vitree.urdf.inertia import inertia_faults
from vitree.urdf.robots import example_robots

FOLDER = TESTS / "urdf_faults"

#: Comments, what other tools read, and prefixes around a link whose inertia no body has.
FILE = """<?xml version="1.0" encoding="ISO-8859-1"?>
<!-- who made it: J\u00e4ger -->
<robot name="r">
  <link name="base"/>  <!-- the base -->
  <link name="arm">
    <inertial>
      <mass value="2.0"/>   <!-- weighed -->
      <origin xyz="0 0 0.5" rpy="0.1 0.2 0.3"/>
      <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="3"/>
    </inertial>
    <visual><geometry><mesh filename="package://arm/arm.dae"/></geometry></visual>
    <collision><geometry><box size="0.2 0.2 1"/></geometry></collision>
  </link>
  <joint name="j" type="continuous">
    <parent link="base"/><child link="arm"/><axis xyz="0 3 4"/>
  </joint>
  <gazebo reference="arm"><kp>1e6</kp><sensor:camera/></gazebo>
</robot>"""


def weight(model, q):
    return model.rnea(q, model.zero_velocity(), model.zero_velocity())


@pytest.mark.parametrize("policy", ["repair", "geometry"])
def test_only_what_is_wrong_changes(policy, tmp_path):
    path = tmp_path / "r.urdf"
    path.write_bytes(FILE.encode("latin-1"))
    fixed = vt.fix_urdf(path, inertia=policy)
    assert {f.id for f in fixed.changes} >= {"inertia-triangle", "axis-length"}
    assert {f.severity for f in fixed.changes} == {"repair"} and {f.file for f in fixed.changes} == {"r.urdf"}
    assert not fixed.remaining.of("error", "warning")
    # the lines that changed; all others stay to the letter
    changed = [a for a, b in zip(fixed.text.splitlines(), FILE.splitlines(), strict=True) if a != b]
    assert [re.search(r"<\??(\w+)", line)[1] for line in changed] == ["xml", "origin", "inertia", "parent"]
    assert changed[0] == '<?xml version="1.0" encoding="UTF-8"?>'
    assert 'xyz="0.0 0.6 0.8"' in fixed.text and "<!-- weighed -->" in fixed.text and "J\u00e4ger" in fixed.text
    assert "package://arm/arm.dae" in fixed.text and "<sensor:camera/>" in fixed.text
    a, b = vt.load_urdf(path, inertia=policy), vt.load_urdf(fixed.text)
    for q in ([0.3], [2.0]):
        np.testing.assert_allclose(b.crba(q), a.crba(q), rtol=1e-13)
        np.testing.assert_allclose(weight(b, q), weight(a, q), rtol=0, atol=1e-13)
    assert not inertia_faults(2.0, b.flat.link_inertia[1])
    again = vt.fix_urdf(fixed.text, inertia="repair")
    assert not again.changes and again.text == fixed.text


def test_tags_of_every_form():
    """Quotes of both kinds, tags over lines, elements without content, entities in names."""
    text = """<robot name='r'>
<link name='a&gt;b'
      />
<link name = "c"
><inertial  ><mass
   value = '1'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz="5" /></inertial></link>
<link name='solid'><collision><geometry><box size='1 1 1'/></geometry></collision></link>
<joint name='j' type='continuous'><parent link='a&gt;b'/><child link='c'/><axis note='x>y' xyz='0 0 2'></axis></joint>
<joint name='k' type='continuous'><parent link='a&gt;b'/><child link='solid'/></joint>
</robot>"""
    fixed = vt.fix_urdf(text, inertia="repair")
    assert fixed.text.count("\n") == text.count("\n") and "<axis note='x>y' xyz=\"0.0 0.0 1.0\"></axis>" in fixed.text
    assert "<inertial  ><origin" in fixed.text and "<mass\n   value = \"1.0\"/>" in fixed.text
    read = vt.load_urdf(fixed.text)
    assert read.flat.link_mass == (0.0, 1.0, 0.0)
    assert not inertia_faults(1.0, read.flat.link_inertia[1])
    whole = vt.fix_urdf(text, inertia="geometry", density=3.0)
    assert vt.load_urdf(whole.text).flat.link_mass == (0.0, 1.0, 3.0)
    assert "<link name='solid'><inertial><origin" in whole.text
    empty = "<robot name='r'><link name='a'/><joint name='f' type='fixed'><parent link='a'/><child link='b'/></joint>" \
            "<link name='b'><inertial/></link></robot>"  # fmt: skip
    filled = vt.fix_urdf(empty, "free")
    assert "<link name='b'><inertial><origin" in filled.text and "<link name='a'/>" in filled.text


REPAIRABLE = sorted(
    name for name, (options, said) in EXPECTED.items() if options.get("inertia") in ("repair", "geometry") and said
)


@pytest.mark.parametrize("name", REPAIRABLE)
def test_the_files_of_the_corpus(name):
    options = EXPECTED[name][0]
    try:
        model = vt.load_urdf(FOLDER / f"{name}.urdf", **options)
    except UrdfError:
        with pytest.raises(UrdfError):
            vt.fix_urdf(FOLDER / f"{name}.urdf", **options)
        return
    fixed = vt.fix_urdf(FOLDER / f"{name}.urdf", **options)
    read = vt.load_urdf(fixed.text, **{key: x for key, x in options.items() if key != "inertia"})
    np.testing.assert_allclose(read.flat.inertia, model.flat.inertia, rtol=0, atol=1e-14)
    np.testing.assert_allclose(read.flat.mass, model.flat.mass, rtol=0, atol=0)
    assert not any(f.id.startswith(("inertia", "moment")) or f.id == "mass-missing" for f in fixed.remaining)


def test_what_cannot_be_repaired_is_refused():
    with pytest.raises(UrdfError, match=r"1\.5kg"):
        vt.fix_urdf(FOLDER / "mass_with_unit.urdf")
    with pytest.raises(InputError, match='inertia="warn" is not a way to repair; choose from "repair", "geometry"'):
        vt.fix_urdf(FILE, inertia="warn")


@pytest.mark.slow
@pytest.mark.skipif(not example_robots(), reason="example-robot-data is not installed")
def test_real_robots():
    """Every file with inertias that no body has reads back as its repaired model, and without them."""
    mended = 0
    for path in example_robots().values():
        if path.stem in ("ur3", "falcon"):  # which have no links, and a joint to a link that is not there
            continue
        model = vt.load_urdf(path, "free", inertia="repair")
        if not model.report.of("repair"):
            continue
        mended += 1
        fixed = vt.fix_urdf(path, "free")
        read = vt.load_urdf(fixed.text, "free")
        assert not any(f.id.startswith(("inertia", "moment")) for f in read.report), path
        q = model.random_configuration(np.random.default_rng(0))
        M = model.crba(q)
        assert np.abs(read.crba(q) - M).max() <= 1e-12 * np.abs(M).max()
    assert mended >= 10
