# Steppers: what runs many steps without Python. One lane.
#
# A Stepper owns a state (t, q, and p or v) and advances it. Its contract:
#   1. step() leaves the state untouched unless it returns OK.
#   2. It sets `iterations` (corrections of q2) and `error` (last residual) of the step.
#   3. Given the same state, loads and options it returns the same bits, whatever was run before,
#      apart from the guess history, which changes where the solver starts.

from libc.math cimport INFINITY, fabs, isfinite, log
from libc.string cimport memcpy, memset

import numpy as np

cdef enum:
    OK = 0
    NOT_CONVERGED = 1
    TURNED_TOO_FAR = 2
    NOT_FINITE = 3
    CALLBACK_FAILED = 4
    DEPENDENT = 5

STATUS_TEXT = {
    NOT_CONVERGED: "the residual stayed above the tolerance",
    TURNED_TOO_FAR: "a body would turn by half a turn or more in one step",
    NOT_FINITE: "the state became infinite or NaN",
    DEPENDENT: "the constraints depend on each other at this configuration (redundant or singular)",
}


cdef bint all_finite(const double* x, int n) noexcept nogil:
    cdef int i
    cdef double s = 0.0
    for i in range(n):
        s += x[i] - x[i]
    return s == 0.0


cdef double largest(const double* x, int n) noexcept nogil:
    # max |x_i|, or NaN if any is
    cdef int i
    cdef double s = 0.0
    for i in range(n):
        s = vt_max_nan(s, fabs(x[i]))
    return s


cdef class Stepper:
    """A state and the means to advance it; base of the compiled integrators."""

    cdef readonly CoreModel model
    cdef list memory
    cdef int nq, nv, nbody
    cdef readonly double h
    cdef readonly double t
    cdef readonly long steps            # taken since the state was set
    cdef readonly long total_iterations
    cdef readonly int iterations
    cdef readonly int most_iterations
    cdef readonly double error
    cdef double t0
    cdef double* q
    cdef double* x                      # p for variational integrators, v for the others
    cdef double* q2
    cdef double* x2
    cdef double* tau                    # joint forces
    cdef double* acc_tau
    cdef double* work6
    cdef vt_load* load
    cdef int nload
    cdef object torque                  # None, or a callable (t, q, v) -> (nv,)
    cdef readonly object exception
    cdef Pose* pose
    cdef AbaBody* aba_body

    def __cinit__(self, CoreModel model, double h, torque=None, loads=(), **options):
        cdef const vt_model* m = &model.m
        cdef int k
        self.model, self.h = model, h
        self.nq, self.nv, self.nbody = m.nq, m.nv, m.nbody
        self.memory = []
        self.q = self.doubles(m.nq)
        self.q2 = self.doubles(m.nq)
        self.x = self.doubles(m.nv)
        self.x2 = self.doubles(m.nv)
        self.tau = self.doubles(m.nv)
        self.acc_tau = self.doubles(m.nv)
        self.work6 = self.doubles(6 * m.nbody)
        self.pose = <Pose*>self.take(m.nbody * sizeof(Pose))
        self.aba_body = <AbaBody*>self.take(m.nbody * sizeof(AbaBody))
        self.nload = len(loads)
        self.load = <vt_load*>self.take(self.nload * sizeof(vt_load) + 1)
        for k, (body, local, point, couple, force) in enumerate(loads):
            self.load[k].body, self.load[k].local = body, local
            for i in range(3):
                self.load[k].point[i] = point[i]
                self.load[k].torque[i] = couple[i]
                self.load[k].force[i] = force[i]
        if callable(torque):
            self.torque = torque
        elif torque is not None:
            for k in range(m.nv):
                self.tau[k] = torque[k]

    cdef void* take(self, size_t size) except NULL:
        # zeroed memory that lives as long as the stepper
        cdef Scratch block = Scratch(size + 8)
        self.memory.append(block)
        return block.take(size + 8)

    cdef double* doubles(self, Py_ssize_t count) except NULL:
        return <double*>self.take(count * sizeof(double))

    # ---- for Python -----------------------------------------------------------------------------

    def set_state(self, double t, const double[::1] q, const double[::1] x):
        """Start from time t, configuration q and momentum p (or velocity v); forget all history."""
        self.t = self.t0 = t
        self.steps = self.total_iterations = 0
        self.most_iterations = 0
        memcpy(self.q, &q[0], self.nq * sizeof(double))
        memcpy(self.x, &x[0], self.nv * sizeof(double))
        self.begin()

    def state(self):
        """Return (t, q, x), copies."""
        q, x = np.empty(self.nq), np.empty(self.nv)
        cdef double[::1] vq = q, vx = x
        memcpy(&vq[0], self.q, self.nq * sizeof(double))
        memcpy(&vx[0], self.x, self.nv * sizeof(double))
        return self.t, q, x

    def run(self, long count, long every, long first, double[::1] t, double[:, ::1] q, double[:, ::1] x,
            int[::1] iterations, double[::1] error):
        """Advance by count steps, writing each `every`-th state to the rows from `first` on.

        Returns (status, rows written). After a status other than 0 the state is that before the
        failed step.
        """
        cdef long k, row = first
        cdef int status = OK
        with nogil:
            for k in range(count):
                status = self.step()
                if status != OK:
                    break
                self.steps += 1
                self.t = self.t0 + self.steps * self.h
                self.total_iterations += self.iterations
                if self.iterations > self.most_iterations:
                    self.most_iterations = self.iterations
                if self.steps % every == 0:
                    t[row] = self.t
                    memcpy(&q[row, 0], self.q, self.nq * sizeof(double))
                    memcpy(&x[row, 0], self.x, self.nv * sizeof(double))
                    iterations[row] = self.iterations
                    error[row] = self.error
                    row += 1
        return status, row - first

    def acceleration_at(self, double t, const double[::1] q, const double[::1] v):
        """Acceleration (nv,) at a time and state under gravity, loads, damping and torque."""
        out = np.empty(self.nv)
        cdef double[::1] view = out
        if self.torque is not None and self.ask_torque(t, &q[0], &v[0]) != OK:
            raise self.exception
        self.acceleration(&q[0], &v[0], &view[0])
        return out

    def momentum_between(self, double t, const double[::1] q, const double[::1] q2):
        """Momentum (nv,) at (t, q) of the step that leads to q2."""
        raise NotImplementedError

    # ---- for the integrators --------------------------------------------------------------------

    cdef void begin(self) noexcept nogil:
        pass

    cdef int step(self) noexcept nogil:
        return OK

    cdef void accept(self) noexcept nogil:
        # the trial state becomes the state
        cdef double* swap = self.q
        self.q = self.q2
        self.q2 = swap
        swap = self.x
        self.x = self.x2
        self.x2 = swap

    cdef int ask_torque(self, double t, const double* q, const double* v) noexcept nogil:
        # tau from the user's callable
        cdef int status
        with gil:
            try:
                status = self.ask_torque_python(t, q, v)
            except BaseException as error:
                self.exception = error
                status = CALLBACK_FAILED
        return status

    cdef int ask_torque_python(self, double t, const double* q, const double* v) except -1:
        cdef int k
        cdef double[::1] view
        aq, av = np.empty(self.nq), np.empty(self.nv)
        view = aq
        memcpy(&view[0], q, self.nq * sizeof(double))
        view = av
        memcpy(&view[0], v, self.nv * sizeof(double))
        result = np.ascontiguousarray(self.torque(t, aq, av), dtype=float)
        if result.shape != (self.nv,):
            raise ValueError(f"torque(t, q, v) returned shape {result.shape}; it must be ({self.nv},)")
        if not np.isfinite(result).all():
            raise ValueError(f"torque(t, q, v) returned NaN or infinity at t = {t:.9g} s")
        view = result
        for k in range(self.nv):
            self.tau[k] = view[k]
        return OK

    cdef void acceleration(self, const double* q, const double* v, double* out) noexcept nogil:
        # under tau, damping, wrenches and gravity
        cdef const vt_model* m = &self.model.m
        cdef int k
        cdef double* wrench = NULL
        for k in range(self.nv):
            self.acc_tau[k] = self.tau[k] - m.damping[k] * v[k]
        if self.nload:
            forward_kinematics(m, q, self.pose)
            wrenches(m, self.pose, self.load, self.nload, self.work6)
            wrench = self.work6
        aba(m, m.g, q, v, self.acc_tau, wrench, out, self.aba_body)

    cdef void velocity(self, const double* q, const double* p, const double* zeros, double* out) noexcept nogil:
        # M^-1 p
        cdef double none[3]
        memset(none, 0, sizeof(none))
        aba(&self.model.m, none, q, zeros, p, NULL, out, self.aba_body)

    # ---- for steppers whose state is (q, p) ------------------------------------------------------

    cdef void guess_from_dynamics(self, double share, double* v, double* a, const double* zeros,
                                  double* y) noexcept nogil:
        # y = h v + share h^2 a, v = M^-1 p
        cdef int k
        self.velocity(self.q, self.x, zeros, v)
        for k in range(self.nv):
            y[k] = self.h * v[k]
        if share != 0.0:
            self.acceleration(self.q, v, a)
            for k in range(self.nv):
                y[k] += share * self.h * self.h * a[k]

    cdef int predict_torque(self, double* v, double* v_old, double* a, double* d,
                            const double* zeros) noexcept nogil:
        # the callable's torque at the predicted middle of the step: q + h v/2 + h^2 a/8, v + h a/2 with
        # the last step's mean acceleration; one call, second order
        cdef int k
        self.velocity(self.q, self.x, zeros, v)
        if self.steps == 0:
            # no step lies behind: the acceleration under the torque asked for at the start
            if self.ask_torque(self.t, self.q, v) != OK:
                return CALLBACK_FAILED
            self.acceleration(self.q, v, a)
        else:
            for k in range(self.nv):
                a[k] = (v[k] - v_old[k]) / self.h
        memcpy(v_old, v, self.nv * sizeof(double))
        for k in range(self.nv):
            d[k] = self.h * (0.5 * v[k] + 0.125 * self.h * a[k])
            v[k] += 0.5 * self.h * a[k]
        integrate(&self.model.m, self.q, d, self.q2)
        return self.ask_torque(self.t + 0.5 * self.h, self.q2, v)


include "explicit_steps.pxi"
include "linear_time_steps.pxi"
include "midpoint_steps.pxi"
