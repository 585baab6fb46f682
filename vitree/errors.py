"""The errors vitree raises: each text names the thing, the choices and the remedy."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any

from vitree.findings import Finding, Report
from vitree.wording import brief, picklable, quoted, text_of, visible

#: In place of a value that was not given.
_NONE = object()


class VitreeError(Exception):
    """Base of every error raised on purpose by vitree; it can be pickled, as processes do that send it back.

    Parameters
    ----------
    text : str
        The message.
    argument : str, optional
        The argument that is wrong, as the function that was called has it.
    value : object, optional
        What was given for it.
    choices : iterable, optional
        What may be given instead.

    Attributes
    ----------
    argument, value, choices : str, object and list, or None
        As given.
    """

    def __init__(
        self, text: str = "", *, argument: str | None = None, value: object = None,
        choices: Iterable[object] | None = None,
    ):  # fmt: skip
        super().__init__(visible(text))
        named = isinstance(argument, str) and argument.isidentifier()  # and no description, such as "mass of a body"
        self.argument: str | None = argument if named else None
        self.value: object = value if named else None
        self.choices: list[object] | None = None if choices is None else list(choices)

    def __reduce__(self) -> tuple[object, ...]:
        return _again, (type(self), self.args, vars(self) | {"value": picklable(self.value)})


def _again(kind: type[VitreeError], args: tuple[object, ...], content: dict[str, object]) -> VitreeError:
    """An error with the text and the attributes that it had."""
    error = kind.__new__(kind, *args)
    error.args = args
    vars(error).update(content)
    return error


#: Message for concurrent calls of one run.
AT_WORK = (
    "the run is already being stepped: a Simulation, or an integrator, has one caller at a time. It was called by "
    "another thread, or by a function that its own step calls; give each thread its own, or protect it with a "
    "threading.Lock"
)


class InputError(VitreeError, ValueError):
    """An argument has a wrong value: NaN, a wrong shape, dt <= 0, an unnormalised quaternion.

    ``InputError("dt", -1, "must be positive")`` has the text "dt=-1 must be positive" and the attributes ``argument``
    and ``value``. ``InputError("...")`` is an error of no single argument.

    Parameters
    ----------
    argument : str
        The argument, or the whole message if nothing else is given.
    value : object, optional
        What was given for it. The message shows a number, a string, None or a truth value, unless ``text`` does.
    text : str, optional
        What is wrong with it, the choices and the remedy.
    choices : iterable, optional
        What may be given instead.
    """

    #: Whether it is the start that the model cannot have: it overlaps, leaves a loop open, or slips where wheels roll.
    of_start = False

    def __init__(
        self, argument: str = "", value: object = _NONE, text: str = "", *, choices: Iterable[object] | None = None
    ):
        if value is _NONE:
            super().__init__(argument, choices=choices)
            return
        subject = argument = argument if isinstance(argument, str) else quoted(argument)
        if isinstance(value, str | bool | int | float | None) and argument.isidentifier():
            told = text.startswith((f"is {value}", f"is {value!r}"))
            subject = argument if told else f"{argument}={quoted(value)}"
        super().__init__(
            f"{subject}{'' if text.startswith(('[', ':')) else ' '}{text}",
            argument=argument, value=value, choices=choices,
        )  # fmt: skip


class UnknownNameError(VitreeError, LookupError):
    """A name (joint, link, frame, method, solver, robot) is not known.

    Attributes
    ----------
    kind : str
        The kind of thing that has such names.
    name : object
    choices : list of str
        The names that are known.
    """

    def __init__(self, kind: str, name: object, choices: Iterable[str], *, argument: str | None = None):
        choices = [str(choice) for choice in choices]
        given = text_of(name)
        text = f'no {kind} "{brief(given)}"'
        close = difflib.get_close_matches(given, choices, n=1)
        if close:
            text += f'; did you mean "{close[0]}"?'
        elif not choices:
            text += f"; there is no {kind} at all"
        elif len(choices) <= 20:
            text += "; choose from " + ", ".join(choices)
        else:
            text += f"; choose from {len(choices)} names: " + ", ".join(choices[:10]) + ", ..."
        super().__init__(text, argument=argument, choices=choices)
        self.kind, self.name, self.value = kind, name, name


class ModelError(VitreeError, ValueError):
    """A mechanism cannot be modelled: a massless moving subtree, a duplicate name, a bad inertia."""


class UrdfError(ModelError):
    """A robot file cannot be read; the text names the file and the element.

    Attributes
    ----------
    findings : Report
        Everything found in the file, errors and others, where the file could be read at all.
    """

    def __init__(self, text: str, findings: Iterable[Finding] = ()):
        super().__init__(text)
        self.findings = Report(findings)


class SdfError(UrdfError):
    """An SDF file cannot be read; as :class:`UrdfError`."""


class ConvergenceError(VitreeError, RuntimeError):
    """A step's equations were not solved; the state before the step is untouched.

    Attributes
    ----------
    time : float
        Time at the start of the failed step [s].
    residual : float
        Largest entry of the last residual, in units of momentum.
    iterations : int
        Iterations spent on the step.
    trajectory : Trajectory or None
        The steps before the failed one.
    """

    def __init__(self, text: str, *, time: float, residual: float, iterations: int, trajectory: Any = None):
        super().__init__(text)
        self.time, self.residual, self.iterations = time, residual, iterations
        self.trajectory = trajectory


class CallableError(InputError):
    """A callable of yours raised, or returned what it must not: NaN, a wrong shape, no numbers.

    The text names the callable, the time and what came. ``__cause__`` is the exception that the callable raised.

    Parameters
    ----------
    text : str
    time : float, optional
    trajectory : Trajectory, optional
    argument, value : str and object, optional
        As for :class:`VitreeError`.

    Attributes
    ----------
    time : float or None
        Time that the callable was asked for, or at the start of the step that asked it [s]; None outside of a run.
    trajectory : Trajectory or None
        The steps before, where a run was stopped.
    """

    def __init__(
        self, text: str, *, time: float | None = None, trajectory: Any = None, argument: str | None = None,
        value: object = None,
    ):  # fmt: skip
        VitreeError.__init__(self, text, argument=argument, value=value)
        self.time, self.trajectory = time, trajectory

    def within(self, where: str, time: float) -> CallableError:
        """Return the error itself, with ``where`` and the time [s] in its text if it has no time."""
        if self.time is None:
            self.time, self.args = time, (f"{self.args[0]} ({where} t = {time:.9g} s)",)
        return self


class MissingExtraError(VitreeError, ImportError):
    """An optional package is not installed; the text names the extra that brings it.

    Attributes
    ----------
    package, extra : str
    """

    def __init__(self, package: str, extra: str, purpose: str):
        super().__init__(
            f"{purpose} needs the package {package}: install it with pip install 'vitree[{extra}]'"
        )
        self.package, self.extra = package, extra
