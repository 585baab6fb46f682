"""The public docstrings are complete, and the checker of docs/_ext finds what is not."""

import importlib.util
import sys

import numpy as np
import pytest
from places import ROOT

import vitree as vt
from vitree.errors import InputError, ModelError

pytest.importorskip("numpydoc")
_place = ROOT / "docs" / "_ext" / "docstrings.py"
_spec = importlib.util.spec_from_file_location("docstrings", _place)
docstrings = sys.modules["docstrings"] = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(docstrings)

PUBLIC = list(docstrings.public())


def test_public_docstrings_say_all():
    assert docstrings.problems() == []


def test_what_is_public_is_looked_at():
    names = {one.name for one in PUBLIC}
    functions = {f"vitree.{name}" for name in vt.__all__ if name != "METHODS"}
    assert functions <= names
    assert {"vitree.model.dynamics.DynamicsMethods.rnea", "vitree.model.facts.ModelFacts.nq"} <= names
    assert "vitree.run.trajectory.Trajectory.load" in names
    assert {"vitree.model.system.System.generalized_momentum", "vitree.lie.Group.Ad", "vitree.control.solve"} <= names


def test_exceptions_to_the_rules_are_of_things_that_exist():
    assert {*docstrings.OWN, *(name for name, _ in docstrings.EXCLUDED)} <= {one.name for one in PUBLIC}


def test_public_functions_have_annotations():
    missing = []
    for one in PUBLIC:
        missing += [f"{one.name}: {name}" for name, annotation in one.parameters.items() if not annotation]
        if not isinstance(one.object, type) and not one.returns:
            missing.append(f"{one.name}: what it returns")
    # figures and axes are of matplotlib, which need not be installed
    assert [text for text in missing if not text.startswith("vitree.plot.")] == []


# ---- planted faults ---------------------------------------------------------------------------------------


def _refuse():
    raise ModelError("no")


def good(q, t: float, *, inputs=None) -> np.ndarray:
    """Return q moved by a time, (nq,) [m or rad].

    Parameters
    ----------
    q : (nq,) array [m or rad]
    t : float
        Time [s].
    inputs : (nu,) array, optional
        Of the loads, in units of their own.

    Raises
    ------
    ModelError
        If it may not.
    """
    _refuse()


def compact(model, q) -> np.ndarray:
    """Return the mass matrix of a ``model`` at q (nq,), (nv, nv) [kg m^2]; raise a ModelError if it may not."""
    _refuse()


def delegated(q, t: float) -> np.ndarray:
    """Return the same as another does, the other way; see :func:`satisfy_constraints` for the arguments q and t [s]."""


def undocumented(q):
    pass


def no_sentence():
    """The mass matrix, which is
    symmetric."""


def missing_parameter(q, v):
    """Return nothing of all that.

    Parameters
    ----------
    q : (nq,) array [m or rad]
    """


def parameter_that_is_not(q):
    """Return nothing of all that.

    Parameters
    ----------
    q, w : (nq,) array [m or rad]
    """


def no_shape(q):
    """Return nothing of all that.

    Parameters
    ----------
    q : array [m or rad]
    """


def no_unit(stiffness):
    """Return nothing of all that.

    Parameters
    ----------
    stiffness : float
        Of the spring.
    """


def no_such_unit(stiffness):
    """Return nothing of all that.

    Parameters
    ----------
    stiffness : float [parsec]
    """


def result_without_shape() -> np.ndarray:
    """Return the forces [N]."""


def result_without_unit() -> np.ndarray:
    """Return the forces, (nv,)."""


def raises_unsaid():
    """Return nothing of all that."""
    raise InputError("no")


def helper_raises_unsaid():
    """Return nothing of all that."""
    _refuse()


def caught():
    """Return nothing of all that."""
    try:
        _refuse()
    except ModelError:
        pass


def raises_without_reason():
    """Return nothing of all that.

    Raises
    ------
    InputError
    """
    raise InputError("no")


def raises_what_is_none():
    """Return nothing of all that.

    Raises
    ------
    InputErorr
        If it may not.
    """


def equation():
    """Return the energy [J] of a spring, V = k q^2 / 2."""


def equation_with_source():
    """Return the energy [J] of a spring, V = k q^2 / 2 (Hooke 1678)."""


def reference_to_nothing(q):
    """Return something; see :func:`vitree.no_such_function`."""


@pytest.mark.parametrize("function, fault", [
    (good, None),
    (compact, None),
    (delegated, None),
    (undocumented, "no docstring"),
    (no_sentence, "the first line is not a sentence that ends with a full stop"),
    (missing_parameter, "the parameter v is not documented"),
    (parameter_that_is_not, "the documented parameter w does not exist"),
    (no_shape, "q: no shape"),
    (no_unit, "stiffness: no unit"),
    (no_such_unit, "stiffness: no unit"),
    (result_without_shape, "what it returns: no shape"),
    (result_without_unit, "what it returns: no unit"),
    (raises_unsaid, "raises InputError, which is not documented"),
    (helper_raises_unsaid, "raises ModelError, which is not documented"),
    (caught, None),
    (raises_without_reason, "InputError in Raises has no reason"),
    (raises_what_is_none, "InputErorr in Raises is no error"),
    (equation, "no source of the equation in 'Return the energy  of a spring, V = k q^2 / 2.'"),
    (equation_with_source, None),
    (reference_to_nothing, "vitree.no_such_function does not exist"),
], ids=lambda x: getattr(x, "__name__", ""))  # fmt: skip
def test_planted_faults_are_found(function, fault, monkeypatch):
    monkeypatch.setattr(docstrings, "PACKAGE", __name__)
    found = docstrings.faults(docstrings.Public(function.__name__, function, __name__))
    assert fault in found if fault else found == []


class Planted:
    """A thing that has an axis.

    Attributes
    ----------
    axis : (3,) array
        Its direction.
    colour : str

    Notes
    -----
    q : (nq,) array
        Configuration [m or rad].

    Methods raise an InputError for a wrong shape.
    """

    def __init__(self):
        self.axis = np.zeros(3)

    def move(self, q, step) -> np.ndarray:
        """Return q moved, (nq,) [m or rad]."""
        raise InputError("no")


def test_classes_say_what_their_methods_take(monkeypatch):
    monkeypatch.setattr(docstrings, "PACKAGE", __name__)
    assert docstrings.faults(docstrings.Public("Planted", Planted, __name__)) == [
        "the documented attribute colour does not exist"
    ]
    assert [docstrings.faults(one) for one in docstrings.members(Planted)] == [["the parameter step is not documented"]]


def test_sphinx_is_told_of_each_problem(monkeypatch, caplog):
    pytest.importorskip("sphinx")
    monkeypatch.setattr(docstrings, "problems", lambda: ["a: no docstring", "b: no docstring"])
    connected = {}

    class App:
        connect = staticmethod(connected.__setitem__)

    docstrings.setup(App)
    connected["builder-inited"](App)
    assert [record.getMessage() for record in caplog.records if record.levelname == "WARNING"] == [
        "docstring of a: no docstring", "docstring of b: no docstring",
    ]  # fmt: skip
