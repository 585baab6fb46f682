"""Robots by name: what is listed is found, a file wins, a wrong name is helped."""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree

import pytest

from vitree import robots
from vitree.errors import MissingExtraError, UnknownNameError, UrdfError
from vitree.robots import ALIASES, BASES, find_robot, list_robots, own_robots, suggest_base

needs_examples = pytest.mark.skipif(
    not robots.example_robots(), reason="example-robot-data is not installed"
)


def urdf(tmp_path, text: str):
    path = tmp_path / "robot.urdf"
    links = sorted(set(text.replace(">", " ").split()))
    pairs = [pair.split(">") for pair in text.split()]
    path.write_text(
        "<robot name='r'>"
        + "".join(f"<link name='{link}'/>" for link in links)
        + "".join(
            f"<joint name='{parent}_{child}' type='{'fixed' if child[0] == 'f' else 'revolute'}'>"
            f"<parent link='{parent}'/><child link='{child}'/></joint>"
            for parent, child in pairs
        )
        + "</robot>"
    )
    return path


def test_own_robots_are_files():
    assert own_robots(), "no robots of our own were found"
    for name, path in own_robots().items():
        assert path.is_file() and path.stem == name
        assert find_robot(name) == path


@needs_examples
def test_everything_listed_is_found_under_its_name():
    for name, path in list_robots().items():
        assert path.is_file()
        assert find_robot(name) == path, name
        assert ElementTree.parse(path).getroot().tag.endswith("robot")


@needs_examples
def test_every_file_has_a_name():
    assert set(robots.example_robots().values()) <= set(list_robots().values())
    assert len(robots.example_robots()) >= 68
    for name, path in robots.example_robots().items():
        assert find_robot(name) == path


def test_closed_loops_are_counted_once(tmp_path):
    """Of a scissor of many segments, each link is a limb's only by its first joint."""
    rungs = [f"a{k}>{side}{k + 1} b{k}>{side}{k + 1}" for k in range(60) for side in "ab"]
    assert suggest_base(urdf(tmp_path, "root>a0 root>b0 " + " ".join(rungs))) == "fixed"


@needs_examples
def test_short_names():
    assert find_robot("talos").name == "talos_reduced.urdf"
    assert find_robot("talos_full").name == "talos_full_v2.urdf"
    assert find_robot("anymal_c").parts[-3] == "anymal_c_simple_description"
    assert find_robot("TALOS") == find_robot("talos")
    assert find_robot("anymal_kinova") == find_robot("anymal-kinova")
    assert set(ALIASES.values()) <= set(robots.example_robots())
    stems = {path.stem for path in robots.example_robots().values()}
    assert set(BASES) <= stems


def test_a_file_wins(tmp_path, monkeypatch):
    path = urdf(tmp_path, "a>b")
    assert find_robot(path) == path and find_robot(str(path)) == path
    monkeypatch.chdir(tmp_path)
    path.rename("talos")
    assert find_robot("talos").read_text().startswith("<robot")
    (tmp_path / "human").mkdir()  # a directory does not
    assert find_robot("human") == list_robots()["human"]


@needs_examples
def test_unknown_names_are_helped():
    with pytest.raises(UnknownNameError, match='did you mean "talos"'):
        find_robot("talso")


@pytest.mark.parametrize("name", ["nowhere.urdf", "/nowhere/robot", "some/folder/robot.xml"])
def test_a_missing_file_is_named(name):
    with pytest.raises(UrdfError, match=name):
        find_robot(name)


def test_a_directory_is_named(tmp_path):
    with pytest.raises(UrdfError, match="directory"):
        find_robot(tmp_path)


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setattr(robots, "_example_folder", lambda: None)
    assert list_robots() == own_robots()
    with pytest.raises(MissingExtraError, match=r"vitree\[robots\]"):
        find_robot("talos")
    with pytest.raises(UnknownNameError, match='did you mean "pendulum"'):
        find_robot("pendulun")


@needs_examples
@pytest.mark.parametrize(
    "base, names",
    [
        ("free", "talos talos_full anymal anymal_c g1 go2 bolt solo12 icub romeo hyq iris hector"),
        ("free", "simple_humanoid human_description/human a1 b1-z1 centauro borinot hextilt"),
        ("fixed", "panda ur5 ur10 kinova z1 xarm7 so100 allegro_left_hand baxter talos_arm"),
        ("fixed", "double_pendulum_continuous finger_edu asr_twodof tiago tiago_dual"),
    ],
)
def test_base_of_known_robots(base, names):
    assert {name: suggest_base(find_robot(name)) for name in names.split()} == dict.fromkeys(
        names.split(), base
    )


@pytest.mark.parametrize(
    "tree, base",
    [
        ("a>b b>c a>d d>e", "free"),  # two limbs of two joints
        ("a>f1 f1>b b>c f1>f2 f2>d d>e", "free"),  # the same behind fixed joints
        ("a>b b>c c>d a>e", "fixed"),  # one limb and a stump
        ("a>b b>c b>d d>e c>g", "fixed"),  # branches further out
        ("world>b b>c world>d d>e", "fixed"),
        ("a>f", "free"),  # nothing moves
    ],
)
def test_base_by_structure(tmp_path, tree, base):
    assert suggest_base(urdf(tmp_path, tree)) == base


@pytest.mark.parametrize("text", ["", "not xml", "<robot><link/>", "<robot><joint/></robot>"])
def test_base_of_a_broken_file_is_left_to_the_reader(tmp_path, text):
    path = tmp_path / "x.urdf"
    path.write_text(text)
    assert suggest_base(path) in ("fixed", "free")
    assert suggest_base(tmp_path / "absent.urdf") == "fixed"
