"""SciPy's solve_ivp methods on (q, v), as baselines and as tight references."""

from __future__ import annotations

import time

import numpy as np
from scipy.integrate import solve_ivp

from vitree._core._x1 import Stepper
from vitree.errors import ConvergenceError, InputError
from vitree.flat import BALL, FREE
from vitree.integrators.base import Integrator


class SciPy(Integrator):
    """An adaptive solver of SciPy; ``dt`` only says where results are wanted.

    Quaternions are integrated as numbers and normalised wherever they are used.
    """

    scipy_method: str
    options = {
        "rtol": "relative tolerance of the solver (default 1e-8)",
        "atol": "absolute tolerance of the solver (default 1e-10)",
    }

    def _prepare(self):
        self.rtol, self.atol = self.chosen.get("rtol", 1e-8), self.chosen.get("atol", 1e-10)
        for name, value in (("rtol", self.rtol), ("atol", self.atol)):
            if not (isinstance(value, int | float) and np.isfinite(value) and value > 0):
                raise InputError(f"{name}={value!r} must be a positive number")
        self.field = Stepper(self.model.core, self.dt, self.torque, self.loads)
        self.quaternions = self.model._quaternions

    @property
    def settings(self):
        return {"rtol": self.rtol, "atol": self.atol}

    def start(self, t, q, x):
        self.t, self.q, self.v = float(t), q.copy(), x.copy()

    def _normalised(self, q):
        q = np.ascontiguousarray(q, dtype=float).copy()
        for i in self.quaternions:
            q[..., i : i + 4] /= np.linalg.norm(q[..., i : i + 4], axis=-1, keepdims=True)
        return q

    def _rate(self, t, y):
        q, v = self._normalised(y[: self.model.nq]), np.ascontiguousarray(y[self.model.nq :])
        return np.concatenate((configuration_rate(self.model, q, v), self.field.acceleration_at(t, q, v)))

    def run(self, records, steps, every, progress):
        model, nq = self.model, self.model.nq
        marks = np.arange(every, steps + 1, every)
        done = 0
        while done < steps:
            # a part at a time, so that progress can be shown and Ctrl-C heard
            count = min(steps - done, max(every, steps // 50 // every * every))
            t0, t1 = self.t + done * self.dt, self.t + (done + count) * self.dt
            inside = marks[(marks > done) & (marks <= done + count)]
            began = time.perf_counter()
            with np.errstate(all="ignore"):
                result = solve_ivp(
                    self._rate, (t0, t1), np.concatenate((self.q, self.v)), method=self.scipy_method,
                    t_eval=np.minimum(self.t + inside * self.dt, t1), rtol=self.rtol, atol=self.atol,
                )  # fmt: skip
                last = result.y[:, -1] if result.y.size else np.concatenate((self.q, self.v))
            records.seconds += time.perf_counter() - began
            rows = slice(records.rows, records.rows + result.y.shape[1] if result.y.size else records.rows)
            n = rows.stop - rows.start
            if n:
                records.t[rows] = result.t
                records.q[rows] = self._normalised(result.y[:nq].T)
                records.x[rows] = result.y[nq:].T
                records.iterations[rows], records.residual[rows] = 0, 0.0
                records.rows += n
            if not result.success or not np.isfinite(last).all():
                raise ConvergenceError(
                    f"{self.name}: stopped near t = {result.t[-1] if n else t0:.9g} s: {result.message} "
                    f"Loosen rtol= or atol=, or take another method",
                    time=float(result.t[-1] if n else t0), residual=np.nan, iterations=0,
                )  # fmt: skip
            done += count
            end = self._end(result, t1)
            self.q, self.v = self._normalised(end[: model.nq]), end[model.nq :].copy()
            if progress is not None:
                progress(done, steps)

    def _end(self, result, t1):
        """State at the end of a part; the last record if one falls there."""
        return result.y[:, -1]


def configuration_rate(model, q, v):
    """dq/dt (nq,) for a body velocity v (nv,): quaternion kinematics on ball and free joints."""
    rate = np.empty(model.nq)
    for kind, iq, iv in zip(model.flat.kind, model._iq, model._iv, strict=True):
        if kind == BALL:
            rate[iq : iq + 4] = _quaternion_rate(q[iq : iq + 4], v[iv : iv + 3])
        elif kind == FREE:
            x, y, z, w = turn = q[iq + 3 : iq + 7]
            u, linear = np.array([x, y, z]), v[iv : iv + 3]
            c = 2.0 * np.cross(u, linear)
            rate[iq : iq + 3] = linear + w * c + np.cross(u, c)
            rate[iq + 3 : iq + 7] = _quaternion_rate(turn, v[iv + 3 : iv + 6])
        else:
            rate[iq] = v[iv]
    return rate


def _quaternion_rate(turn, omega):
    """Half the product of a quaternion (x, y, z, w) and the body angular velocity."""
    u, w = turn[:3], turn[3]
    return 0.5 * np.append(w * omega + np.cross(u, omega), -u @ omega)


def _variant(method: str, order: int) -> type[SciPy]:
    return type(
        f"SciPy{method}", (SciPy,),
        {"name": f"scipy-{method.lower()}", "scipy_method": method, "order": order,
         "__doc__": f"solve_ivp(method={method!r}) on (q, v).", "__module__": __name__},
    )  # fmt: skip


VARIANTS = [_variant(m, o) for m, o in (("RK45", 5), ("DOP853", 8), ("Radau", 5), ("BDF", 5), ("LSODA", 12))]
