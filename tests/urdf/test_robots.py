"""Robots by name: what is listed is found, a file wins, a wrong name is helped."""

from __future__ import annotations

import sys
import time
import xml.etree.ElementTree as ElementTree

import pytest

from vitree.errors import InputError, MissingExtraError, UnknownNameError, UrdfError
from vitree.urdf import robots
from vitree.urdf.paths import resolve
from vitree.urdf.robots import ALIASES, BASES, find_robot, list_descriptions, list_robots, own_robots, suggest_base


@pytest.fixture(autouse=True)
def offline(monkeypatch):
    """Without robot_descriptions, which fetches; the tests that need it put a package in its place."""
    monkeypatch.setitem(sys.modules, "robot_descriptions", None)


needs_examples = pytest.mark.skipif(
    not robots.example_robots(), reason="example-robot-data is not installed"
)


def urdf(tmp_path, text: str, heavy: str = "", inside: str = "<inertial><mass value='1'/></inertial>"):
    """A file of links and joints; those ``heavy`` have something inside, by default all."""
    path = tmp_path / "robot.urdf"
    links = sorted(set(text.replace(">", " ").split()))
    pairs = [pair.split(">") for pair in text.split()]
    path.write_text(
        "<robot name='r'>"
        + "".join(f"<link name='{x}'>{inside if not heavy or x in heavy else ''}</link>" for x in links)
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


@pytest.mark.parametrize("name", [None, 3, b"talos", ["talos"]])
def test_what_is_no_name_is_told(name):
    with pytest.raises(InputError, match="a name or a path"):
        find_robot(name)


@pytest.mark.parametrize("name", ["", "a\0b", "x" * 5000, "~nobody/robot", "\ud800"])
def test_odd_names_are_unknown(name):
    with pytest.raises((UnknownNameError, UrdfError)):
        find_robot(name)


def test_a_xacro_file_is_found_by_its_path(tmp_path):
    (tmp_path / "r.urdf.xacro").touch()
    assert find_robot(tmp_path / "r.urdf.xacro") == tmp_path / "r.urdf.xacro"
    with pytest.raises(UrdfError, match="absent"):
        find_robot("absent.xacro")


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


@pytest.mark.parametrize(("heavy", "base"), [("x", "fixed"), ("bcde", "fixed"), ("abcde", "free"), ("bcdef", "free")])
def test_a_root_without_mass_does_not_float(tmp_path, heavy, base):
    """It has one by itself, or by f, which is fixed to it; and by shapes where these have a mass."""
    tree = "a>f a>b b>c a>d d>e"
    assert suggest_base(urdf(tmp_path, tree, heavy)) == base
    path = urdf(tmp_path, tree, heavy, "<visual><geometry><sphere radius='1'/></geometry></visual>")
    assert suggest_base(path) == "fixed" and suggest_base(path, inertia="geometry") == base


def test_base_of_a_xacro_file(tmp_path):
    pytest.importorskip("xacrodoc")
    path = urdf(tmp_path, "a>b b>c a>d d>e")
    (tmp_path / "r.xacro").write_text(
        "<robot xmlns:xacro='http://www.ros.org/wiki/xacro'><xacro:include filename='robot.urdf'/></robot>"
    )
    assert suggest_base(tmp_path / "r.xacro") == suggest_base(path) == "free"


def test_base_of_a_long_chain(tmp_path):
    chain = " ".join(f"l{k}>l{k + 1}" for k in range(20_000))
    assert suggest_base(urdf(tmp_path, chain)) == "fixed"
    assert suggest_base(urdf(tmp_path, f"{chain} l0>m0 m0>m1")) == "free"


def test_base_of_a_hostile_file_is_left_to_the_reader(tmp_path):
    """Entities are not expanded, here ten to the power of nine."""
    entities = "".join(f"<!ENTITY e{k} '{f'&e{k - 1};' * 10 if k else 'lol'}'>" for k in range(10))
    path = tmp_path / "x.urdf"
    path.write_text(f"<!DOCTYPE robot [{entities}]><robot name='&e9;'><link name='a'/></robot>")
    start = time.perf_counter()
    assert suggest_base(path) == "fixed"
    assert time.perf_counter() - start < 2


@pytest.mark.parametrize("text", ["", "not xml", "<robot><link/>", "<robot><joint/></robot>"])
def test_base_of_a_broken_file_is_left_to_the_reader(tmp_path, text):
    path = tmp_path / "x.urdf"
    path.write_text(text)
    assert suggest_base(path) in ("fixed", "free")
    assert suggest_base(tmp_path / "absent.urdf") == "fixed"


# ---- robots that robot_descriptions fetches -----------------------------------------------------


WALKER = """
import os, sys
print("Cloning ...")
print("100%", file=sys.stderr)
assert os.environ["GIT_TERMINAL_PROMPT"] == "0"
PACKAGE_PATH = os.path.join(os.environ["ROBOT_DESCRIPTIONS_CACHE"], "walker")
os.makedirs(PACKAGE_PATH, exist_ok=True)
URDF_PATH = os.path.join(PACKAGE_PATH, "walker.urdf")
with open(URDF_PATH, "w") as file:
    file.write("<robot name='walker'><link name='a'/></robot>")
"""

PROGRAMMED = """
import os
cache = os.environ["ROBOT_DESCRIPTIONS_CACHE"]
PACKAGE_PATH = os.path.join(cache, "programmed")
XACRO_PATH = os.path.join(PACKAGE_PATH, "urdf", "robot.urdf.xacro")
XACRO_ARGS = {"prefix": "l_", "not_asked_for": "1"}
XACRO_PACKAGE_PATHS = {"parts": os.path.join(cache, "elsewhere", "parts")}
xmlns = "xmlns:xacro='http://www.ros.org/wiki/xacro'"
mesh = "<visual><geometry><mesh filename='package://programmed/x.stl'/></geometry></visual>"
for path, text in {
    XACRO_PATH: "<xacro:arg name='prefix' default=''/><xacro:include filename='$(find parts)/part.xacro'/>",
    os.path.join(XACRO_PACKAGE_PATHS["parts"], "part.xacro"): f"<link name='$(arg prefix)a'>{mesh}</link>",
    os.path.join(PACKAGE_PATH, "x.stl"): "",
}.items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as file:
        file.write(f"<robot name='programmed' {xmlns}>{text}</robot>")
"""

MODULES = {
    "walker": WALKER,
    "programmed": PROGRAMMED,
    "talos": WALKER,
    "pendulum": WALKER,
    "gone": "raise RuntimeError('Could not resolve host:\\n github.com')",
    "gitless": "raise ImportError('Bad git executable')",
    "odd": "raise KeyError",
    "broken": "import",
    "empty": "MJCF_PATH = 'x.xml'",
    "removed": "URDF_PATH = '/nowhere/x.urdf'",
    "other_format": "raise AssertionError('not a URDF')",
}


@pytest.fixture
def described(tmp_path, monkeypatch):
    """A package in the place of robot_descriptions; its modules fill a cache when they are imported."""
    folder = tmp_path / "robot_descriptions"
    folder.mkdir()
    names = {f"{name}_description": name != "other_format" for name in MODULES}
    (folder / "__init__.py").write_text(
        "from types import SimpleNamespace\n"
        f"DESCRIPTIONS = {{name: SimpleNamespace(has_urdf=urdf) for name, urdf in {names}.items()}}\n"
    )
    for name, text in MODULES.items():
        (folder / f"{name}_description.py").write_text(text)
    monkeypatch.delitem(sys.modules, "robot_descriptions")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("ROBOT_DESCRIPTIONS_CACHE", str(tmp_path / "cache"))
    yield tmp_path / "cache"
    for name in [name for name in sys.modules if name.startswith("robot_descriptions.")]:
        del sys.modules[name]


def test_listing_fetches_nothing(described):
    assert "walker_description" in list_descriptions()
    assert "other_format_description" not in list_descriptions()
    assert "walker_description" not in list_robots()
    with pytest.raises(UnknownNameError, match='did you mean "walker_description"'):
        find_robot("walker_descripton")
    assert not described.exists()


@pytest.mark.parametrize("name", ["walker_description", "Walker-Description", "walker"])
def test_a_description_is_fetched_silently(described, capfd, name):
    assert find_robot(name) == described / "walker" / "walker.urdf"
    assert capfd.readouterr() == ("", "")


def test_other_robots_come_before_descriptions(described, monkeypatch):
    assert find_robot("pendulum") == own_robots()["pendulum"]
    assert find_robot("pendulum_description") == described / "walker" / "walker.urdf"
    monkeypatch.setattr(robots, "_example_folder", lambda: None)
    with pytest.raises(MissingExtraError, match=r"vitree\[robots\]"):  # this name means one robot, not two
        find_robot("talos")


@pytest.mark.parametrize(
    "name, text",
    [
        ("gone", "Could not resolve host: github.com"),
        ("gitless", "Bad git executable"),
        ("odd", "KeyError"),
        ("broken", "invalid syntax"),
    ],
)
def test_a_description_that_cannot_be_fetched_is_told(described, capfd, name, text):
    remedy = rf"python -m robot_descriptions pull {name}_description.*ROBOT_DESCRIPTIONS_CACHE"
    for _ in range(2):
        with pytest.raises(UrdfError, match=rf"{name}_description.* cannot be fetched: .*{text}.*{remedy}"):
            find_robot(name)
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("name", ["empty", "removed"])
def test_a_description_without_its_file_is_told(described, name):
    with pytest.raises(UrdfError, match="has no URDF file"):
        find_robot(name)


def test_a_description_in_xacro_is_expanded_with_its_arguments(described):
    pytest.importorskip("xacrodoc")
    path = find_robot("programmed")
    root = ElementTree.parse(path).getroot()
    assert [link.get("name") for link in root.findall("link")] == ["l_a"]
    found = resolve(root.find(".//mesh").get("filename"), path)
    assert found == (str(described / "programmed" / "x.stl"), None)
    assert find_robot("programmed") == path
    assert len(list(path.parent.iterdir())) == 2


def test_a_description_in_xacro_without_xacrodoc_names_the_extra(described, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(MissingExtraError, match=r"vitree\[xacro\]"):
        find_robot("programmed")


def test_without_robot_descriptions_its_extra_is_named():
    assert list_descriptions() == []
    with pytest.raises(MissingExtraError, match=r"vitree\[descriptions\]"):
        find_robot("cassie_description")


def test_the_package_as_it_is(monkeypatch):
    """Names can be listed without importing what fetches."""
    monkeypatch.delitem(sys.modules, "robot_descriptions")
    pytest.importorskip("robot_descriptions")
    before = {name for name in sys.modules if name.startswith("robot_descriptions.")}
    assert {"cassie_description", "panda_description", "ur5e_description"} <= set(list_descriptions())
    after = {name for name in sys.modules if name.startswith("robot_descriptions.")}
    assert not {name for name in after - before if name.endswith("_description")}
