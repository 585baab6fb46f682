"""The arrays of a run that is held: each is always the same array, with the numbers of the state in it."""

from __future__ import annotations

import numpy as np

from vitree import _core
from vitree._core import scalar
from vitree.integrators.base import Integrator
from vitree.integrators.compiled import CompiledIntegrator
from vitree.model.system import System
from vitree.run.runner import Touched

core = scalar()


class Views:
    """The state of an integrator in the coordinates of a model, and what acts on it.

    Arrays of a compiled stepper are views of its memory. Others are filled when they are asked for.

    Parameters
    ----------
    integrator : Integrator
    model : System
        That of the integrator, or a reduced one.
    own_drive : bool
        Whether torque and inputs are arrays that the stepper does not see.

    Attributes
    ----------
    stepper : object or None
        The compiled stepper.
    torque : (nv,) array [N or N m]
    inputs : (nu,) array
    own_drive : bool
    """

    def __init__(self, integrator: Integrator, model: System, own_drive: bool):
        full, followers = integrator.model, model._followers
        stepper: _core.Stepper | None = getattr(integrator, "stepper", None)
        self.stepper = stepper if hasattr(stepper, "windows") else None  # a stepper of Python has none
        self.own_drive = own_drive or self.stepper is None
        self._integrator, self._model, self._followers = integrator, model, followers
        self._seen: dict[str, int] = {}
        q, x = np.zeros(full.nq), np.zeros(full.nv)
        self.torque, self.inputs = np.zeros(model.nv), np.zeros(len(model.input_names))
        if self.stepper is not None:
            if followers is not None and not self.own_drive:
                self.stepper.lead(followers.own_v.tolist())
            q, x, *drive = self.stepper.windows()
            if not self.own_drive:
                self.torque, self.inputs = drive
        #: whether v is that of the state as it is stepped: not in contact
        self._steps_v = not (integrator.uses_momentum or getattr(integrator, "touches_here", False))
        # the state of the integrator, and the velocity that belongs to it
        self._full_q, self._full_x, self._full_v = q, x, np.zeros(full.nv)
        if followers is None:
            moving = x if self._steps_v else self._full_v
            self._q, self._v, self._p = q, moving, x if integrator.uses_momentum else np.zeros(full.nv)
        else:
            self._q, self._v, self._p = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
        self._seen_q, self._seen_v, self._seen_p = (_read_only(x) for x in (self._q, self._v, self._p))
        #: contacts, where the stepper knows any
        self.touched: Touched | None = None
        if isinstance(integrator, CompiledIntegrator) and integrator.touches_here:
            self.touched = Touched(integrator)
        self._gaps = np.zeros(0 if self.touched is None else self.touched.count)
        self._seen_gaps = _read_only(self._gaps)
        #: whether q is always that of the state, and v or p as well
        self._live = self.stepper is not None and followers is None
        #: the first stepper of a run whose model changed, and which arrays are views of its memory
        self._home: _core.Stepper | None = None
        self._in_window = "" if not self._live else "p" if integrator.uses_momentum else "v" if self._steps_v else ""

    def turned_to(self, integrator: Integrator, model: System) -> Views:
        """Return the views of an integrator that goes on with the run, by the arrays that were given out.

        Those of a compiled stepper are views of the memory of the first one, which :meth:`show` writes to. There is
        another array of gaps where other things may meet.
        """
        made = Views(integrator, model, own_drive=True)
        made._home = self.stepper if self._live else self._home
        made._live, made._in_window = False, self._in_window
        made.torque, made.inputs = self.torque, self.inputs
        made._q, made._v, made._p = self._q, self._v, self._p
        made._seen_q, made._seen_v, made._seen_p = self._seen_q, self._seen_v, self._seen_p
        if made.stepper is None:
            made._full_q, made._full_x, made._full_v = self._full_q, self._full_x, self._full_v
        elif made._home is not None:
            made._full_v = self._full_v
        if len(self._gaps) == len(made._gaps):
            made._gaps, made._seen_gaps = self._gaps, self._seen_gaps
        return made

    def show(self) -> None:
        """Write the state to the arrays of a run that has another stepper than at first."""
        if self._home is None:
            return
        x = self._full_x
        if "v" in self._in_window and not self._steps_v:
            x = np.empty_like(self._full_x)
            self._velocity(x)
        self._home.show_state(self._full_q, x)

    def _velocity(self, v: np.ndarray) -> None:
        """Write the velocity of the state."""
        if self._steps_v:
            v[:] = self._full_x
        elif self.stepper is None or not self.stepper.velocity_here(v, self._integrator.uses_momentum):
            v[:] = self._integrator.look()[2]

    def forget(self) -> None:
        """Fill the arrays anew when they are next asked for, though no step was taken."""
        self._seen.clear()

    def _is_new(self, name: str) -> bool:
        """Whether an array has the numbers of the state already; it has them from here on."""
        steps = self._integrator.steps
        if self._seen.get(name) == steps:
            return True
        self._seen[name] = steps
        if self.stepper is None:
            self._full_q[:], self._full_x[:] = self._integrator.state()
        return False

    @property
    def q(self) -> np.ndarray:
        """The configuration (nq,) [m or rad]."""
        if self._home is not None:
            self.show()
        elif not (self._live or self._is_new("q")) and self._followers is not None:
            self._full_q.take(self._followers.own_q, out=self._q)
        return self._seen_q

    @property
    def v(self) -> np.ndarray:
        """The velocity (nv,) [m/s or rad/s], as records have it."""
        if self._home is not None and "v" in self._in_window:
            self.show()
            return self._seen_v
        if (self._live and self._steps_v) or self._is_new("v"):
            return self._seen_v
        v = self._full_x
        if not self._steps_v or self._home is not None:
            v = self._full_v
            try:
                self._velocity(v)
            except BaseException:
                self.forget()
                raise
        if self._followers is not None:
            v.take(self._followers.own_v, out=self._v)
        return self._seen_v

    @property
    def gaps(self) -> np.ndarray:
        """The gaps (n,) [m] of all that may meet."""
        if self.touched is not None and not self._is_new("gaps"):
            core.gaps_here(self.stepper, self._gaps)
        return self._seen_gaps

    @property
    def p(self) -> np.ndarray:
        """The momentum (nv,) [kg m/s or kg m^2/s]."""
        by_momentum = self._integrator.uses_momentum
        if self._home is not None and by_momentum:
            self.show()
            return self._seen_p
        if (self._live and by_momentum) or self._is_new("p"):
            return self._seen_p
        if not by_momentum:
            v = self._full_x if self._followers is None else self._full_x[self._followers.own_v]
            self._p[:] = self._model._momenta(self.q[None], v[None])[0]
        elif self._followers is not None:
            self._p[:] = self._followers.contract_force(self._full_x)
        return self._seen_p


def _read_only(array: np.ndarray) -> np.ndarray:
    """A read-only view."""
    view = array.view()
    view.flags.writeable = False
    return view
