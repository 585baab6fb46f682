"""What happens between the steps of a run: controllers are asked, answers begin to act, a robot is pushed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from vitree.errors import InputError
from vitree.integrators import Integrator
from vitree.mechanism.pushes import ExternalWrench, Impulse
from vitree.run.controller import Held

#: A step that no run comes to.
NEVER = 2**62
#: Share of a step within which a time is the step's end.
NEAR = 1e-9


class Event(NamedTuple):
    """Something that happens at one time: a blow, or the gate of a push opens or closes."""

    step: int
    rest: float  # [s] since that step began
    order: int  # at the same time gates close before others open
    push: Impulse | int
    opened: bool


class Between:
    """What happens between the steps of a run.

    Parameters
    ----------
    integrator : Integrator
        With its state.
    t0 : float [s]
        When the run began; steps are counted from there.
    held : mapping of "torque" and "inputs" to Held
    pushes : sequence of Impulse and ExternalWrench
        Those of class ExternalWrench are those of the integrator, in the same order.
    resume : Trajectory, optional
        The run that goes on.
    steps : int, optional
        How many there will be; None if nobody knows.

    Raises
    ------
    InputError
        If a push acts at no time of the run, or before it.
    """

    def __init__(self, integrator: Integrator, t0: float, held: Mapping[str, Held], pushes: tuple,
                 resume: Any = None, steps: int | None = None):  # fmt: skip
        self.integrator, self.t0, self.held = integrator, t0, dict(held)
        self._torque, self._inputs = held.get("torque"), held.get("inputs")
        self._controllers = tuple(held.values())
        self.events = sorted(_events(pushes, t0, integrator.dt), key=lambda event: event[:3])
        self.done = 0
        self.busy = bool(self.held or self.events)
        if not self.busy:
            return
        integrator.commanded = True
        for push in pushes:
            _require_within(push, t0, integrator.dt, None if steps is None else integrator.steps + steps)
        for k in range(sum(isinstance(push, ExternalWrench) for push in pushes)):
            integrator.open_gate(k, False)
        at = integrator.steps
        while self.done < len(self.events) and self.events[self.done][:2] < (at, 0.0):
            event = self.events[self.done]
            if not isinstance(event.push, Impulse):
                integrator.open_gate(event.push, event.opened)
            self.done += 1
        kept = {} if resume is None else resume.settings.get("held", {})
        for name, one in self.held.items():
            if name in kept:
                one.take_up(kept[name])
        self.command()

    def command(self) -> None:
        """Let the values that are held act."""
        if self.held:
            torque, inputs = self._torque, self._inputs
            self.integrator.command(None if torque is None else torque.value, None if inputs is None else inputs.value)

    def advance(self, steps: int, take: Callable[[int], None], end_step: Callable[[], None],
                open_step: Callable[[], None] = lambda: None) -> None:  # fmt: skip
        """Take steps; ``take`` takes so many at once, ``open_step`` and ``end_step`` are about one taken in parts."""
        integrator = self.integrator
        while steps > 0:
            at = integrator.steps
            ahead = self._happen(at) - at
            if ahead < 1:
                open_step()
                self._parts(at)
                end_step()
                ahead = 1
            else:
                ahead = min(steps, ahead)
                take(ahead)
            steps -= ahead

    def _next_event(self) -> int:
        """The step in which the next event lies."""
        return self.events[self.done].step if self.done < len(self.events) else NEVER

    def _happen(self, at: int) -> int:
        """Let happen all that does before the step ``at``; return the step before or in which something does next."""
        seen, changed, ahead = None, False, NEVER
        for one in self._controllers:
            if at % one.every == 0:
                seen = self.integrator.look() if seen is None else (seen[0], seen[1].copy(), seen[2].copy())
                changed = one.ask(at, *seen) or changed
            if one.coming:
                changed = one.arrived(at) or changed
            ahead = min(ahead, one.next(at))
        if changed:
            self.command()
        if self.events:
            while self._next_event() == at and self.events[self.done].rest == 0.0:
                self._event()
            ahead = min(ahead, self._next_event())
        return ahead

    def _parts(self, at: int) -> None:
        """Take the step ``at``, parted by the events within it; where a part fails all is as before the step."""
        integrator, dt, past, before = self.integrator, self.integrator.dt, 0.0, (self.integrator.keep(), self.keep())
        try:
            while self._next_event() == at:
                rest = self.events[self.done].rest
                if rest > past:
                    integrator.advance_part(rest - past, False)
                    past = rest
                self._event()
            integrator.advance_part(dt - past, True)
        except BaseException:
            integrator.go_back(before[0])
            self.go_back(before[1])
            raise

    def _event(self) -> None:
        """Let the next event happen."""
        event, integrator = self.events[self.done], self.integrator
        self.done += 1
        if isinstance(event.push, Impulse):
            self.strike(event.push)
        else:
            integrator.open_gate(event.push, event.opened)

    def strike(self, blow: Impulse) -> None:
        """Change the momentum by J^T (angular, linear impulse)."""
        integrator, model = self.integrator, self.integrator.model
        q, x = integrator.state()
        change = model.frame_jacobian(blow.frame, q, blow.axes).T @ np.array([*blow.angular, *blow.impulse])
        integrator.strike(integrator.kicked(np.array([integrator.t]), q[None], x[None], change[None])[0])

    def settings(self) -> dict[str, Any]:
        """Return what the controllers hold, for the record."""
        return {"held": {name: one.settings() for name, one in self.held.items()}} if self.held else {}

    def keep(self) -> tuple:
        """Return all that changes in a run."""
        return self.done, {name: one.keep() for name, one in self.held.items()}

    def go_back(self, kept: tuple) -> None:
        """Go on from what :meth:`keep` returned."""
        self.done = kept[0]
        opened = dict.fromkeys([e.push for e in self.events if not isinstance(e.push, Impulse)], False)
        opened |= {e.push: e.opened for e in self.events[: self.done] if not isinstance(e.push, Impulse)}
        for k, now in opened.items():
            self.integrator.open_gate(k, now)
        for name, one in self.held.items():
            one.go_back(kept[1][name])
        self.command()


def _require_within(push: Impulse | ExternalWrench, t0: float, dt: float, steps: int | None) -> None:
    """Raise an InputError if a push is over before a run begins, or begins after so many steps from there."""
    window = isinstance(push, ExternalWrench)
    first, last = (push.start, push.end) if isinstance(push, ExternalWrench) else (push.at, push.at)
    begins, ends = _place(first, t0, dt), _place(last, t0, dt)
    late = steps is not None and (begins >= (steps, 0.0) if window else begins > (steps, 0.0))
    if not late and ends >= (0, 0.0) and not (window and ends == (0, 0.0)):
        return
    when = f"from {first:.9g} s to {last:.9g} s" if window else f"at t = {first:.9g} s"
    run = f"begins at t = {t0:.9g} s" + ("" if steps is None else f" and ends at {t0 + steps * dt:.9g} s")
    raise InputError(f"the {push.name} acts {when}, and the run {run}; give a time within it")


def _events(pushes: tuple, t0: float, dt: float) -> list[Event]:
    events, gates = [], 0
    for push in pushes:
        if isinstance(push, ExternalWrench):
            events += [Event(*_place(push.start, t0, dt), 1, gates, True),
                       Event(*_place(push.end, t0, dt), 0, gates, False)]  # fmt: skip
            gates += 1
        else:
            events.append(Event(*_place(push.at, t0, dt), 2, push, False))
    return events


def _place(t: float, t0: float, dt: float) -> tuple[int, float]:
    """The step in which a time lies, and the time since the step began."""
    share = (t - t0) / dt
    if abs(share) > 2.0**53:
        return (2**53 if share > 0 else -1), 0.0
    step = round(share)
    if abs(share - step) <= NEAR * max(1.0, abs(share)):
        return step, 0.0
    step = int(np.floor(share))
    return step, t - (t0 + step * dt)
