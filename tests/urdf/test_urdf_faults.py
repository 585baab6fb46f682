"""Robot files with faults, one each: what is found in them, and that no file takes the reader down."""

from __future__ import annotations

import concurrent.futures
import io
import pickle
import time
from dataclasses import replace

import numpy as np
import pytest
from places import TESTS
from urdf_faults.expected import EXPECTED

import vitree as vt
from vitree.errors import InputError, UnknownNameError, UrdfError
from vitree.findings import SEVERITIES, Report
from vitree.urdf import check_urdf, load_urdf, read_urdf
from vitree.urdf.joints import parse_joint
from vitree.urdf.rules import RULES
from vitree.urdf.schema import MOMENTS
from vitree.urdf.xml import Source

FOLDER = TESTS / "urdf_faults"

PLAIN = (FOLDER / "accepted_plain.urdf").read_text()
#: Rules that no small file breaks: they are tested by name below.
ELSEWHERE = {"parser", "model", "more-findings"}


def said(report) -> list[str]:
    return [f"{f.line or '-'} {f.severity} {f.id}" for f in report if f.severity != "note"]


# ---- the files ------------------------------------------------------------------------------------


def test_each_file_is_expected_and_each_rule_has_one():
    assert {path.stem for path in FOLDER.glob("*.urdf")} == set(EXPECTED)
    found = {f.id for name, (options, _) in EXPECTED.items() for f in check_urdf(FOLDER / f"{name}.urdf", **options)}
    assert found == set(RULES) - ELSEWHERE
    assert {rule.severity for rule in RULES.values()} == set(SEVERITIES)


@pytest.mark.parametrize("name", EXPECTED)
def test_what_is_found(name, capfd):
    options, expected = EXPECTED[name]
    path = FOLDER / f"{name}.urdf"
    report = check_urdf(path, **options)
    assert said(report) == expected
    assert not (name.startswith("accepted_") and expected)
    for finding in report:
        assert finding.file == path.name and finding.id in RULES
        assert len(str(finding).splitlines()) == 1 and finding.text == finding.text.strip(" ;")
    if report.of("error"):
        with pytest.raises(UrdfError) as caught:
            load_urdf(path, **options)
        assert caught.value.findings == report
        first, *others = report.of("error")
        place = path.name if first.line is None else f"{path.name}:{first.line}"
        assert str(caught.value).startswith(f"{place}: {first.text}")
        assert (f"(and {len(others)} more error" in str(caught.value)) == bool(others)
    else:
        model = load_urdf(path, **options)
        assert model.report == model.flat.report == report
        for value in vars(model.flat).values():
            assert not isinstance(value, np.ndarray) or np.isfinite(value).all()
    assert capfd.readouterr() == ("", "")


def test_encodings_keep_names():
    for name, link in {"utf8_bom": "\u00fcber", "latin1": "\u00fcber", "cp1251": "\u043f\u043b\u0435\u0447\u043e",
                       "shift_jis": "\u8155", "entities_of_xml": 'upper&<arm>A"'}.items():  # fmt: skip
        assert load_urdf(FOLDER / f"accepted_{name}.urdf").link_names == ("base", link)
    for name in ("crlf", "utf16_le", "utf16_be", "utf16_without_mark", "utf32", "declaration_after_blank_lines",
                 "comments_and_namespaces"):  # fmt: skip
        assert load_urdf(FOLDER / f"accepted_{name}.urdf") == load_urdf(PLAIN)


# ---- hostile files, made here ---------------------------------------------------------------------


def chain(count: int) -> str:
    inertial = PLAIN[PLAIN.index("    <inertial>") : PLAIN.index("  </link>")]
    links = (f"<link name='l{k}'>{inertial}</link>\n" for k in range(count))
    joints = (
        f"<joint name='j{k}' type='revolute'><origin xyz='0 0 1'/><parent link='l{k}'/><child link='l{k + 1}'/>"
        f"<axis xyz='0 1 0'/><limit lower='-1' upper='1' effort='1' velocity='1'/></joint>\n"
        for k in range(count - 1)
    )
    return "<robot name='chain'>\n" + "".join((*links, *joints)) + "</robot>"


def end_of(text: str, more: str) -> str:
    return text.replace("</robot>", more + "</robot>")


def with_entities(count: int, size: int) -> str:
    return f"<!DOCTYPE r [<!ENTITY a '{'x' * size}'>]><robot name='{'&a;' * count}'/>"


HOSTILE = {
    "nested": (lambda: end_of(PLAIN, "<a>" * 200_000 + "</a>" * 200_000), "xml-depth"),
    "nested in a link": (lambda: PLAIN.replace("<inertial>", "<a>" * 200_000), "xml-depth"),
    "nested and not closed": (lambda: "<a>" * 200_000, "xml-depth"),
    "quadratic blow-up": (lambda: with_entities(50_000, 50_000), "xml-doctype"),
    "20 MB": (lambda: end_of(PLAIN, " " * 20 * 2**20), "xml-size"),
    "many faults": (lambda: end_of(PLAIN, "<link/>" * 200_000), "name-missing"),
    "unknown links": (lambda: chain(3000).replace("link='l", "link='m"), "link-unknown"),
    "joints in a circle": (lambda: chain(3000).replace("link='l0'", "link='l2999'"), "cycle"),
    "long values": (lambda: PLAIN.replace('value="1"', f'value="{"9," * 10**6}"'), "number"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_at_once(name):
    make, rule = HOSTILE[name]
    text = make()
    start = time.process_time()
    with pytest.raises(UrdfError) as caught:
        load_urdf(text)
    assert time.process_time() - start < 5
    assert caught.value.findings.of("error")[0].id == rule
    assert len(str(caught.value)) < 2000 and len(caught.value.findings) < 2000


def test_deep_and_large_files_are_read_where_that_is_asked_for():
    deep = end_of(PLAIN, "<a>" * 200_000 + "</a>" * 200_000)
    assert said(load_urdf(deep, trust=True).report) == ["17 warning unknown-element"]
    large = end_of(PLAIN, " " * 17 * 2**20)
    assert load_urdf(large, max_bytes=2**25).nv == 1
    with pytest.raises(UrdfError, match="raise max_bytes"):
        load_urdf(large)
    for option in ("max_bytes", "density"):
        with pytest.raises(InputError, match=option):
            load_urdf(PLAIN, **{option: 0})


def test_many_warnings_are_counted():
    text = PLAIN.replace("    <inertial>", "<odd/>" * 5000 + "    <inertial>", 1)
    report = load_urdf(text).report
    assert len(report.of("warning")) < 5000 and report[-1].id == "more-findings"
    assert f"{5000 - len(report.of('warning'))} more findings" in report[-1].text


@pytest.mark.parametrize("base", ["fixed", "free"])
def test_a_long_chain_loads(base):
    text = chain(3000)
    start = time.process_time()
    model = load_urdf(text, base)
    assert time.process_time() - start < 10  # 1.5 s
    assert model.nv == 2999 + 6 * (base == "free") and not said(model.report)


def test_nothing_outside_the_file_is_opened(tmp_path):
    """An external entity that can be read is not."""
    secret = tmp_path / "secret.txt"
    secret.write_text("word")
    text = f'<!DOCTYPE robot [<!ENTITY file SYSTEM "{secret.as_uri()}">]>' + PLAIN.replace('"arm"', '"&file;"')
    report = check_urdf(text)
    assert said(report) == ["1 error xml-doctype"] and "word" not in str(report)


def test_numbers_without_a_result(monkeypatch):
    """Arrays that are not finite, and algebra that fails, are said to be so."""
    from vitree.tree.tree import Tree

    flatten = Tree.flatten
    monkeypatch.setattr(Tree, "flatten", lambda tree: replace(flatten(tree), mass=np.array([np.nan])))
    assert said(check_urdf(PLAIN)) == ["- error model"]

    def fail(tree):
        raise np.linalg.LinAlgError("does not converge")

    monkeypatch.setattr(Tree, "flatten", fail)
    assert said(check_urdf(PLAIN)) == ["- error model"]


def test_the_parser_is_heard(monkeypatch):
    from urdf_parser_py import urdf
    from urdf_parser_py.xml_reflection import core

    def complain(*_):
        core.on_error("odd")
        raise ValueError("worse")

    monkeypatch.setattr(urdf.Joint, "from_xml", complain)
    report = check_urdf(PLAIN)
    assert [f.text for f in report.of("error")] == [
        f"urdf_parser_py: {word}; {RULES['parser'].remedy}" for word in ("odd", "worse")
    ]


# ---- sources --------------------------------------------------------------------------------------


def test_files_texts_bytes_and_streams_are_the_same(tmp_path):
    path = tmp_path / "arm.urdf"
    path.write_text(PLAIN)
    expected = load_urdf(path)
    with open(path) as text, open(path, "rb") as data:
        sources = [str(path), PLAIN, "\ufeff\n\n " + PLAIN, PLAIN.encode(), bytearray(PLAIN.encode()), text, data,
                   io.StringIO(PLAIN), io.BytesIO(PLAIN.encode())]  # fmt: skip
        assert all(load_urdf(source) == expected for source in sources)


def test_a_text_is_text_whatever_it_declares():
    text = PLAIN.replace('"upper"', '"\u0448"')
    for encoding in ("utf-16", "iso-8859-1", "martian-8"):
        assert "\u0448" in load_urdf(f'<?xml version="1.0" encoding="{encoding}"?>' + text).link_names
    assert said(check_urdf(PLAIN.replace("arm", "\ud800")))[0].endswith("error xml-encoding")


def test_lines_of_a_text_count_from_its_start():
    assert said(check_urdf("\n \n" + PLAIN.replace('"0 1 0"', '"0 0 0"'))) == ["16 error axis-zero"]


def test_names_of_streams(tmp_path):
    path = tmp_path / "broken.urdf"
    path.write_text("<robot>")
    with open(path, "rb") as stream, pytest.raises(UrdfError, match=r"^broken\.urdf:1: "):
        load_urdf(stream)
    with pytest.raises(UrdfError, match=r"^<file>:1: "):
        load_urdf(io.StringIO("<robot>"))
    stream = io.StringIO(PLAIN)
    stream.close()
    with pytest.raises(UrdfError, match="closed"):
        load_urdf(stream)
    with pytest.raises(InputError, match="text or bytes"):
        load_urdf(type("Odd", (), {"read": lambda self, size: 3})())


def test_meshes_of_a_stream_are_beside_its_file(tmp_path):
    shape = '<link name="base"><visual><geometry><mesh filename="m.stl"/></geometry></visual></link>'
    path = tmp_path / "arm.urdf"
    path.write_text(PLAIN.replace('<link name="base"/>', shape))
    (tmp_path / "m.stl").touch()
    with open(path) as stream:
        assert load_urdf(stream).geometry[0].filename == str(tmp_path / "m.stl")


def test_the_locale_does_not_matter(monkeypatch):
    import locale

    monkeypatch.setattr(locale, "getpreferredencoding", lambda *_: "ascii")
    monkeypatch.setattr(locale, "getencoding", lambda: "ascii")
    assert said(check_urdf(FOLDER / "accepted_utf8_bom.urdf")) == []


def test_check_urdf_raises_only_for_what_is_not_the_file(tmp_path):
    with pytest.raises(UrdfError, match="no such file"):
        check_urdf(tmp_path / "absent.urdf")
    with pytest.raises(InputError, match="base"):
        check_urdf(PLAIN, "floating")
    with pytest.raises(UnknownNameError, match='did you mean "upper"'):
        check_urdf(PLAIN, root="uper")
    with pytest.raises(InputError, match='"strict", "warn", "repair", "geometry"'):
        check_urdf(PLAIN, inertia="mend")


# ---- reports --------------------------------------------------------------------------------------


def test_a_report_is_no_part_of_the_content():
    warned = load_urdf(PLAIN.replace('"0 1 0"', '"0 1 0" odd="1"'))
    plain = load_urdf(PLAIN)
    assert warned.report != plain.report and warned == plain and warned.digest == plain.digest
    assert pickle.loads(pickle.dumps(warned)).report == warned.report
    assert isinstance(warned.report, Report) and isinstance(read_urdf(PLAIN).report, Report)
    assert vt.Tree().report == Report()


def test_threads_do_not_mix_their_findings():
    names = [name for name in EXPECTED if not name.startswith("encoding")] * 3

    def found(name):
        return said(check_urdf(FOLDER / f"{name}.urdf", **EXPECTED[name][0]))

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(found, names)) == [EXPECTED[name][1] for name in names]


# ---- inertia --------------------------------------------------------------------------------------

BOX = '<collision><origin xyz="0.1 0 0"/><geometry><box size="1 2 3"/></geometry></collision>'


def upper(model):
    """Mass, COM and inertia of the link that moves, whose axis is y: in the axes of its frame."""
    R = model.flat.frame_E[model.flat.frame_names.index("upper")]
    return model.flat.mass[0], R.T @ model.flat.com[0], R.T @ model.flat.inertia[0] @ R


def test_what_is_taken_as_it_is_is_what_the_file_says():
    text = PLAIN.replace('izz="0.02"', 'izz="0.3"').replace('ixy="0"', 'ixy="0.25"')
    mass, com, inertia = upper(load_urdf(text))
    np.testing.assert_allclose(inertia, [[0.1, 0.25, 0], [0.25, 0.1, 0], [0, 0, 0.3]], atol=1e-15)
    assert mass == 1 and np.allclose(com, [0, 0, 0.5], atol=1e-15)


@pytest.mark.parametrize("fault", ['ixx="-0.1"', 'ixx="0.5"', 'ixx="0.1" ixy="0.3"'])
def test_a_repaired_inertia_is_a_bodys(fault):
    text = PLAIN.replace('ixx="0.1" ixy="0"' if "ixy" in fault else 'ixx="0.1"', fault)
    model = load_urdf(text, inertia="repair")
    moments = np.linalg.eigvalsh(upper(model)[2])
    assert 0 <= moments[0] + 1e-12 and moments[2] <= moments[0] + moments[1] + 1e-12
    (finding,) = model.report.of("repair")
    assert " -> " in finding.text and not model.report.of("warning")
    with pytest.raises(UrdfError):
        load_urdf(text, inertia="strict")


def test_inertia_of_shapes():
    """In place of what is missing; a mass that is declared stays."""
    inertial = PLAIN[PLAIN.index("    <inertial>") : PLAIN.index("  </link>")]
    unit = np.diag([4 + 9, 1 + 9, 1 + 4]) / 12
    mass, com, inertia = upper(load_urdf(PLAIN.replace(inertial, BOX), inertia="geometry", density=10.0))
    assert mass == pytest.approx(60) and np.allclose(com, [0.1, 0, 0]) and np.allclose(inertia, 60 * unit)
    negative = " ".join(f"{moment}='-1'" for moment in MOMENTS)
    for fault in ("<mass value='3'/>", f"<mass value='3'/><inertia {negative}/>"):
        text = PLAIN.replace(inertial, f"<inertial>{fault}</inertial>{BOX}")
        mass, com, inertia = upper(load_urdf(text, inertia="geometry"))
        assert mass == pytest.approx(3) and np.allclose(com, [0.1, 0, 0]) and np.allclose(inertia, 3 * unit)
    whole = PLAIN.replace("</inertial>", f"</inertial>{BOX}")
    assert load_urdf(whole, inertia="geometry") == load_urdf(whole)


def test_a_mesh_that_cannot_be_read_is_an_error_where_its_volume_is_asked_for(tmp_path):
    pytest.importorskip("trimesh")
    (tmp_path / "m.stl").write_text("no mesh")
    mesh = BOX.replace('box size="1 2 3"', 'mesh filename="m.stl"')
    path = tmp_path / "arm.urdf"
    path.write_text(PLAIN.replace("<mass", "<!-- <mass").replace('izz="0.02"/>', 'izz="0.02"/> -->')
                    .replace("</inertial>", f"</inertial>{mesh}"))  # fmt: skip
    report = check_urdf(path, inertia="geometry")
    assert "inertia-from-shapes" in {f.id for f in report.of("error")}


def test_joints_are_those_of_the_parser(monkeypatch):
    from urdf_parser_py import urdf

    read = urdf.Joint.from_xml

    def doubled(node, path):
        joint = read(node, path)
        joint.origin.xyz = [2 * x for x in joint.origin.xyz]
        return joint

    text = chain(3)
    before = load_urdf(text).flat.p
    monkeypatch.setattr(urdf.Joint, "from_xml", doubled)
    np.testing.assert_array_equal(load_urdf(text).flat.p, 2 * before)


def test_the_parser_adds_no_defaults():
    """What a file may leave out is said in one place: urdf_parser_py's own defaults of limits and mimics differ."""
    empty = "<limit/><mimic/><dynamics/><parent link='l0'/>"
    file = Source("text", chain(2).replace("<parent link='l0'/>", empty).encode())
    joint = parse_joint(file, file.root.find("joint"))
    limit = joint.limit
    assert (limit.lower, limit.upper, limit.velocity, limit.effort) == (-np.inf, np.inf, np.inf, np.inf)
    assert (joint.mimic.joint, joint.mimic.multiplier, joint.mimic.offset) == ("", 1, 0)
    assert (joint.dynamics.damping, joint.dynamics.friction) == (0, 0)
    assert not file.findings
