"""The manual: its Python runs as it stands, what it names exists, it leaves nothing out, and it builds."""

from __future__ import annotations

import functools
import pathlib
import re
import subprocess
import sys

import pytest
from blocks import python_blocks, run_block
from chromium import launched
from places import ROOT

import vitree as vt
from vitree import cli
from vitree.tree.sexpr import COMPONENTS, JOINT_OPTIONS, OPTIONS, TRANSFORMS

pytestmark = pytest.mark.slow

FOLDER = ROOT / "docs"
#: Packages of blocks that are left out where these are not installed.
PEERS = "pinocchio|mujoco|torch|jax|casadi|onnx|stable_baselines3|gymnasium"
PAGES = sorted(FOLDER.rglob("*.md"))


def name_of(page: pathlib.Path) -> str:
    """A page's place in the manual, without its ending."""
    return str(page.relative_to(FOLDER).with_suffix(""))


BLOCKS = [
    pytest.param(page, block, id=f"{name_of(page)}-{k}")
    for page in PAGES
    for k, block in enumerate(python_blocks(page))
]


@pytest.mark.parametrize(("page", "block"), BLOCKS)
def test_python_blocks_run(page, block, tmp_path, monkeypatch, capsys):
    for peer in re.findall(rf"^(?:import|from) ({PEERS})\b", block, re.M):
        pytest.importorskip(peer)
    monkeypatch.chdir(tmp_path)
    run_block(page, block)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_code_fits_90_columns(page):
    """The check with a browser, below, is left out where there is none."""
    code = re.findall(r"^```\w*\n(.*?)^```", page.read_text(), re.S | re.M)
    assert [line for line in "".join(code).splitlines() if len(line) > 90] == []


@functools.cache
def status_of_help(command):
    return cli.main([command, "--help"])


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_is_named_exists(page):
    text = page.read_text()
    owners = {"vt": vt, "model": vt.Model, "tree": vt.Tree, "traj": vt.Trajectory}
    fields = {*vt.Trajectory.__dataclass_fields__, *vars(vt.Tree("x"))}
    for owner, name in re.findall(r"\b(vt|model|tree|traj)\.(\w+)", text):
        assert hasattr(owners[owner], name) or name in fields, f"{owner}.{name}"
    shell = "".join(re.findall(r"```sh\n(.*?)```", text, re.S))
    commands = {*re.findall(r"(?:^|/)vitree ([a-z]+)", shell, re.M), *re.findall(r"`vitree ([a-z]+)", text)}
    for command in commands:
        assert status_of_help(command) == 0, command
    for link in re.findall(r"\]\((?!http)([^)#]+)", text):
        assert (page.parent / link).exists(), link


def test_the_page_on_modelling_leaves_nothing_out():
    text = (FOLDER / "modelling.md").read_text()
    for head in (*TRANSFORMS, *OPTIONS, *JOINT_OPTIONS, *COMPONENTS):
        assert f"`{head}`" in text, head
    builders = "body fixed frame ball free screw pairs cylindrical helical planar prismatic revolute spherical"
    kinds = "universal Constraint Force Potential Cam Coupling Distance AxisConstraint PointConstraint point_constraint"
    kinds += " gear weld screw_pair Attraction Damper Gravity JointForce JointSpring NonlinearSpring Spring Wrench"
    kinds += " Drive joint_constraints independent_constraints HelicalConstraint"
    for name in f"{builders} {kinds}".split():
        assert hasattr(vt, name) and re.search(rf"\b{name}\b", text), name


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """The folder of the manual as HTML; warnings are errors."""
    for package in ("sphinx", "myst_parser", "numpydoc", "furo", "math_core"):
        pytest.importorskip(package)
    out = tmp_path_factory.mktemp("manual")
    # as `python -m sphinx`; a fifth of its time would go to the garbage collector
    start = "import gc, sys; gc.set_threshold(200_000, 20, 100); from sphinx.cmd.build import main; sys.exit(main())"
    command = [sys.executable, "-c", start, "-W", "--keep-going", "-q", "-b", "html", str(FOLDER), str(out)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return out


def test_the_api_has_every_public_name(built):
    from sphinx.util.inventory import InventoryFile

    inventory = InventoryFile.loads((built / "objects.inv").read_bytes(), uri="")
    documented = {name for kind, items in inventory.data.items() if kind.startswith("py:") for name in items}
    public = {f"vitree.{name}" for name in vt.__all__}
    for part in (vt.vehicles, vt.control):
        public |= {f"{part.__name__}.{name}" for name in part.__all__}
    own = (name for name, value in vars(vt.lie).items() if getattr(value, "__module__", "") == "vitree.lie")
    public |= {f"vitree.lie.{name}" for name in own if not name.startswith("_")}
    assert {"vitree.simulate", "vitree.lie.SE3", "vitree.control.solve"} <= public
    assert sorted(public - documented) == []


def texts(built) -> list[pathlib.Path]:
    """The pages of the manual; scenes in 3D are pages of the viewer, which has tests of its own."""
    return sorted(page for page in built.rglob("*.html") if page.parent.name != "scenes")


def test_scenes_in_3d_are_made_with_the_manual(built):
    pytest.importorskip("viser")
    named = set(re.findall(r"\{scene\}`(\w+)`", "".join(page.read_text() for page in PAGES)))
    assert named == {page.stem for page in (built / "scenes").glob("*.html")}
    for name in named:
        assert (built / "scenes" / f"{name}.html").stat().st_size > 100_000
        assert f'href="scenes/{name}.html"' in (built / "gallery.html").read_text()


def test_the_manual_is_read_without_a_network(built):
    for page in texts(built):
        asked = re.findall(r"<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)=\"(?:https?:)?//[^\"]*", page.read_text())
        assert not asked, page.name


#: The first words of the blocks of code that are wider than their place; the formulas that go beyond the text.
WIDE = """() => [...document.querySelectorAll('pre')].filter(block => block.scrollWidth > block.clientWidth)
    .map(block => block.textContent.slice(0, 60))"""
BEYOND = """() => { const edge = document.querySelector('article').getBoundingClientRect().right + 1;
    return [...document.querySelectorAll('math')].filter(each => each.getBoundingClientRect().right > edge)
        .map(each => each.textContent) }"""


@pytest.fixture(scope="module")
def read(built):
    """How each page looks on a screen of 1280 x 800: name -> (wide blocks, formulas beyond the edge, addresses)."""
    found = {}
    with launched() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 800})
        asked = []
        page.on("request", lambda request: asked.append(request.url))
        for path in texts(built):
            asked.clear()
            page.goto(path.as_uri())
            found[str(path.relative_to(built))] = page.evaluate(WIDE), page.evaluate(BEYOND), list(asked)
    return found


def test_code_and_formulas_fit_a_screen_of_1280_pixels(read):
    assert {name: wide for name, (wide, _, _) in read.items() if wide} == {}
    assert {name: beyond for name, (_, beyond, _) in read.items() if beyond} == {}


def test_pages_ask_for_files_beside_them_only(read, built):
    assert len(read) > 50
    for name, (_, _, asked) in read.items():
        assert all(url.startswith(("data:", built.as_uri())) for url in asked), (name, asked)
    assert any("math.woff2" in url for url in read["theory/lie-groups.html"][2])


def test_formulas_are_mathml(built):
    page = (built / "theory" / "lie-groups.html").read_text()
    assert page.count("<math") > 20 and "$" not in re.sub(r"<pre>.*?</pre>|<script.*?</script>", "", page, flags=re.S)
