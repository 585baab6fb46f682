"""The s-expression notation for tree-form mechanisms (Johnson & Murphey 2009, section V-B, Table II).

    (mechanical-system (name "pendulum") (gravity 0 0 -9.81)
      (ry "swing" (damping 0.1) (lower -2) (upper 2)
        (tz -1 (name "bob") (mass 1)))
      (joint-spring "swing" 5))

A frame is ``(transform arguments ... options ... frames ...)``. Of several transforms in a row each is below the one
before it; options belong to the last. A joint's name is a text; ``(D "name")`` means the same, and ``(K "name")`` is
the name of a prescribed joint. Symbols are not case-sensitive; ``;`` begins a comment.

The tables ``TRANSFORMS``, ``OPTIONS``, ``JOINT_OPTIONS`` and ``COMPONENTS`` of ``vocabulary`` list all words with their
arguments, as forms. In a form a word stands for a number, ``"word"`` for a text, ``a|b`` for either, ``(x y z)`` for
numbers in parentheses or in a row, ``(x ...)`` for any number of them and ``'word`` for the symbol itself. An argument
before ``?`` is optional.

``syntax`` turns a text into nodes, ``reader`` nodes into a tree, ``writer`` a tree into a text.
"""

from vitree.tree.sexpr.reader import load_sexpr, read_sexpr
from vitree.tree.sexpr.syntax import SexprError
from vitree.tree.sexpr.vocabulary import COMPONENTS, JOINT_OPTIONS, OPTIONS, TRANSFORMS
from vitree.tree.sexpr.writer import write_sexpr

__all__ = [
    "COMPONENTS", "JOINT_OPTIONS", "OPTIONS", "TRANSFORMS", "SexprError", "load_sexpr", "read_sexpr", "write_sexpr",
]  # fmt: skip
