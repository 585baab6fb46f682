"""Methods on stacks of states: shapes, results that must be finite, and reduced coordinates."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, ParamSpec, Protocol, TypeVar

import numpy as np
from numpy.typing import ArrayLike

from vitree._core import maps, scalar, wide
from vitree.arguments import all_finite, as_numbers, axes_of, entries, numbers_of, require_finite, unlike_leads
from vitree.errors import InputError, ModelError, VitreeError
from vitree.mechanism.constraints import Distance
from vitree.mechanism.followers import Followers
from vitree.mechanism.loads import Attraction, Damper, Spring

# ---- leading axes: methods of a system on one state take stacks of states as well --------------------------


P = ParamSpec("P")
#: A class of named tuples.
NamedTupleKind = type[tuple[Any, ...]]
R = TypeVar("R")
core = scalar()
#: Arguments that are states, by their names: of nq entries and of nv.
CONFIGURATIONS, VELOCITIES = ("q", "q0", "q1"), ("v", "a", "dq", "p", "tau")


class HasStates(Protocol):
    """What is asked of a system here."""

    @property
    def name(self) -> str: ...
    @property
    def nq(self) -> int: ...
    @property
    def nv(self) -> int: ...
    def neutral(self) -> np.ndarray: ...
    def validate_configuration(self, q: ArrayLike, name: str = "q") -> np.ndarray: ...
    def _checked(self, x: ArrayLike, size: int, name: str) -> np.ndarray: ...
    def _checked_stack(self, q: np.ndarray, name: str) -> np.ndarray: ...


def on_stacks(method: Callable[P, R]) -> Callable[P, R]:
    """A method whose arguments of states are checked, and have the same leading axes.

    The method gets configurations (..., nq) and velocities (..., nv): contiguous arrays of finite numbers, with
    quaternions of unit length. Of one state there are no leading axes. All other arguments are as they were given.
    Raises an InputError if an argument of a state is none, or leading axes do not broadcast.
    """
    parameters = list(inspect.signature(method).parameters.values())[1:]
    names = [x.name for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
    places = {name: k for k, name in enumerate(names) if name in (*CONFIGURATIONS, *VELOCITIES)}
    optional, last = {x.name for x in parameters if x.default is None}, max(places.values())
    method_of: Callable[..., R] = method

    @functools.wraps(method)
    def called(self: HasStates, *arguments: Any, **more: Any) -> R:
        if len(arguments) > last and not any([_axes_beyond_one(arguments[k]) for k in places.values()]):
            one = list(arguments)
            for name, k in places.items():
                if one[k] is not None or name not in optional:
                    one[k] = checked(self, one[k], name)
            return method_of(self, *one, **more)
        if len(arguments) > len(names) or any(name in more for name in names[: len(arguments)]):
            return method_of(self, *arguments, **more)  # a TypeError
        given = dict(zip(names, arguments, strict=False)) | more
        found = {name: given[name] for name in places if name in given}
        found = {name: x for name, x in found.items() if x is not None or name not in optional}
        if any(map(_axes_beyond_one, found.values())):
            given |= stacked(self, found)
        else:
            given |= {name: checked(self, x, name) for name, x in found.items()}
        return method_of(self, **given)

    return called  # type: ignore[return-value]


def _axes_beyond_one(x: object) -> bool:
    if type(x) is np.ndarray:
        return x.ndim > 1
    if isinstance(x, list | tuple) and type(x) in (list, tuple) and x and isinstance(x[0], float | int):
        return False
    return axes_of(x) > 1


def checked(system: HasStates, x: ArrayLike, name: str) -> np.ndarray:
    """Return a checked configuration, velocity or force of one state, which of these its name says."""
    if name not in CONFIGURATIONS:
        return system._checked(x, system.nv, name)
    # by its position alone, for the sake of compiled code
    return system.validate_configuration(x) if name == "q" else system.validate_configuration(x, name)


def stacked(system: HasStates, given: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Return states that go together, all with the same leading axes.

    Raises an InputError if there are others than real numbers, of other sizes, or they do not broadcast.
    """
    found: dict[str, np.ndarray] = {}
    for name, value in given.items():
        x, size = numbers_of(value, name), system.nq if name in CONFIGURATIONS else system.nv
        if x.shape[-1:] != (size,):
            raise InputError(
                name, value,
                f"has shape {x.shape}; it must be an array of numbers of shape (..., {size}), as {system.name!r} has "
                f"it (nq={system.nq}, nv={system.nv})"
            )
        if not core.plain(x.reshape(-1), x.size):
            require_finite(x, name, value)
        found[name] = x
    if len({x.shape[:-1] for x in found.values()}) > 1:
        found = dict(zip(found, _broadcast(found), strict=True))
    return {name: system._checked_stack(x, name) if name in CONFIGURATIONS else x for name, x in found.items()}


def _broadcast(found: dict[str, np.ndarray]) -> list[np.ndarray]:
    """Arrays with the same leading axes."""
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in found.values()))
    except ValueError:
        raise unlike_leads({name: x.shape[:-1] for name, x in found.items()}, next(iter(found.values()))) from None
    return [np.ascontiguousarray(np.broadcast_to(x, (*lead, x.shape[-1]))) for x in found.values()]


def as_rows(x: ArrayLike) -> np.ndarray:
    """Return a stack (..., m) as rows (n, m), of the same memory if that is contiguous."""
    x = np.asarray(x)
    return x.reshape(math.prod(x.shape[:-1]), x.shape[-1])


def doors(x: ArrayLike) -> Any:
    """Return the compiled module for a state (m,), or a stack of states (..., m)."""
    return core if np.ndim(x) == 1 else wide()


def plain_number(x: Any) -> Any:
    """Return a number as a float, and a stack of numbers as it is."""
    return float(x) if np.ndim(x) == 0 else np.ascontiguousarray(x)


@contextmanager
def in_row(at: tuple[int | np.intp, ...]) -> Iterator[None]:
    """Let errors say in which row of the leading axes they are."""
    try:
        yield
    except VitreeError as error:
        error.args = (f"in row {[int(k) for k in at]}: {error.args[0]}",)
        raise


def row_by_row(system: HasStates, call: Callable[..., R], **given: ArrayLike) -> R:
    """Return the results of a call for each state of stacks with the same leading axes, as one stack.

    The results are arrays, numbers, or named tuples of arrays. The call takes states as keywords.
    """
    states = {name: np.asarray(x) for name, x in given.items()}
    lead = next(iter(states.values())).shape[:-1]
    results: list[R] = []
    for at in np.ndindex(lead):
        with in_row(at):
            results.append(call(**{name: x[at] for name, x in states.items()}))
    if not results:  # what one would look like
        likes = {name: system.neutral() if name in CONFIGURATIONS else np.zeros(system.nv) for name in states}
        results = [call(**likes)]
    found: R = _joined(results, (len(results),), lead)
    return found


def _joined(results: list[Any], count: tuple[int], lead: tuple[int, ...]) -> Any:
    if isinstance(results[0], tuple):
        return type(results[0])(*(_joined(list(parts), count, lead) for parts in zip(*results, strict=True)))
    x = np.array(results, dtype=float)
    return x.reshape((*lead, *x.shape[1:])) if math.prod(lead) else np.empty((*lead, *x.shape[1:]))


# ---- results that do not exist: numbers too large for a double, and frames that coincide where a direction is needed


plain = scalar().plain
#: Distances below this have no direction in floating point: their squares are zero [m].
TOUCHING = 1e-150


def coincident(model: Any, q: np.ndarray) -> list[str]:
    """Return a sentence for each load and constraint of a model whose frames coincide at q (nq,) [m or rad].

    Springs of length zero need no direction, and are left out.
    """
    pairs = _directed(model)
    if not pairs:
        return []
    with np.errstate(all="ignore"):
        bodies = model._pose_rows(q[None])[0]
        places = {name: model._frame_pose(model._frame(name), bodies)[:3, 3] if name != "world" else np.zeros(3)
                  for x in pairs for name in (x.a, x.b)}  # fmt: skip
        return [
            f'the {x.name} has no direction: its frames "{x.a}" and "{x.b}" coincide; move them apart'
            for x in pairs if np.linalg.norm(places[x.a] - places[x.b]) < TOUCHING
        ]  # fmt: skip


def _directed(model: Any) -> list[Spring | Damper | Attraction | Distance]:
    """The loads and constraints that need the direction from one frame to another."""
    parts = *getattr(model, "loads", ()), *model.constraints
    pairs = [x for x in parts if isinstance(x, Spring | Damper | Attraction | Distance)]
    return [x for x in pairs if not (isinstance(x, Spring) and x.length == 0)]


def finite_result(method: Callable[P, R]) -> Callable[P, R]:
    """A method of a model whose results are finite, or an error says why there are none.

    Raises an InputError if a number is too large for a double, by an argument that the text names, or frames coincide.
    """
    names = list(inspect.signature(method).parameters)[1:]

    @functools.wraps(method)
    def checked(*arguments: P.args, **more: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            try:
                result = method(*arguments, **more)
            except (np.linalg.LinAlgError, OverflowError):
                pass
            else:
                if _finite(result):
                    return result
        model, *given = arguments
        raise no_result(model, method.__name__, dict(zip(names, given, strict=False)) | more)

    return checked


def guarded(function: Callable[P, R]) -> Callable[P, R]:
    """A function of a model whose arithmetic may fail, and which then says why as :func:`no_result` does.

    The model is its first argument, or the attribute ``model`` of that. Raises an InputError or ModelError if an
    equation has no solution in doubles.
    """
    names = list(inspect.signature(function).parameters)

    @functools.wraps(function)
    def called(*arguments: P.args, **more: P.kwargs) -> R:
        with np.errstate(all="ignore"):
            try:
                return function(*arguments, **more)
            except (np.linalg.LinAlgError, ArithmeticError, ValueError) as error:
                if isinstance(error, VitreeError) or (type(error) is ValueError and "infs or NaNs" not in str(error)):
                    raise  # SciPy refuses what is not finite by a ValueError
                given = dict(zip(names, arguments, strict=False)) | more
                first = given.pop(names[0])
                given = {"q" if name == "q0" else name: value for name, value in given.items()}
                raise no_result(getattr(first, "model", first), f"{function.__name__}()", given) from error

    return called


def _finite(result: object) -> bool:
    if isinstance(result, np.ndarray):
        # of many numbers in order compiled code says it sooner
        return (result.ndim > 1 and plain(result.reshape(-1), result.size)) or all_finite(result)
    if isinstance(result, float):
        return math.isfinite(result)
    if isinstance(result, str):
        return True
    if isinstance(result, Mapping):
        return all(map(_finite, result.values()))
    parts = result if isinstance(result, tuple) else vars(result).values()
    return all(map(_finite, [part for part in parts if type(part) is not str]))  # of names there may be thousands


def no_result(model: Any, what: str, given: Mapping[str, object]) -> InputError | ModelError:
    """Return the error of a method whose result is infinite or NaN: the frames, or the largest argument, are why."""
    q = given.get("q")
    states = np.asarray(q, dtype=float) if axes_of(q) > 0 and _directed(model) else np.empty((0, 0))
    for at in np.ndindex(states.shape[:-1]):
        if met := coincident(model, states[at]):
            row = f"[{', '.join(map(str, at))}]" if at else ""
            return InputError(f"{what} has no result at q{row}: {met[0]}")
    largest, name, place, number = 0.0, None, "", 0.0
    for key, value in given.items():
        try:
            x = np.nan_to_num(np.abs(as_numbers(value)), nan=np.inf, posinf=np.inf)
        except TypeError:
            continue
        if x.ndim and x.size and x.max() > largest:
            largest, name = float(x.max()), key
            place = ", ".join(map(str, np.unravel_index(int(x.argmax()), x.shape)))
            number = as_numbers(value).ravel()[x.argmax()]
    if largest < 1e50 or name is None:
        if what.startswith(("center_of_mass", "centroidal")) and not model.total_mass:
            return ModelError(
                f'"{model.name}" has no mass, and so no center of mass; inertia="geometry" gives the links of a file '
                "the mass of their shapes"
            )
        return ModelError(
            f'{what} of "{model.name}" is infinite or NaN at ordinary arguments: masses, inertias or loads are too '
            "large or too small for floating point, or the mass matrix is singular there"
        )
    why = f"{what} is then too large for a double; give a smaller one"
    why = why if largest < math.inf else "all entries must be finite"
    return InputError(name, given[name], f"[{place}] is {number:g}: {why}")


# ---- methods that compiled code answers in one call --------------------------------------------------------


#: A method by the names of its arguments: to pack arguments and keywords takes longer than some kernels. What compiled
#: code needs of the model is its attribute of the second name.
CALLED = """
def called(self, {0}):
    found = answer(self.{1}, self, {0})
    return method(self, {0}) if found is None else found
"""
#: The same of one with arguments that are for the method alone.
CALLED_BEYOND = """
def called(self, {0}, *more, **named):
    found = None if more or named else answer(self.{1}, self, {0})
    return method(self, {0}, *more, **named) if found is None else found
"""


def in_one_call(method: Callable[P, R], made: NamedTupleKind | None = None) -> Callable[P, R]:
    """A method that compiled code answers where the arguments are plain arrays of finite numbers, else the method.

    It is one of those that ``_core/doors.pxi`` and ``_core/calls.pxi`` list, and ``made`` the named tuple that it
    returns. Both give the same bits. Lists, arrays of other kinds and whatever is refused are for the method alone.
    """
    return _answered(method, scalar().Call(method.__name__, made), "_calls")


def in_one_map(method: Callable[P, R]) -> Callable[P, R]:
    """The same of a map of the whole body, one of those that ``_core/maps/calls.pxi`` lists."""
    return _answered(method, maps().MapCall(method.__name__), "_maps")


def _answered(method: Callable[P, R], call: Any, tables: str) -> Callable[P, R]:
    parameters = list(inspect.signature(method).parameters.values())[1:]
    answered = parameters[: call.count]
    scope: dict[str, Any] = {"method": method, "answer": call.answer}
    names = ", ".join(x.name for x in answered)
    exec((CALLED if answered == parameters else CALLED_BEYOND).format(names, tables), scope)
    called = scope["called"]
    called.__defaults__ = tuple(x.default for x in answered if x.default is not x.empty)
    return functools.wraps(method)(called)


def in_one_call_as(made: NamedTupleKind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same of a method that returns a named tuple."""
    return lambda method: in_one_call(method, made)


def of_states(method: Callable[P, R], made: NamedTupleKind | None = None) -> Callable[P, R]:
    """A method of states that is answered in one call; else stacks of states are, and results must be finite."""
    return in_one_call(on_stacks(finite_result(method)), made)


def of_maps(method: Callable[P, R]) -> Callable[P, R]:
    """The same of a map of the whole body; the method may ask :func:`map_rows`."""
    return in_one_map(on_stacks(finite_result(method)))


def map_rows(
    model: Any, method: str, shape: tuple[int, ...], q: ArrayLike, v: ArrayLike | None = None,
    a: ArrayLike | None = None, frame: str | None = None, axes: str | None = None,
) -> np.ndarray:  # fmt: skip
    """Return a map of the whole body, of a shape, at a state or a stack of states with the same leading axes."""
    lead = np.shape(q)[:-1]
    out = np.empty((*lead, *shape))
    v, a = (None if x is None else as_rows(x) for x in (v, a))
    rows = out.reshape(math.prod(lead), math.prod(shape))
    maps().MapCall(method).rows(model._map_tables, frame, axes, as_rows(q), v, a, rows)
    return out


def of_states_as(made: NamedTupleKind) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """The same of a method that returns a named tuple."""
    return lambda method: of_states(method, made)


# ---- functions of a model some of whose joints follow others: by the chain rule from those of the model of all
# joints


#: Arguments by their names, and what they are for all joints. Momenta are not among them: p' is no function of p alone.
ARGUMENTS: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("q", "q0", "q1"), lambda model, q: model.expand(q)),
    **dict.fromkeys(("v", "a", "dq"), lambda model, v: model.expand_velocity(v)),
    **dict.fromkeys(("tau", "torque"), lambda model, tau: model._followers.embed_force(tau)),
    "multipliers": lambda model, multipliers: model._followers.embed_rows(multipliers),
}
#: What results are, and how they follow from those of all joints.
RESULTS: dict[str, Callable[[Followers, Any], Any]] = {
    "plain": lambda followers, x: x,  # no coordinates
    "configuration": Followers.contract,
    "velocity": Followers.contract_velocity,
    "force": Followers.contract_force,  # or the rows of a Jacobian, which go by v
    "matrix": functools.partial(Followers.contract_force, axes=2),  # of a quadratic form
    "slopes": functools.partial(Followers.contract_leading, axes=1),  # the first index goes by q or v
    "second slopes": functools.partial(Followers.contract_leading, axes=2),
    "force rows": lambda followers, x: np.ascontiguousarray(  # the axis before the last goes by v
        np.swapaxes(followers.contract_force(np.swapaxes(x, -1, -2)), -1, -2)
    ),
    "rows": lambda followers, x: x[..., followers.kept],  # a number of each constraint
    "rows by q": lambda followers, x: followers.contract_force(x[..., followers.kept, :]),
    "velocity by q": lambda followers, x: followers.contract_force(x[..., followers.own_v, :]),
    "velocity by force": lambda followers, x: followers.contract_velocity(x[..., followers.own_v, :]),
}
#: A method by the names of its arguments, as in ``calls.py``: for models of all joints it costs nothing to speak of.
MAPPED = """
def called({0}, {1}):
    return method({0}, {2}) if {0}._followers is None else mapped({0}, {2})
"""


def in_coordinates(
    *results: str, checks: str | None = None, by: Callable[..., Any] | None = None
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A method or function of a model in its coordinates, also where joints follow others.

    What is decorated is for models of all joints. Of another model it is called for ``full``, with arguments as
    ARGUMENTS has them, and its result is contracted as RESULTS says.

    Parameters
    ----------
    *results : str
        What the result is, of RESULTS; of a tuple what each entry is.
    checks : {"state", "states"}, optional
        Arguments come as they were given, and have to be checked: as those of one state, or of a stack of states.
    by : callable, optional
        What is called instead: a result that does not follow from that of ``full``.
    """
    contract = [RESULTS[result] for result in results]

    def of(method: Callable[P, R]) -> Callable[P, R]:
        model, *parameters = inspect.signature(method).parameters.values()
        names, optional = [x.name for x in parameters], {x.name for x in parameters if x.default is None}

        def of_all(self: Any, name: str, x: Any) -> Any:
            if name not in ARGUMENTS or (x is None and name in optional):
                return x
            if checks == "state":
                rows = (len(self.constraints),)
                x = entries(x, rows, name) if name == "multipliers" else checked(self, x, name)
            return ARGUMENTS[name](self, x)

        @functools.wraps(method)
        def mapped(self: Any, *given: Any, **more: Any) -> Any:
            if by is not None:
                return by(self, *given, **more)
            arguments = [of_all(self, name, x) for name, x in zip(names, given, strict=False)]
            named = {name: of_all(self, name, x) for name, x in more.items()}
            found = method(self.full, *arguments, **named)
            if len(contract) == 1:
                return contract[0](self._followers, found)
            parts = found if isinstance(found, tuple) else vars(found).values()
            made = [own(self._followers, x) for own, x in zip(contract, parts, strict=True)]
            return tuple(made) if type(found) is tuple else type(found)(*made)

        first = [x for x in parameters if x.kind is x.POSITIONAL_OR_KEYWORD]
        named = [x for x in parameters if x.kind is x.KEYWORD_ONLY]
        words = ", ".join([x.name for x in first] + ["*"] * bool(named) + [x.name for x in named])
        given = ", ".join([x.name for x in first] + [f"{x.name}={x.name}" for x in named])
        scope: dict[str, Any] = {"method": method, "mapped": on_stacks(mapped) if checks == "states" else mapped}
        exec(MAPPED.format(model.name, words, given), scope)
        called = scope["called"]
        called.__defaults__ = tuple(x.default for x in first if x.default is not x.empty)
        called.__kwdefaults__ = {x.name: x.default for x in named if x.default is not x.empty}
        called.results = results
        return functools.wraps(method)(called)

    return of


class HasFollowers(Protocol):
    """What is asked of a model in coordinates."""

    _followers: Followers | None

    @property
    def full(self) -> HasFollowers: ...


M = TypeVar("M", bound=HasFollowers)


def of_full(method: Callable[[M], R]) -> Callable[[M], R]:
    """A property without coordinates, or in those of ``full``: where joints follow others it is that of ``full``."""

    @functools.wraps(method)
    def found(self: M) -> R:
        return method(self) if self._followers is None else getattr(self.full, method.__name__)

    found.results = ("plain",)  # type: ignore[attr-defined]
    return found
