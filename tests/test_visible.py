"""Names from files are shown, not obeyed: by errors, the command line, pages and plots."""

from __future__ import annotations

import re

import numpy as np
import pytest
from places import PACKAGE

import vitree as vt
from vitree.cli import main
from vitree.errors import InputError, UnknownNameError
from vitree.wording import has_unseen, visible

#: A terminal's title, a colour by one byte, a line turned round, a line that ends, a mark, a lone half.
SLY = "a\x1b]0;x\x07b\x9b31mc\u202edcba\u2066\u2028e\ufeff\ud800\x7f"
URDF = """<robot name="{0}"><link name="{0}"/><link name="tip{0}"><inertial><mass value="1"/>
  <inertia ixx="1" ixy="0" ixz="0" iyy="1" iyz="0" izz="-1"/></inertial></link>
  <joint name="j{0}" type="revolute"><parent link="{0}"/><child link="tip{0}"/></joint></robot>"""
#: Of these XML takes all.
NAME = "b\x9b31mc\u202edcba\u2066\u2028e"


def test_what_is_seen_stays():
    for text in ("", "plain", "tab\tline\n", "\u00fcber \u0634\u0627\u0646\u0647 \u8155 \U0001f9be", "$x_1$ \\x1b"):
        assert visible(text) == text
    assert visible(SLY) == (
        r"a\x1b]0;x\x07b\x9b31mc\u202edcba\u2066\u2028e\ufeff\ud800\x7f"
    )
    assert not any(has_unseen(visible(chr(code))) for code in range(0x11000))


def test_errors_show_them():
    for error in (InputError(SLY), UnknownNameError("joint", SLY, [SLY + "x"]), vt.errors.UrdfError(SLY)):
        assert not has_unseen(str(error))
    assert UnknownNameError("joint", SLY, [SLY]).choices == [SLY]


def seen(text: str) -> bool:
    return not has_unseen(text) and "\\x9b31m" in text and "\\u202e" in text


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.urdf").write_text(URDF.format(NAME).replace('izz="-1"', 'izz="1"'), encoding="utf-8")
    (tmp_path / "bad.urdf").write_text(URDF.format(NAME), encoding="utf-8")
    (tmp_path / "worse.urdf").write_text(URDF.format(NAME).replace("</robot>", "<link/></robot>"), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("line", [
    "info r.urdf", "check r.urdf --notes", "check bad.urdf", "check worse.urdf", "info worse.urdf", "info bad.urdf",
    "info r.urdf --root none", "simulate r.urdf --duration 0.01 --dt 0.01 --set tip=1 -o run.npz",
    "fix bad.urdf -o fixed.urdf",
])  # fmt: skip
def test_no_command_prints_them(files, capfd, line):
    main(line.split())
    out, err = capfd.readouterr()
    assert not has_unseen(out + err), (out, err)
    assert "31m" not in out + err or seen(out + err)


def test_the_command_line_prints_in_one_place():
    """console.say, console.out and console._line alone print."""
    found = {
        path.name: len(re.findall(r"(?<![\w.])print\(|\bText\(|\becho\(", path.read_text()))
        for path in (PACKAGE / "cli").glob("*.py")
    }
    assert {name: count for name, count in found.items() if count} == {"console.py": 3}


def test_check_names_them(files):
    report = vt.check_urdf(files / "r.urdf")
    found = [finding for finding in report if finding.id == "name-characters"]
    assert len(found) == 4 and all(seen(finding.text) and finding.severity == "warning" for finding in found)
    model = vt.load_urdf(files / "r.urdf")
    assert model.link_names[1] == f"tip{NAME}"  # the name itself stays


def test_pages_and_plots_show_them(files):
    viewer = pytest.importorskip("vitree.viewer.page")
    figure_of = pytest.importorskip("vitree.plot").figure_of
    model = vt.load_urdf(files / "r.urdf")
    run = vt.simulate(model, np.ones(1), duration=0.02, dt=0.01)
    for shown in (model, run):
        title = re.search("<title>(.*?)</title>", viewer.write_html(shown, files / "a.html").read_text())[1]
        assert seen(title)
        text = (files / "a.html").read_text()
        panel = text[text.index('id="vitree-panel"') :]
        assert not has_unseen(panel.replace("\r", ""))
    for plot in ("coordinates", "energy"):
        figure = figure_of(plot, run)
        texts = [text.get_text() for text in figure.findobj(lambda part: hasattr(part, "get_text"))]
        assert not has_unseen("".join(texts)) and any("\\x9b31m" in text for text in texts), texts
