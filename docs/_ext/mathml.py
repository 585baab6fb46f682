"""Formulas as MathML: LaTeX is converted when the manual is built, and a browser draws it without a script."""

from docutils.nodes import SkipNode
from math_core import LatexError, LatexToMathML
from sphinx.util import logging

LOG = logging.getLogger(__name__)
CONVERTER = LatexToMathML(fancy_error=False)


def mathml(node, block: bool) -> str:
    """Return the MathML of a formula. A formula that cannot be converted is a warning."""
    try:
        return CONVERTER.convert_with_local_state(node.astext(), displaystyle=block)
    except LatexError as error:
        LOG.warning("%s in the formula %s", error, node.astext(), location=node)
        return ""


def inline(writer, node):
    """Write a formula that is part of a line."""
    writer.body.append(mathml(node, block=False))
    raise SkipNode


def block(writer, node):
    """Write a formula with lines of its own."""
    writer.body.append(f'<div class="math">{mathml(node, block=True)}</div>')
    raise SkipNode


def setup(app):
    """Name the renderer, which conf.py chooses."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
