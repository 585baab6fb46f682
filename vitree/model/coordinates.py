"""Functions of a model some of whose joints follow others: by the chain rule from those of the model of all joints."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from vitree.arguments import entries
from vitree.mechanism.followers import Followers
from vitree.model.stacks import checked, on_stacks

Method = TypeVar("Method", bound=Callable)

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
    "rows": lambda followers, x: x[..., followers.kept],  # a number of each constraint
    "rows by q": lambda followers, x: followers.contract_force(x[..., followers.kept, :]),
    "velocity by q": lambda followers, x: followers.contract_force(x[..., followers.own_v, :]),
    "velocity by force": lambda followers, x: followers.contract_velocity(x[..., followers.own_v, :]),
}
#: A method by the names of its arguments, as in ``calls.py``: for models of all joints it costs nothing to speak of.
CALLED = """
def called({0}, {1}):
    return method({0}, {2}) if {0}._followers is None else mapped({0}, {2})
"""


def in_coordinates(
    *results: str, checks: str | None = None, by: Callable[..., Any] | None = None
) -> Callable[[Method], Method]:
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

    def of(method: Method) -> Method:
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
        def mapped(self, *given, **more):
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
        exec(CALLED.format(model.name, words, given), scope)
        called = scope["called"]
        called.__defaults__ = tuple(x.default for x in first if x.default is not x.empty)
        called.__kwdefaults__ = {x.name: x.default for x in named if x.default is not x.empty}
        called.results = results
        return functools.wraps(method)(called)  # type: ignore[return-value]

    return of


def of_full(method: Method) -> Method:
    """A property without coordinates, or in those of ``full``: where joints follow others it is that of ``full``."""

    @functools.wraps(method)
    def found(self):
        return method(self) if self._followers is None else getattr(self.full, method.__name__)

    found.results = ("plain",)  # type: ignore[attr-defined]
    return found  # type: ignore[return-value]
