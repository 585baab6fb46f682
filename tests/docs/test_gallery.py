"""The gallery: each picture is one that the script makes, is small, and names the example that it is made from."""

from __future__ import annotations

import importlib.util
import re

import pytest
from places import EXAMPLES, ROOT

PICTURES = ROOT / "docs" / "pictures"


@pytest.fixture(scope="module")
def tool():
    for package in ("matplotlib", "PIL"):
        pytest.importorskip(package)
    spec = importlib.util.spec_from_file_location("make_gallery", ROOT / "tools" / "make_gallery.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_page_and_tool_have_the_same_pictures_of_the_same_examples(tool):
    page = (ROOT / "docs" / "gallery.md").read_text()
    shown = dict(re.findall(r"pictures/gallery/(\w+)\.png\) \|.* `examples/([\w/]+\.py)`", page))
    assert list(shown) == list(tool.PICTURES)
    for name, example in shown.items():
        assert (EXAMPLES / example).exists()
        assert tool.PICTURES[name].__doc__.startswith(f"{example.rpartition('/')[2]}: ")


def test_pictures_are_there_and_small(tool):
    made = sorted((PICTURES / "gallery").glob("*"))
    assert [path.stem for path in made] == sorted(tool.PICTURES) and {path.suffix for path in made} == {".png"}
    assert all(1000 < path.stat().st_size <= tool.LARGEST for path in made)
    assert sum(path.stat().st_size for path in PICTURES.rglob("*.png")) < 1.5e6


def test_a_picture_is_made(tool, tmp_path, monkeypatch):
    monkeypatch.setattr(tool, "FOLDER", tmp_path)
    tool.main("four_bar")
    assert (tmp_path / "four_bar.png").stat().st_size > 1000
