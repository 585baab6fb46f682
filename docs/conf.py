"""Settings of the manual: sphinx-build -W --keep-going -b html docs OUT."""

import importlib.util
import re
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE / "_ext"), str(HERE.parent)]

project = "vitree"
author = "the vitree authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc", "mathml", "llms", "scenes3d"]
if (HERE / "_ext" / "docstrings.py").exists():
    extensions.append("docstrings")

html_theme = "furo"
html_title = "vitree"
html_copy_source = False
html_show_copyright = False
html_static_path = ["_static"]
html_css_files = ["manual.css"]
# formulas are written as MathML, so that pages need no script and no network
html_math_renderer = "mathml"
myst_enable_extensions = ["dollarmath", "deflist"]
myst_dmath_allow_space = False
myst_heading_anchors = 3

# packages of other extras need not be there
OTHERS = ("torch", "jax", "casadi", "gymnasium")
autodoc_mock_imports = [name for name in OTHERS if importlib.util.find_spec(name) is None]
autodoc_member_order = "bysource"
# docstrings say types with shapes and units
autodoc_typehints = "none"
numpydoc_show_class_members = False
nitpicky = True
nitpick_ignore = [("py:meth", "reduced")]


def plain_formulas(app, what, name, obj, options, lines):
    """Let bars and stars of formulas in docstrings stand for themselves, outside of literals."""
    for k, line in enumerate(lines):
        parts = line.split("``")
        parts[::2] = [re.sub(r"\||(?<=\()\*", r"\\\g<0>", part) for part in parts[::2]]
        lines[k] = "``".join(parts)


def by_last_name(app, env, node, contnode):
    """Resolve a class or function that is named without its module."""
    if node.get("refdomain") == "py" and node["reftype"] in ("class", "func", "data") and "refspecific" not in node:
        node["refspecific"] = True
        return env.domains["py"].resolve_xref(
            env, node["refdoc"], app.builder, node["reftype"], node["reftarget"], node, contnode
        )


def setup(app):
    """Connect the two, the first before numpydoc reads the docstrings."""
    app.connect("autodoc-process-docstring", plain_formulas, priority=100)
    app.connect("missing-reference", by_last_name)
