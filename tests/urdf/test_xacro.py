"""Xacro files: expanded as ROS does it, silently, with errors that say where, and nothing left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from xml.dom import minidom
from xml.etree import ElementTree

import pytest

import vitree as vt
import vitree.urdf.xacro as xacro_side
from vitree.errors import InputError, MissingExtraError, UnknownNameError, UrdfError
from vitree.urdf.expressions import BUILTINS, MATH, METHODS, Function, Refused, evaluate
from vitree.urdf.robots import suggest_base
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


def test_a_fault_is_in_the_innermost_file(tmp_path):
    (tmp_path / "broken.xacro").write_text("<robot")
    write(tmp_path / "middle.xacro", "<xacro:include filename='broken.xacro'/>")
    path = write(tmp_path / "r.xacro", "<xacro:include filename='middle.xacro'/>")
    with pytest.raises(UrdfError, match=r"it is not XML: .* \(in broken.xacro\)"):
        expand_xacro(path)


def test_a_name_that_no_file_can_have_is_refused(tmp_path):
    path = write(tmp_path / "r.xacro", "<xacro:include filename='${&quot;a\\0b&quot;}.xacro'/>")
    with pytest.raises(UrdfError, match=r"the name '.*a\\x00b\.xacro'; only a trusted file"):
        expand_xacro(path)


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
        ("<link name='$(env NO_SUCH_VARIABLE)'/>", "environment variable NO_SUCH_VARIABLE; only a trusted file"),
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


@pytest.mark.parametrize("name", ["parts.xacro", "parts.urdf"])
def test_a_file_of_macros_alone_names_them(tmp_path, name):
    path = write(tmp_path / name, LINK, LINK.replace('"bar"', '"rod"'))
    with pytest.raises(UrdfError, match='no <link>: the file defines the xacro macros "bar", "rod", and calls none'):
        vt.load_urdf(path)


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


def test_the_reader_expands_files_with_xacro(tmp_path):
    """Arguments and warnings reach it; so is a .urdf that has xacro in it, which is told."""
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
    assert vt.load_urdf(plain) == vt.load_urdf(plain, xacro={}) == model
    assert [found.id for found in vt.load_urdf(plain).report][-1] == "xacro-expanded"
    assert suggest_base(plain) == suggest_base(path) == "fixed"
    with pytest.raises(UrdfError, match="is xacro, not URDF; give the path of its file"):
        vt.load_urdf(plain.read_text())
    wrong = write(tmp_path / "wrong.urdf", LINK, "<xacro:nothing/>")
    with pytest.raises(UrdfError, match=r"wrong.urdf:.*the xacro in it cannot be expanded: unknown macro"):
        vt.load_urdf(wrong)
    with pytest.raises(UrdfError, match=r"wrong.urdf:\d: the xacro in it"):
        vt.fix_urdf(wrong)
    with pytest.raises(InputError, match="give its path"):
        vt.load_urdf(robot(*parts), xacro={})


# ---- strangers' files ---------------------------------------------------------------------------

#: A generator whose frames lead to the modules of the program that evaluates it.
ESCAPE = (
    '[list(a) for q in [[]] for _ in [q.append((q[0].gi_frame.f_back.f_back.f_back.f_globals["os"].mkdir("{}") '
    "for _ in [1]))] for a in q]"
)


@pytest.mark.skipif(sys.version_info >= (3, 12), reason="its frames are those of Python 3.11")
def test_no_code_of_a_stranger_runs(tmp_path):
    """It ran in 0.1.0, from `vitree check`, too; it runs in a trusted file."""
    taken = tmp_path / "taken"
    path = write(tmp_path / "r.xacro", f"<link name='${{{ESCAPE.format(taken)}}}'/>")
    for read in (expand_xacro, vt.load_urdf, vt.check_urdf):
        with pytest.raises(UrdfError, match=r"ListComp.*; only a trusted file may have this.*trust=True"):
            read(path)
    assert suggest_base(path) == "fixed" and not taken.exists()
    expand_xacro(path, trust=True)
    assert taken.exists()
    write(path, "<link name='$(eval [x for x in [1]][0])'/>")
    with pytest.raises(UrdfError, match=r"ListComp.*; only a trusted file may have this"):
        expand_xacro(path)
    assert 'name="1"' in expand_xacro(path, trust=True)
    assert 'name="2.0"' in expand_xacro(write(path, "<link name='$(eval 1 + pi / pi)'/>"))


@pytest.mark.parametrize("text", [
    "().__class__", "str.mro", "''.format(1)", "'{0.x}'.format(pi)", "python.type(1)", "python.vars()", "(lambda: 1)()",
    "[x for x in [1]]", "list(x for x in [1])", "{**{}}", "max(*[1, 2])", "sin.x", "[sin]", "sin", "(x := 1)",
    "math.sin", "1 << 9", "9**9**9", "2**4097", "(2**4000)**2", "'a' * 10**6", "10**6 * [1]", "'%1000000d' % 1",
    "'%*d' % (9, 1)", "range(10**9)", "round(1, -10**9)", "'a'.replace('', 'b' * 99999)", "('b' * 999).join('a' * 999)",
    "1j", "b'a'",
    "(-1)**0.5", "x._resolve_", "x.parent", "list(map(sin, [1]))", "math.factorial(99999)", "await x", "f'{1}'", "...",
    "1" + " + 1" * 60_000,
])  # fmt: skip
def test_what_expressions_may_not_have(text):
    class Space(dict):
        def _resolve_(self):
            raise AssertionError

    names = {**BUILTINS, **MATH, "math": Space(MATH), "python": Space(BUILTINS), "x": Space()}
    with pytest.raises((Refused, NameError, KeyError, SyntaxError, RecursionError)):
        evaluate(text, names)


@pytest.mark.parametrize("text", [
    "1 + 2 * 3 - 4 / 5 // 6 % 7", "-(2**0.5)", "not 1 or 2 and 3", "1 < 2 <= 2 != 3", "1 if 2 > 3 else 'b'",
    "'a' + 'b' * 3", "'%.3f and %s' % (pi, [1])", "[1, (2, 3)][1][0]", "'abc'[::-1]", "{'a': [1]}['a']", "'a' in 'abc'",
    "sorted([3, 1, 2])", "' a,b '.strip().split(',')", "'a'.upper().replace('A', 'b')", "{'a': 1}.get('b', 2)",
    "radians(90) + cos(pi) + atan2(1, 2)", "max(1, 2.5, 3)", "round(2.567, 2)", "len('abc') == 3",
    "int('7') + float('1')", "dict(a=1, b=[2])", "sum([1, 2]) is not None", "'-'.join(['a', 'b'])", "1e400", "0x10",
    "list(zip([1], [2]))",
])  # fmt: skip
def test_expressions_are_those_of_python(text):
    names = {**BUILTINS, **MATH}
    plain = {name: value.call if isinstance(value, Function) else value for name, value in names.items()}
    assert evaluate(text, names) == eval(text, plain)


def test_methods_return_plain_values():
    """None gives access to what is not plain: a format, an encoding, a translation."""
    assert not {"format", "format_map", "encode", "translate", "zfill", "ljust"} & set(METHODS[str])
    assert evaluate("{'a': 1}.items()", {}) == [("a", 1)]


def test_files_of_a_stranger_are_those_of_meshes(tmp_path):
    """Includes and tables stay in the robot's folders, links followed; a trusted file may read any."""
    write(tmp_path / "secret.xacro", "<link name='secret'/>")
    (tmp_path / "secret.yaml").write_text("a: 1")
    (tmp_path / "home" / "bot").mkdir(parents=True)
    (tmp_path / "home" / "package.xml").write_text("<package><name>bot</name></package>")
    (tmp_path / "home" / "link.xacro").symlink_to(tmp_path / "secret.xacro")
    (tmp_path / "home" / "bot" / "own.yaml").write_text("a: {b: [1, 2]}")
    (tmp_path / "home" / "x").mkdir()
    (tmp_path / "home" / "x" / "y.xacro").write_text(robot())
    (tmp_path / "home" / "x%2fy.xacro").symlink_to(tmp_path / "secret.xacro")
    for part in (
        "<xacro:include filename='../../secret.xacro'/>", f"<xacro:include filename='{tmp_path}/secret.xacro'/>",
        "<xacro:include filename='../link.xacro'/>",
        "<link name='${xacro.load_yaml(\"../../secret.yaml\").a}'/>",
    ):  # fmt: skip
        path = write(tmp_path / "home" / "bot" / "r.xacro", part)
        with pytest.raises(UrdfError, match=r"the file .*escapes the robot's package.*; only a trusted file"):
            expand_xacro(path)
        assert "<link" in expand_xacro(path, trust=True)
    assert "<link" in expand_xacro(path, packages=[tmp_path])
    own = "<xacro:property name='t' value='${xacro.load_yaml(\"own.yaml\")}'/><link name='${t.a[\"b\"][1]}'/>"
    assert 'name="2"' in expand_xacro(write(path, own))
    assert "secret" not in expand_xacro(write(path, "<xacro:include filename='../x%2fy.xacro'/>"))
    write(path, "<xacro:include filename='../../s*.xacro'/>")
    assert "secret" not in expand_xacro(path) and "secret" in expand_xacro(path, trust=True)
    with pytest.raises(UrdfError, match="has folders in it"):
        expand_xacro(write(path, "<xacro:include filename='/*/*/*'/>"))
    (path.parent / "folder.xacro").mkdir()
    os.mkfifo(path.parent / "pipe.xacro")
    for name in ("folder", "pipe"):
        with pytest.raises(UrdfError, match="is no file"):
            expand_xacro(write(path, f"<xacro:include filename='{name}.xacro'/>"))


def test_a_variable_with_a_default_has_that(tmp_path, monkeypatch):
    """Unless the file is trusted the environment is not read, which is told."""
    monkeypatch.setenv("A_SECRET", "hidden")
    way, notes = "$(optenv A_SECRET no one) $(optenv A_SECRET) $(optenv B_SECRET 2)", []
    path = write(tmp_path / "r.xacro", f"<link name='{way}'/>")
    assert "no one  2" in expand_xacro(path, notes=notes)
    assert len(notes) == 3 and "the environment is not read" in notes[0] and "hidden" not in "".join(notes)
    assert "hidden hidden 2" in expand_xacro(path, trust=True)


@pytest.mark.parametrize("way", ["$(env A_SECRET)", '$(eval env("A_SECRET"))'])
def test_the_environment_of_a_trusted_file_only(tmp_path, way, monkeypatch):
    monkeypatch.setenv("A_SECRET", "hidden")
    path = write(tmp_path / "r.xacro", f"<link name='{way}'/>")
    with pytest.raises(UrdfError) as told:
        expand_xacro(path)
    assert "hidden" not in str(told.value)
    if "eval" not in way:
        assert "hidden" in expand_xacro(path, trust=True)


def doubled(times: int, of: str) -> str:
    """A property p0, and others that have the one before twice."""
    values = ["a", *(of.replace("P", f"p{k}") for k in range(times))]
    return "".join(f"<xacro:property name='p{k}' value='{value}'/>" for k, value in enumerate(values))


@pytest.mark.parametrize("parts, text", [
    (doubled(40, "${P}${P}") + "<link name='${p40}'/>", "more than 100000 characters"),
    (doubled(40, "${[P, P]}") + "<link name='${p40}'/>", "more than 100000 entries"),
    ("<!DOCTYPE robot [<!ENTITY a 'b'>]>", "a <!DOCTYPE>"),
    ("<link name='$(cwd)'/>", r"\$\(cwd\)"),
])  # fmt: skip
def test_values_that_grow_are_refused(tmp_path, parts, text):
    path = write(tmp_path / "r.xacro", parts)
    if "DOCTYPE" in parts:
        path.write_text(parts + robot())
    with pytest.raises(UrdfError, match=text):
        expand_xacro(path)


def test_time_and_memory_have_limits(tmp_path, monkeypatch):
    """A macro that doubles itself ends, and so does the process."""
    doubling = "".join(
        f"<xacro:macro name='m{k + 1}'><xacro:m{k}/><xacro:m{k}/></xacro:macro>" for k in range(40)
    )
    one = "<xacro:macro name='m0'><link name='a'/></xacro:macro>"
    path = write(tmp_path / "r.xacro", one, doubling, "<xacro:m40/>")
    monkeypatch.setattr(xacro_side, "SECONDS", 1.5)
    with pytest.raises(UrdfError, match=r"more than 1\.5 s; only a trusted file"):
        expand_xacro(path)
    pytest.importorskip("resource")
    write(path, "<xacro:macro name='m0'><link name='${90000 * \"a\"}'/></xacro:macro>", doubling, "<xacro:m40/>")
    monkeypatch.setattr(xacro_side, "SECONDS", 60)
    monkeypatch.setattr(xacro_side, "MEMORY", 100 * 2**20)
    with pytest.raises(UrdfError, match=r"more than 100 MB.*trust=True lifts the limits"):
        expand_xacro(path)
    monkeypatch.setattr(xacro_side, "FILES", 2)
    monkeypatch.setattr(xacro_side, "MEMORY", 2**30)
    write(tmp_path / "s.xacro")
    with pytest.raises(UrdfError, match="more than 2 files"):
        expand_xacro(write(path, *["<xacro:include filename='s.xacro'/>"] * 3))


def test_the_process_has_given_up_files_and_programs(tmp_path):
    """Were an expression to escape: no file, no socket. The limits are those of POSIX."""
    pytest.importorskip("resource")
    program = os.path.join(os.path.dirname(xacro_side.__file__), "expander.py")
    code = (
        f"import json, runpy, socket; side = runpy.run_path({program!r}, run_name='side')\n"
        "side['give_up'](5, 2**30)\n"
        "told = []\n"
        "for try_ in (lambda: open('/etc/hostname'), lambda: open('new', 'w'), socket.socket):\n"
        "    try: try_()\n"
        "    except OSError as error: told.append(error.errno)\n"
        "print(json.dumps(told))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert len(json.loads(done.stdout)) == 3


def test_a_process_that_cannot_start_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(tmp_path / "none"))
    with pytest.raises(UrdfError, match="no process can be started for it"):
        expand_xacro(write(tmp_path / "r.xacro"))


def test_a_program_that_is_not_python_starts_none(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "frozen", True, raising=False)
    with pytest.raises(UrdfError, match="this program is not Python's own"):
        expand_xacro(write(tmp_path / "r.xacro"))


NONSENSE = ["", "[]", "3", '{"run": "x"}', '{"read": 3, "x": 4}', '{"read": "\\u0000"}', "x", "[" * 9999]


@pytest.mark.parametrize("line", NONSENSE, ids=range(len(NONSENSE)))
def test_a_process_that_answers_nonsense_is_told(tmp_path, monkeypatch, line):
    program = tmp_path / "expander.py"
    program.write_text(f"import sys\nsys.stdin.readline()\nprint({line!r}, flush=True)\nsys.stdin.readline()\n")
    monkeypatch.setattr(xacro_side, "__file__", str(tmp_path / "xacro.py"))
    with pytest.raises(UrdfError, match="or its process died"):
        expand_xacro(write(tmp_path / "r.xacro"))
