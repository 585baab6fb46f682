"""Xacro files: expanded as ROS does it, silently, with errors that say where, and nothing left behind."""

from __future__ import annotations

import subprocess
import sys
import threading
from xml.dom import minidom
from xml.etree import ElementTree

import pytest

import vitree as vt
from vitree.errors import InputError, MissingExtraError, UnknownNameError, UrdfError
from vitree.urdf.xacro import expand_xacro, is_xacro

xacro = pytest.importorskip("xacro")
finder = pytest.importorskip("xacrodoc.packages")

INERTIAL = "<inertial><mass value='{m}'/><inertia ixx='1' ixy='0' ixz='0' iyy='1' iyz='0' izz='1'/></inertial>"
LINK = f"""<xacro:macro name="bar" params="name m:=1">
  <link name="${{name}}">{INERTIAL.format(m="${m}")}</link>
</xacro:macro>"""


def robot(*parts: str) -> str:
    return f"<robot name='r' xmlns:xacro='http://www.ros.org/wiki/xacro'>\n{''.join(parts)}</robot>"


def write(path, *parts: str):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(robot(*parts), encoding="utf-8")
    return path


@pytest.fixture(autouse=True)
def silent_and_without_a_trace(capfd):
    def state():
        places = [(xacro, name) for name in ("filestack", "macrostack", "all_includes", "substitution_args_context")]
        places += [(xacro, "sys"), (xacro.color, "sys"), (finder, "_finder"), (minidom.Element, "writexml")]
        return [getattr(*place) for place in places], "open" in vars(xacro)

    before = state()
    yield
    assert state() == before
    assert capfd.readouterr() == ("", "")


def links(text: str) -> dict[str, float]:
    nodes = ElementTree.fromstring(text).findall("link")
    return {node.get("name"): float(node.find("inertial/mass").get("value")) for node in nodes}


def test_macros_includes_and_arguments(tmp_path):
    write(tmp_path / "parts" / "more.xacro", LINK, "<xacro:include filename='deep/er.xacro'/>")
    write(tmp_path / "parts" / "deep" / "er.xacro", "<xacro:property name='two' value='${1 + 1}'/>")
    path = write(
        tmp_path / "r.urdf.xacro",
        "<xacro:arg name='prefix' default='l_'/><xacro:arg name='heavy' default='false'/>",
        "<xacro:include filename='parts/more.xacro'/>",
        "<xacro:bar name='$(arg prefix)a'/>",
        "<xacro:if value='$(arg heavy)'><xacro:bar name='b' m='${two * pi}'/></xacro:if>",
        "<joint name='$(arg prefix)j' type='revolute'><parent link='$(arg prefix)a'/><child link='b'/></joint>",
    )
    assert links(expand_xacro(path)) == {"l_a": 1.0}
    text = expand_xacro(path, arguments={"prefix": "\u00e4_", "heavy": True})
    assert links(text) == {"\u00e4_a": 1.0, "b": pytest.approx(6.283185307)}
    assert vt.load_urdf(text).nv == 1
    assert not is_xacro(text) and is_xacro(path) and is_xacro(path.read_text())


def test_one_expansion_as_in_ros(tmp_path):
    text = expand_xacro(write(tmp_path / "r.xacro", "<link name='$${x}'/><link name='$$(x)'/>"))
    assert [node.get("name") for node in ElementTree.fromstring(text)] == ["${x}", "$(x)"]


def test_every_element_has_its_line(tmp_path):
    text = expand_xacro(write(tmp_path / "r.xacro", LINK, "<xacro:bar name='a'/><xacro:bar name='b'/>"))
    assert sum("<link" in line for line in text.splitlines()) == 2


def test_packages_are_those_of_meshes(tmp_path):
    mesh = "<visual><geometry><mesh filename='package://parts/x.stl'/></geometry></visual>"
    part = write(tmp_path / "share" / "parts" / "x.xacro", f"<link name='a'>{mesh}</link>")
    path = write(tmp_path / "robot" / "urdf" / "r.xacro", "<xacro:include filename='$(find parts)/x.xacro'/>")
    with pytest.raises(UrdfError, match=r'r\.xacro: xacro: no package "parts" is found; name its folder by packages='):
        expand_xacro(path)
    for packages in ({"parts": part.parent}, [tmp_path / "share"], part.parent):
        assert 'filename="package://parts/x.stl"' in expand_xacro(path, packages=packages)
    (part.parent / "package.xml").write_text("<package><name>parts</name></package>")
    part.parent.rename(tmp_path / "parts")
    assert "package://parts/x.stl" in expand_xacro(path)


@pytest.mark.parametrize(
    "parts, text",
    [
        ("<xacro:nothing/>", "unknown macro name: xacro:nothing"),
        ("<xacro:include filename='no.xacro'/>", "No such file or directory: .*no.xacro"),
        ("<xacro:include filename='broken.xacro'/>", r"it is not XML: .* \(in broken.xacro\)"),
        ("<xacro:include filename='r.xacro'/>", "has itself inside, without end"),
        ("<link name='$(arg side)'/>", 'its argument "side" has no value and no default'),
        ("<link name='${side}'/>", "name 'side' is not defined when evaluating expression 'side'"),
        ("<link name='${1 / 0}'/>", "division by zero when evaluating expression '1 / 0'"),
        ("<link name='${open(\"/etc/passwd\")}'/>", "name 'open' is not defined"),
        ("<link name='${().__class__}'/>", "__class__"),
        ("<link name='${1 +}'/>", "invalid syntax"),
        ("<link name='$(env NO_SUCH_VARIABLE)'/>", "environment variable 'NO_SUCH_VARIABLE' is not set"),
        ("<link name='$(nothing x)'/>", "Unknown substitution command"),
        ("<link name='$(eval 1 +)'/>", "invalid syntax"),
        ("<xacro:if value='maybe'/>", "not a boolean"),
        ("<xacro:macro/>", "missing attribute 'name'"),
        (LINK + "<xacro:bar/>", r'Undefined parameters \[name\] \(in macro "bar"\)'),
        (LINK + "<xacro:bar name='a' x='1'/>", 'Invalid parameter "x"'),
        ("<xacro:macro name='m'><xacro:m/></xacro:macro><xacro:m/>", r"without end \(in macro \"m\"\)"),
        ("<xacro:property name='a' value='${b}'/><xacro:property name='b' value='${a}'/><x a='${a}'/>", "circular"),
        ("<link name='${load_yaml(\"no.yaml\")}'/>", "No such file or directory: .*no.yaml"),
        ("<link>", "it is not XML"),
    ],
)
def test_what_cannot_be_expanded_is_told(tmp_path, parts, text):
    (tmp_path / "broken.xacro").write_text("<robot>")
    with pytest.raises(UrdfError, match=rf"^r\.xacro: xacro: .*{text}"):
        expand_xacro(write(tmp_path / "r.xacro", parts))


@pytest.mark.parametrize("name", ["absent.xacro", ".", "a\0.xacro", "x" * 300 + ".xacro"])
def test_a_file_that_cannot_be_read_is_told(tmp_path, name):
    with pytest.raises(UrdfError, match="there is no such file"):
        expand_xacro(tmp_path / name)


def test_an_argument_that_the_file_has_not(tmp_path):
    path = write(tmp_path / "r.xacro", "<xacro:arg name='prefix' default=''/><link name='$(arg prefix)a'/>")
    with pytest.raises(UnknownNameError, match='"prefx"; did you mean "prefix"'):
        expand_xacro(path, arguments={"prefx": "l_"})


def test_warnings_are_notes(tmp_path):
    path = write(tmp_path / "r.xacro", "<xacro:property name='pi' value='3'/><xacro:include filename='no*.xacro'/>")
    notes: list[str] = []
    expand_xacro(path, notes=notes)
    assert notes[0] == "redefining global symbol: pi"
    assert len(notes) == 2 and "matched no files" in notes[1]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "iso-8859-1"])
def test_encodings(tmp_path, encoding):
    for name, body in (("r.xacro", "<xacro:include filename='part.xacro'/>"), ("part.xacro", "<link name='\u00e4'/>")):
        head = "" if encoding.startswith("utf-8") else f"<?xml version='1.0' encoding='{encoding}'?>"
        (tmp_path / name).write_bytes((head + robot(body)).encode(encoding))
    assert "\u00e4" in expand_xacro(tmp_path / "r.xacro")


def test_threads_do_not_meet(tmp_path):
    made = {}

    def expand(k):
        path = tmp_path / f"{k}" / "r.xacro"
        write(path, LINK, "<xacro:arg name='n' default=''/>", "<xacro:bar name='$(arg n)'/>" * 5)
        made[k] = links(expand_xacro(path, arguments={"n": f"link{k}"}))

    threads = [threading.Thread(target=expand, args=(k,)) for k in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert made == {k: {f"link{k}": 1.0} for k in range(8)}


def test_importing_it_changes_nothing(tmp_path):
    path = write(tmp_path / "r.xacro", "<link name='${1 + 1}'/>")
    code = (
        "from xml.dom import minidom; before = minidom.Element.writexml;"
        f"from vitree.urdf.xacro import expand_xacro; assert 'name=\"2\"' in expand_xacro({str(path)!r});"
        "assert minidom.Element.writexml is before"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_without_the_package_the_extra_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "xacrodoc", None)
    with pytest.raises(MissingExtraError, match=r"vitree\[xacro\]"):
        expand_xacro(write(tmp_path / "r.xacro"))


def test_what_is_xacro():
    old = "<!-- <xacro:include/> --><robot xmlns:xacro='http://www.ros.org/wiki/xacro'/>"
    assert not is_xacro(old) and not is_xacro(old.encode()) and not is_xacro("r.urdf")
    assert is_xacro("R.XACRO") and is_xacro("  <robot><xacro:x/></robot>")


def test_the_reader_expands_what_is_named_so(tmp_path):
    """Arguments and warnings reach it; a file is never expanded for what is in it."""
    joint = "<joint name='j' type='continuous'><parent link='base'/><child link='$(arg tip)'/></joint>"
    bars = "<xacro:bar name='base'/><xacro:bar name='$(arg tip)'/>"
    parts = "<xacro:arg name='tip' default='top'/>", LINK, bars, joint
    path = write(tmp_path / "r.urdf.xacro", *parts)
    model = vt.load_urdf(path)
    assert model.link_names == ("base", "top")
    assert vt.load_urdf(path, xacro={"tip": "end"}).link_names == ("base", "end")
    with pytest.raises(UnknownNameError, match="nothing"):
        vt.load_urdf(path, xacro={"nothing": 1})
    plain = write(tmp_path / "r.urdf", *parts)
    with pytest.raises(UrdfError, match="is xacro, not URDF"):
        vt.load_urdf(plain)
    assert vt.load_urdf(plain, xacro={}) == model
    with pytest.raises(InputError, match="give its path"):
        vt.load_urdf(robot(*parts), xacro={})
