# Steppers of vehicles: what runs many steps without Python. One lane.
#
# A VehicleStepper owns a state (t, q, x), x being the momentum p or the velocity v, and the inputs u. A kind of it
# says how many entries they have, and how to step:
#   1. step() reads t, h, q, x and u, writes the state at t + h to q2 and x2, and returns OK; or it returns another
#      status. It never writes q and x.
#   2. It sets `iterations` and `error`, where it solves for something.
#   3. Where `asks` is set, it calls ask(t, q, v) once or more to have u and `tau` from the user's callables.
#   4. begin() forgets what earlier steps have left; pieces() names all of that, for checkpoints.


cdef class VehicleStepper:
    """A state and the means to advance it; base of the compiled integrators of vehicles.

    ``inputs`` and ``torque`` are None, arrays, or callables (t, q, v); ``inputs`` may have a row a step.
    """

    cdef readonly int nq, nv, nu
    cdef readonly double h              # of the step at hand
    cdef readonly double t
    cdef readonly double t0             # the time of the state that was set
    cdef readonly long steps            # taken since the state was set
    cdef readonly long total_iterations
    cdef readonly int most_iterations
    cdef readonly int iterations        # of the last step
    cdef readonly double error          # its last residual
    cdef readonly object exception
    cdef double goal                    # residual accepted, infinite if nothing is solved for
    cdef double span                    # the step, if all are equal
    cdef const double[::1] spans        # else (count,) and (count + 1,): the steps and their ends
    cdef const double[::1] ends
    cdef long begun                     # `steps` where the run at hand and its rows of inputs begin
    cdef double h_last                  # the step before; zero if there was none
    cdef double contraction             # of the last correction
    cdef object contraction_out
    cdef list memory
    cdef double* q
    cdef double* x
    cdef double* q2
    cdef double* x2
    cdef double* u                      # (nu,)
    cdef double* tau                    # (nv,)
    cdef const double[:, ::1] u_rows    # a row a step
    cdef object ask_u
    cdef object ask_tau
    cdef bint asks                      # callables are asked at each step
    cdef int trouble                    # what a callable's failure was
    cdef char* cursor                   # into a history that is read or written, or NULL: it is measured
    cdef bint restoring
    cdef size_t length

    def __cinit__(self, int nq, int nv, int nu, double h, inputs=None, torque=None, *more, **options):
        self.nq, self.nv, self.nu, self.h, self.span = nq, nv, nu, h, h
        self.memory = []
        self.q, self.q2 = self.doubles(nq), self.doubles(nq)
        self.x, self.x2 = self.doubles(nv), self.doubles(nv)
        self.u, self.tau = self.doubles(nu), self.doubles(nv)
        self.goal = INFINITY
        self.u_rows = None
        self.spans = self.ends = None
        if callable(inputs):
            self.ask_u = inputs
        elif inputs is not None:
            inputs = np.ascontiguousarray(inputs, dtype=float)
            if inputs.ndim == 1:
                self.read(inputs, nu, self.u, "inputs")
            else:
                self.u_rows = inputs
        if callable(torque):
            self.ask_tau = torque
        elif torque is not None:
            self.read(torque, nv, self.tau, "torque")
        self.asks = self.ask_u is not None or self.ask_tau is not None

    cdef double* doubles(self, Py_ssize_t count) except NULL:
        # zeros that live as long as the stepper
        cdef Scratch block = Scratch((count + 1) * sizeof(double))
        self.memory.append(block)
        return <double*>block.take((count + 1) * sizeof(double))

    # ---- what a kind of stepper says ---------------------------------------------------------------

    cdef int step(self) noexcept nogil:
        return OK

    cdef void begin(self) noexcept nogil:
        pass

    cdef void pieces(self):
        self.piece(&self.t, sizeof(double))
        self.piece(&self.t0, sizeof(double))
        self.piece(&self.steps, sizeof(long))
        self.piece(&self.total_iterations, sizeof(long))
        self.piece(&self.most_iterations, sizeof(int))
        self.piece(&self.h_last, sizeof(double))
        self.piece(self.q, self.nq * sizeof(double))
        self.piece(self.x, self.nv * sizeof(double))

    cdef void piece(self, void* at, size_t size) noexcept:
        # one part of the history
        self.length += size
        if self.cursor == NULL or size == 0:
            return
        if self.restoring:
            memcpy(at, self.cursor, size)
        else:
            memcpy(self.cursor, at, size)
        self.cursor += size

    # ---- for Python --------------------------------------------------------------------------------

    def set_state(self, double t, const double[::1] q, const double[::1] x):
        """Start from time t, configuration q and momentum p (or velocity v); forget all history."""
        self.t = self.t0 = t
        self.steps = self.begun = self.total_iterations = 0
        self.most_iterations = 0
        self.spans, self.h, self.h_last, self.contraction = None, self.span, 0.0, NAN
        memcpy(self.q, &q[0], self.nq * sizeof(double))
        memcpy(self.x, &x[0], self.nv * sizeof(double))
        self.begin()

    @property
    def tolerance(self):
        """Residual accepted as a share of the momentum, or None if steps solve for nothing."""
        return self.goal if self.goal < INFINITY else None

    def state(self):
        """Return (t, q, x), copies."""
        return self.t, self.array(self.q, self.nq), self.array(self.x, self.nv)

    def set_steps(self, spans, ends):
        """Take steps (n,) [s] from the state on that end at the times ends[1:], (n + 1,)."""
        self.spans = np.ascontiguousarray(spans, dtype=float)
        self.ends = np.ascontiguousarray(ends, dtype=float)
        self.begun = self.steps

    def history(self):
        """Return all that the next steps depend on, as bytes for :meth:`set_history`."""
        cdef bytearray kept
        self.cursor, self.restoring, self.length = NULL, False, 0
        self.pieces()
        kept = bytearray(self.length)
        self.cursor = kept
        self.pieces()
        return bytes(kept)

    def set_history(self, bytes kept):
        """Go on from a history, of a stepper made with the same arguments."""
        self.cursor, self.restoring, self.length = NULL, False, 0
        self.pieces()
        if self.length != <size_t>len(kept):
            raise ValueError(f"a history of {len(kept)} bytes; this stepper's has {self.length}")
        self.cursor, self.restoring = kept, True
        self.pieces()
        self.spans, self.h, self.begun = None, self.span, self.steps

    def watch(self, contraction):
        """Write the contraction of each recorded step's last correction to rows of an array, or None: no more."""
        self.contraction_out = contraction

    def run(self, long count, long every, long first, double[::1] t, double[:, ::1] q, double[:, ::1] x,
            int[::1] iterations, double[::1] error, multipliers, long stride=1):
        """Advance by count steps, writing each `every`-th state to the rows from `first` on.

        Returns (status, rows written). After a status other than 0 the state is that before the failed step.
        Steps are counted from where the run began or was resumed.
        """
        cdef long k, at = self.steps - self.begun, row = first
        cdef int status = OK
        cdef double[::1] contraction = self.contraction_out
        if self.u_rows is not None and at + count > self.u_rows.shape[0]:
            raise ValueError(f"the inputs end after {self.u_rows.shape[0]} steps; {at + count} are asked for")
        if self.spans is not None and at + count > self.spans.shape[0]:
            raise ValueError(f"the step sizes end after {self.spans.shape[0]} steps; {at + count} are asked for")
        with nogil:
            for k in range(count):
                self.trouble = OK
                if self.u_rows is not None and self.nu:
                    memcpy(self.u, &self.u_rows[at, 0], self.nu * sizeof(double))
                if self.spans is not None:
                    self.h = self.spans[at]
                status = self.step()
                if self.trouble != OK:
                    status = self.trouble
                elif status == OK and not (all_finite(self.q2, self.nq) and all_finite(self.x2, self.nv)):
                    status = NOT_FINITE
                if status != OK:
                    self.begin()
                    break
                self.q, self.q2, self.x, self.x2 = self.q2, self.q, self.x2, self.x
                self.h_last = self.h
                self.steps += 1
                at += 1
                self.t = self.ends[at] if self.spans is not None else self.t0 + self.steps * self.h
                self.total_iterations += self.iterations
                if self.iterations > self.most_iterations:
                    self.most_iterations = self.iterations
                if at % every == 0:
                    t[row] = self.t
                    memcpy(&q[row, 0], self.q, self.nq * sizeof(double))
                    memcpy(&x[row, 0], self.x, self.nv * sizeof(double))
                    iterations[row] = self.iterations
                    error[row] = self.error
                    if contraction is not None:
                        contraction[row] = self.contraction
                    row += 1
        return status, row - first

    def begin_at(self, double t0):
        """Say when rows of inputs begin."""
        self.t0 = t0

    # ---- the user's callables ----------------------------------------------------------------------

    cdef int ask(self, double t, const double* q, const double* v) noexcept nogil:
        # u and tau from the callables
        with gil:
            try:
                if self.ask_u is not None:
                    self.read(self.ask_u(t, self.array(q, self.nq), self.array(v, self.nv)), self.nu, self.u,
                              f"inputs(t, q, v) at t = {t:.9g} s")
                if self.ask_tau is not None:
                    self.read(self.ask_tau(t, self.array(q, self.nq), self.array(v, self.nv)), self.nv, self.tau,
                              f"torque(t, q, v) at t = {t:.9g} s")
                return OK
            except BaseException as error:
                return self.fail(error)

    cdef int fail(self, error) noexcept:
        # the first one counts: what follows may come of it
        if self.trouble != CALLBACK_FAILED:
            self.exception, self.trouble = error, CALLBACK_FAILED
        return CALLBACK_FAILED

    cdef object array(self, const double* x, int n):
        cdef double[::1] view
        out = np.empty(n)
        if n:
            view = out
            memcpy(&view[0], x, n * sizeof(double))
        return out

    cdef int read(self, result, int n, double* to, what) except -1:
        cdef int k
        cdef const double[::1] view
        result = np.ascontiguousarray(result, dtype=float)
        if result.shape != (n,):
            raise ValueError(f"{what} has shape {result.shape}; it must be ({n},)")
        if not np.isfinite(result).all():
            raise ValueError(f"{what} has NaN or infinity")
        view = result
        for k in range(n):
            to[k] = view[k]
        return 0

    cdef void inputs_at(self, double t) noexcept nogil:
        # u: the row of the step that a time lies in, of equal steps
        cdef long k
        if self.u_rows is not None and self.nu:
            k = <long>((t - self.t0) / self.span * (1 + 1e-12)) - self.begun
            k = min(max(k, 0), self.u_rows.shape[0] - 1)
            memcpy(self.u, &self.u_rows[k, 0], self.nu * sizeof(double))
