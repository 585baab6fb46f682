# The contract of a stepper, of models and of vehicles: a state that steps advance without Python.
#
#   1. `step` reads the clock, the state (q, x), the inputs and the joint forces. It writes the state at t + h to
#      (q2, x2) and returns OK, or it returns the status with the reason why there is no such state. It never writes (q, x).
#   2. `step` sets `now.iterations` and `now.error` if it solves equations.
#   3. `step` calls `ask`, which calls the user's functions, at least once if `schedule.calls_user` is set.
#   4. `advance` takes a whole step. With a status other than OK the state is unchanged.
#   5. `accept` makes the trial state the state.
#   6. `begin` clears the history before the state that was just set.
#   7. The next steps depend on the kept memory, on the arguments, and on nothing else (Memory).
#   8. A method for Python that uses arrays of the stepper marks the stepper as busy first (Busy), so that the memory has
#      one user: no other thread, and no user function that a step calls.

from cpython.buffer cimport (PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_STRIDES, PyBUF_WRITABLE, PyBuffer_Release,
                             PyObject_GetBuffer)
from cpython.exc cimport PyErr_CheckSignals
from libc.stdint cimport uintptr_t

from vitree.arguments import Asked
from vitree.errors import AT_WORK, CallableError, VitreeError

cdef object empty = np.empty
cdef object ndarray = np.ndarray
cdef object asked_kind = Asked


cdef bint bounded(const double* x, int n) noexcept nogil:
    # whether no entry is NaN or has diverged
    cdef int k
    for k in range(n):
        if not fabs(x[k]) <= MOST:
            return False
    return True


cdef bint take(answer, int n, double* to) except -1:
    # copies n finite doubles in order, unless `to` is NULL; returns whether the result is a plain array of them. Anything
    # else is left to the slow path
    cdef Py_buffer found
    cdef const double* at
    cdef bint fits = False
    cdef int k
    if type(answer) is not ndarray:
        return False
    try:
        PyObject_GetBuffer(answer, &found, PyBUF_FORMAT | PyBUF_STRIDES)
    except Exception:  # such as an array of dates
        return False
    at = <const double*>found.buf
    if (found.ndim == 1 and found.shape[0] == n and found.format[0] == c"d" and found.format[1] == 0
            and (n < 2 or found.strides[0] == sizeof(double)) and <uintptr_t>at % sizeof(double) == 0):
        fits = True
        for k in range(n):
            fits = fits and isfinite(at[k])
        if fits and to != NULL:
            memcpy(to, at, n * sizeof(double))
    PyBuffer_Release(&found)
    return fits


def largest_of(*arrays):
    """The largest |number| in arrays of doubles that lie in order; NaN if there is one."""
    cdef Py_buffer found
    cdef const double* at
    cdef Py_ssize_t k
    cdef double size = 0.0
    for array in arrays:
        PyObject_GetBuffer(array, &found, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
        at = <const double*>found.buf
        if found.format[0] != c"d":
            PyBuffer_Release(&found)
            raise ValueError("arrays of doubles are needed")
        for k in range(found.len // <Py_ssize_t>sizeof(double)):
            if not size >= fabs(at[k]):
                size = fabs(at[k]) if size == size else size
        PyBuffer_Release(&found)
    return size


cdef extern from *:
    """
    #include <time.h>
    /* Seconds of the clock on the wall. */
    static inline double vt_seconds(void) {
        struct timespec t;
        timespec_get(&t, TIME_UTC);
        return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
    }
    """
    double seconds_now "vt_seconds"() noexcept nogil


cdef enum:
    LOOK_STEPS = 16         # steps between two checks of the clock


cdef bint overdue(double* since, long step) noexcept nogil:
    # whether a tenth of a second has passed `since` the last check, in a loop over steps; the clock may be set back
    cdef double now
    if step % LOOK_STEPS != LOOK_STEPS - 1:
        return False
    now = seconds_now()
    if fabs(now - since[0]) < 0.1:
        return False
    since[0] = now
    return True


cdef class ArgumentBuffer:
    """An array whose copies are passed to the user's functions."""

    cdef object array
    cdef object copied                  # its method
    cdef double[::1] view
    cdef double* at
    cdef int n

    def __cinit__(self, int n):
        self.array, self.n = empty(n), n
        self.copied = self.array.copy
        self.view = self.array
        self.at = &self.view[0] if n else NULL

    cdef object copy(self, const double* x):
        memcpy(self.at, x, self.n * sizeof(double))
        return self.copied()


#: Most states between halves of steps that are stored
cdef enum:
    INNER_STATES = 65536

#: Most steps of :meth:`Stepper.go`, which cannot be interrupted, and its result if it does nothing
cdef enum:
    MOST_AT_ONCE = 64
    CAREFUL = -1


cdef class BufferView:
    """A view of doubles in the memory of a stepper, which the view keeps alive."""

    cdef object owner
    cdef double* at
    cdef Py_ssize_t shape[1]
    cdef Py_ssize_t strides[1]
    cdef bint fixed

    def __cinit__(self, owner):
        self.owner = owner

    @staticmethod
    cdef BufferView of(owner, double* at, int n, bint fixed):
        cdef BufferView made = BufferView(owner)
        made.at, made.shape[0], made.strides[0], made.fixed = at, n, sizeof(double), fixed
        return made

    def __getbuffer__(self, Py_buffer* found, int flags):
        if self.fixed and flags & PyBUF_WRITABLE:
            raise BufferError("the array is read-only")
        found.buf, found.obj, found.len, found.itemsize = self.at, self, self.shape[0] * sizeof(double), sizeof(double)
        found.readonly, found.ndim, found.format = self.fixed, 1, b"d"
        found.shape, found.strides, found.suboffsets, found.internal = self.shape, self.strides, NULL, NULL


cdef class Backup:
    """A copy of the kept memory before a step, for steps in which a user function may fail."""

    cdef Scratch owner
    cdef char** place
    cdef char** copy
    cdef size_t* size
    cdef int count

    def __cinit__(self, Memory memory):
        cdef Piece piece
        cdef size_t total = 0
        cdef int k
        self.count = len(memory.kept_pieces)
        for piece in memory.kept_pieces:
            total += piece.size + 64
        self.owner = Scratch(total + 3 * (self.count + 8) * sizeof(char*))
        self.place = <char**>self.owner.take(self.count * sizeof(char*) + 8)
        self.copy = <char**>self.owner.take(self.count * sizeof(char*) + 8)
        self.size = <size_t*>self.owner.take(self.count * sizeof(size_t) + 8)
        for k, piece in enumerate(memory.kept_pieces):
            self.place[k], self.size[k] = piece.at, piece.size
            self.copy[k] = <char*>self.owner.take(piece.size)

    cdef void note(self) noexcept nogil:
        cdef int k
        for k in range(self.count):
            memcpy(self.copy[k], self.place[k], self.size[k])

    cdef void put_back(self) noexcept nogil:
        cdef int k
        for k in range(self.count):
            memcpy(self.place[k], self.copy[k], self.size[k])


cdef struct Log:                # rows of numbers
    double* at                  # (count, width)
    long count
    long room


cdef double* log_more(Log* log, int width) noexcept nogil:
    # another row, or NULL if there is no memory
    cdef double* to
    if log.count == log.room:
        to = <double*>realloc(log.at, (2 * log.room + 64) * width * sizeof(double))
        if to == NULL:
            return NULL
        log.at, log.room = to, 2 * log.room + 64
    log.count += 1
    return log.at + (log.count - 1) * width


cdef object taken(Log* log, int width):
    # the rows (count, width), which are removed
    cdef double[:, ::1] view
    out = np.empty((log.count, width))
    if log.count:
        view = out
        memcpy(&view[0, 0], log.at, log.count * width * sizeof(double))
    log.count = 0
    return out


cdef extern from *:
    """
    /* Whether x was 1 already; it is 1 from here on. */
    #ifdef _MSC_VER
    #include <intrin.h>
    static inline int vt_exchanged(int *x) { return _InterlockedExchange((volatile long *)x, 1); }
    static inline void vt_let_go(int *x) { _InterlockedExchange((volatile long *)x, 0); }
    #else
    static inline int vt_exchanged(int *x) { return __atomic_exchange_n(x, 1, __ATOMIC_ACQUIRE); }
    static inline void vt_let_go(int *x) { __atomic_store_n(x, 0, __ATOMIC_RELEASE); }
    #endif
    /* The same of one stepper, whose callers hold the interpreter's lock where there is one. */
    #ifdef Py_GIL_DISABLED
    #define vt_taken vt_exchanged
    #else
    static inline int vt_taken(int *x) { int was = *x; *x = 1; return was; }
    #endif
    """
    bint taken_already "vt_taken"(int* x) noexcept nogil
    bint taken_among_threads "vt_exchanged"(int* x) noexcept nogil
    void let_go "vt_let_go"(int* x) noexcept nogil


@cython.final
@cython.no_gc
@cython.freelist(8)
cdef class Busy:
    """Exclusive use of the memory of a stepper while the object exists: one method at a time has one."""

    cdef Stepper of

    def __dealloc__(self):
        if self.of is not None:
            self.of.leave()


cdef class Stepper:
    """A state (t, q, x) and the means to advance it; x is the momentum p or the velocity v.

    ``inputs`` and ``torque`` are None, arrays, or callables (t, q, v); ``inputs`` may have a row per step.
    """

    cdef Memory memory
    cdef Shared shared
    cdef Lane lane
    cdef int nq, nv
    cdef int gates                      # inputs after those of the caller
    cdef object ask_inputs
    cdef object ask_torque
    cdef object rows_owner              # the arrays behind the pointers of `shared`
    cdef object spans_owner
    cdef object watched_owner
    cdef double* watched_out            # (watched_count, WATCHED + watched_more) or NULL
    cdef Py_ssize_t watched_count
    cdef int watched_more
    cdef bint logs                      # contacts of recorded steps
    cdef Log log                        # (count, TOUCHED) these
    cdef bint logs_drive                # joint forces and inputs of recorded steps
    cdef Log drive_log                  # (count, 1 + nv + nu) these
    cdef Log inner_log                  # (count, 1 + nq + nv) t, q and x between the halves of steps taken in halves
    cdef double most_power              # [W] the largest power of a torque function where it was called
    cdef object pushes_owner
    cdef double* pushes_out             # (rows, constraints) or NULL
    cdef long pushes_every
    cdef Backup before                  # created by the first run that may call user functions
    cdef double* asked                  # (led_count,) joint forces for `go`: those of the leading joints
    cdef int* led                       # (led_count,) where they act, or NULL: everywhere
    cdef int led_count
    cdef ArgumentBuffer q_desk                    # and the arrays that they get
    cdef ArgumentBuffer v_desk
    cdef readonly object exception      # raised by a callable
    cdef bint parted                    # the state is within a step
    cdef int in_use                     # the memory is in use
    cdef Loan* loan                     # of scratch memory that others use as well, or NULL

    def __dealloc__(self):
        free(self.log.at)
        free(self.drive_log.at)
        free(self.inner_log.at)

    def __cinit__(self, *args, **options):
        self.memory = Memory()
        self.memory.shared = options.get("scratch")
        if self.memory.shared is not None:
            self.loan = &self.memory.shared.loan
            if self.loan.in_use:
                raise VitreeError(AT_WORK)
            self.loan.last = NULL
        self.lane.clock = clock_make(self.memory)
        self.lane.now = <Now*>self.memory.told(sizeof(Now))

    cdef Busy busy(self):
        # of the caller, until it is released
        cdef Busy made = Busy.__new__(Busy)
        if not self.enter():
            raise VitreeError(AT_WORK)
        made.of = self
        return made

    cdef bint enter(self) noexcept nogil:
        # exclusive use of the memory, until `leave`; False if it is in use
        if not self.enter_plainly():
            return False
        if self.loan != NULL:
            self.exchange_rooms()
        return True

    cdef bint enter_plainly(self) noexcept nogil:
        # the same without memory that is allocated where it is needed, until `leave_plainly`
        cdef Loan* loan = self.loan
        if taken_already(&self.in_use):
            return False
        if loan != NULL:
            if taken_among_threads(&loan.in_use):
                let_go(&self.in_use)
                return False
            if loan.last != <void*>self:
                loan.last = <void*>self
                self.lose_scratch()
        return True

    cdef void leave(self) noexcept nogil:
        if self.loan != NULL:
            self.exchange_rooms()
        self.leave_plainly()

    cdef void leave_plainly(self) noexcept nogil:
        if self.loan != NULL:
            let_go(&self.loan.in_use)
        let_go(&self.in_use)

    cdef void exchange_rooms(self) noexcept nogil:
        pass

    cdef void lose_scratch(self) noexcept nogil:
        # other steppers have used the scratch memory: nothing that is found there is of this one
        pass

    cdef int set_up(self, int nq, int nv, int nu, double h, inputs, torque, int gates=0) except -1:
        # the state, and the inputs of the system
        cdef Schedule* plan = &self.shared.schedule
        self.nq, self.nv, self.gates = nq, nv, gates
        plan.span, plan.until, plan.nu = h, INFINITY, nu
        self.lane.now.h = h
        state_make(&self.lane.state, self.memory, nq, nv)
        plan.calls_user = callable(inputs) or callable(torque)
        if inputs is not None and not callable(inputs):
            inputs = np.ascontiguousarray(inputs, dtype=float)
        fixed = gates or not callable(inputs) and (inputs is None or inputs.ndim < 2 or not nu)
        self.lane.drive.u = self.memory.given_reals(nu + gates) if fixed else self.memory.scratch_reals(nu)
        self.lane.drive.tau = self.memory.scratch_reals(nv) if callable(torque) else self.memory.given_reals(nv)
        self.drive(inputs, torque)
        return 0

    def drive(self, inputs, torque):
        """Replace inputs and torque by others of the same kinds."""
        cdef Busy busy = self.busy()
        cdef Schedule* plan = &self.shared.schedule
        cdef const double[:, ::1] rows
        self.ask_inputs, self.ask_torque = inputs if callable(inputs) else None, torque if callable(torque) else None
        if plan.calls_user != (self.ask_inputs is not None or self.ask_torque is not None):
            raise ValueError("the stepper was made with inputs and a torque of other kinds")
        if self.ask_inputs is None and inputs is not None and plan.nu:
            inputs = np.ascontiguousarray(inputs, dtype=float)
            if inputs.ndim == 2:
                rows = self.rows_owner = inputs
                require_size(rows.shape[1], plan.nu, "columns of inputs")
                plan.u_rows, plan.u_count = &rows[0, 0], rows.shape[0]
            elif not take(inputs, plan.nu, self.lane.drive.u):
                self.read(inputs, plan.nu, self.lane.drive.u, "inputs")
        if self.ask_torque is None and torque is not None and not take(torque, self.nv, self.lane.drive.tau):
            self.read(torque, self.nv, self.lane.drive.tau, "torque")

    def command(self, torque, inputs):
        """Apply a torque (nv,) and inputs (nu,) from the current state on; None: no change.

        Returns whether it was done: if they are not plain arrays of finite doubles, or functions or rows act, nothing
        is changed.
        """
        cdef Busy busy = self.busy()
        cdef Drive* drive = &self.lane.drive
        cdef int nu = self.shared.schedule.nu
        if torque is not None and (self.ask_torque is not None or not take(torque, self.nv, NULL)):
            return False
        if inputs is not None and (self.ask_inputs is not None or self.shared.schedule.u_rows != NULL
                                   or not take(inputs, nu, drive.u)):
            return False
        if torque is not None:
            take(torque, self.nv, drive.tau)
        return True

    def release(self):
        """Release the user's functions and arrays, and clear the history, as after creation."""
        cdef Busy busy = self.busy()
        cdef Schedule* plan = &self.shared.schedule
        self.ask_inputs = self.ask_torque = None
        with cython.critical_section(self):
            self.exception = None
        self.rows_owner = self.spans_owner = self.watched_owner = self.pushes_owner = None
        self.watched_out, self.watched_count, self.pushes_out, self.pushes_every = NULL, 0, NULL, 0
        self.logs, self.log.count, self.logs_drive, self.drive_log.count = False, 0, False, 0
        plan.spans, plan.ends, plan.span_count, plan.begun = NULL, NULL, 0, 0
        plan.u_rows, plan.u_count, plan.until, plan.arrived = NULL, 0, INFINITY, False
        self.memory.clear()

    def clear(self):
        """Clear the history, as after creation."""
        cdef Busy busy = self.busy()
        self.memory.clear()

    @property
    def size(self):
        """Size of its memory in bytes."""
        return self.memory.size + (self.memory.seats.size() if self.memory.seats is not None else 0)

    # ---- defined by each kind of stepper -----------------------------------------------------------

    cdef int step(self) noexcept nogil:
        return OK

    cdef void begin(self) noexcept nogil:
        pass

    cdef int advance(self) noexcept nogil:
        # a whole step
        cdef int status = self.step()
        if status == OK:
            status = self.checked()
        if status == OK:
            self.accept()
        return status

    cdef void accept(self) noexcept nogil:
        # the trial state becomes the state
        memcpy(self.lane.state.q, self.lane.state.q2, self.nq * sizeof(vt_real))
        memcpy(self.lane.state.x, self.lane.state.x2, self.nv * sizeof(vt_real))
        self.lane.clock.h_last, self.lane.clock.restarted = self.lane.now.h, False

    cdef int rows_each(self) noexcept nogil:
        # rows of prescribed motion in a step
        return 2

    cdef int constraint_count(self) noexcept nogil:
        return 0

    cdef bint asks(self) noexcept nogil:
        # whether user functions are called
        return self.shared.schedule.calls_user

    cdef double multiplier(self, int c) noexcept nogil:
        # the c-th multiplier as a force: the constraints push with Dh^T lam
        return NAN

    # ---- a run -------------------------------------------------------------------------------------

    def set_state(self, double t, const double[::1] q, const double[::1] x):
        """Start from time t, configuration q and momentum p (or velocity v), without history."""
        cdef Busy busy = self.busy()
        self.place(t, entries(q, self.nq, "entries of q"), entries(x, self.nv, "entries of p or v"))

    cdef void place(self, double t, const double* q, const double* x) noexcept nogil:
        cdef Clock* clock = self.lane.clock
        clock.t = clock.t0 = t
        clock.steps = clock.start = clock.total_iterations = clock.most_iterations = 0
        clock.h_last, clock.restarted = 0.0, True
        memcpy(self.lane.state.q, q, self.nq * sizeof(double))
        memcpy(self.lane.state.x, x, self.nv * sizeof(double))
        self.start_run()
        self.lane.now.first_row = 0
        self.begin()

    cdef void start_run(self) noexcept nogil:
        # equal steps by default
        self.inner_log.count, self.most_power = 0, 0.0
        self.shared.schedule.spans, self.shared.schedule.begun = NULL, self.lane.clock.steps
        self.parted = False
        self.lane.now.h, self.lane.now.contraction = self.shared.schedule.span, NAN
        self.lane.now.iterations, self.lane.now.error = 0, 0.0

    def set_steps(self, spans, ends):
        """Use steps (n,) [s] from the current state on, which end at the times ends[1:], (n + 1,)."""
        cdef Busy busy = self.busy()
        cdef const double[::1] h, t
        h = spans = np.ascontiguousarray(spans, dtype=float)
        t = ends = np.ascontiguousarray(ends, dtype=float)
        require_size(t.shape[0], h.shape[0] + 1, "ends of steps")
        self.spans_owner = (spans, ends)
        self.shared.schedule.spans, self.shared.schedule.ends = &h[0], &t[0]
        self.shared.schedule.span_count, self.shared.schedule.begun = h.shape[0], self.lane.clock.steps

    def set_end(self, double t):
        """Use adaptive steps until a recorded one ends at or beyond time t."""
        self.shared.schedule.until, self.shared.schedule.arrived = t, False

    def begin_at(self, double t0):
        """Set when rows of inputs begin."""
        self.lane.clock.t0 = t0

    def state(self):
        """Return (t, q, x), copies."""
        cdef Busy busy = self.busy()
        return self.lane.clock.t, self.array(self.lane.state.q, self.nq), self.array(self.lane.state.x, self.nv)

    def history(self):
        """Return everything that the next steps depend on, as bytes for :meth:`set_history`."""
        cdef Busy busy = self.busy()
        self.tidy()
        return self.memory.content()

    def set_history(self, bytes kept):
        """Continue from the history of a stepper with the same arguments."""
        cdef Busy busy = self.busy()
        self.memory.restore(kept)
        self.start_run()

    def spoil(self):
        """Fill the memory from which no run may resume with NaN: for tests."""
        cdef Busy busy = self.busy()
        self.memory.spoil()
        self.start_run()

    def watch(self, rows):
        """Write for each recorded step: contraction, rotation [rad], distance, estimate of the error, and the forces of n
        drives [N or N m], to an array (rows, 4 + n), or None: no more."""
        cdef Busy busy = self.busy()
        cdef double[:, ::1] view
        self.watched_owner, self.watched_out, self.watched_count = rows, NULL, 0
        if rows is not None:
            view = rows
            require_size(view.shape[1], WATCHED + self.watched_more, "columns of what is watched")
            self.watched_out, self.watched_count = &view[0, 0], view.shape[0]

    def log_contacts(self, bint logs):
        """Enable or disable storing the contacts that acted in recorded steps, for :meth:`take_contacts`."""
        cdef Busy busy = self.busy()
        self.logs, self.log.count = logs, 0

    cdef int told_columns(self) noexcept nogil:
        return TOUCHED

    def take_contacts(self):
        """Return the contacts stored since the last call, (n, TOUCHED), or more columns where convex shapes may touch.

        Columns: the row of the record, the number of the contact, the impulse [N s] on the first body at the step's
        start, world axes (of a limit: one number), the slip velocity [m/s], and the gap [m] at the step's end.
        """
        cdef Busy busy = self.busy()
        return taken(&self.log, self.told_columns())

    def log_drive(self, bint logs):
        """Enable or disable storing the joint forces and inputs of recorded steps, for :meth:`take_drive`."""
        cdef Busy busy = self.busy()
        self.logs_drive, self.drive_log.count = logs, 0

    def take_drive(self):
        """Return the joint forces and inputs stored since the last call, (n, 1 + nv + nu), after the record's number."""
        cdef Busy busy = self.busy()
        return taken(&self.drive_log, 1 + self.nv + self.shared.schedule.nu)

    def drive_here(self):
        """Joint forces and inputs of the step just taken, (1, 1 + nv + nu), after a 0."""
        cdef Busy busy = self.busy()
        cdef Log log = [NULL, 0, 0]
        try:
            if self.drive_to(&log, 0) != OK:
                raise MemoryError
            return taken(&log, 1 + self.nv + self.shared.schedule.nu)
        finally:
            free(log.at)

    cdef int drive_to(self, Log* log, long row) noexcept nogil:
        # joint forces and inputs of the step that led to a recorded state
        cdef double* to = log_more(log, 1 + self.nv + self.shared.schedule.nu)
        if to == NULL:
            return NO_MEMORY
        to[0] = row
        memcpy(to + 1, self.lane.drive.tau, self.nv * sizeof(double))
        memcpy(to + 1 + self.nv, self.lane.drive.u, self.shared.schedule.nu * sizeof(double))
        return OK

    cdef int log_row(self, long row) noexcept nogil:
        # the contacts of the step that led to a recorded state
        return OK

    def keep_pushes(self, pushes, long every):
        """Write the multipliers at the start of each `every`-th step of the run to the rows of an array (rows, count)."""
        cdef Busy busy = self.busy()
        cdef double[:, ::1] view = pushes
        self.pushes_owner, self.pushes_out, self.pushes_every = pushes, &view[0, 0], every

    def run(self, long count, long every, records, long stride=1, bint in_parts=False):
        """Advance by count steps, writing each `every`-th state to the records from row ``records.rows`` on.

        Adaptive steps stop at one of each `stride` steps at or beyond the end, which `arrived` reports.

        Returns the status, and leaves the number of rows written so far in ``records.rows``. With ``in_parts`` it
        returns after fewer steps once a tenth of a second has passed, so that Python can check its signals; ``steps`` is
        the number of steps taken. After a status other than 0 the state is that before the failed step; if a user
        function failed, so is everything that the next steps depend on. Steps are counted from the start of the run or
        of its continuation.
        """
        cdef Busy busy = self.busy()
        cdef Clock* clock = self.lane.clock
        cdef Now* now = self.lane.now
        cdef Schedule* plan = &self.shared.schedule
        cdef double[::1] t = records.t, error = records.residual
        cdef double[:, ::1] q = records.q, x = records.x, multipliers = records.multipliers
        cdef int[::1] iterations = records.iterations
        cdef long k, written, row = records.rows, at
        cdef int status = OK, c, held = self.constraint_count()
        cdef bint asks = self.asks()
        cdef double since = seconds_now() if in_parts else 0.0
        if count < 0 or every < 1 or stride < 1 or row < 0:
            raise ValueError(f"{count} steps, every {every}, {stride} from row {row}: no such run")
        if asks and self.before is None:
            self.before = Backup(self.memory)
        self.require_rows(clock.steps - plan.begun + count)
        written = (clock.steps - plan.begun + count) // every - (clock.steps - plan.begun) // every
        if written and not (
                q.shape[1] == self.nq and x.shape[1] == self.nv and multipliers.shape[1] == held
                and row + written <= min(t.shape[0], q.shape[0], x.shape[0], multipliers.shape[0], error.shape[0],
                                         iterations.shape[0])
                and (self.watched_out == NULL or row + written <= self.watched_count)):
            self.require_room(records, row + written)
        with nogil:
            for k in range(count):
                status = self.take_step(asks)
                if status != OK:
                    break
                at = clock.steps - plan.begun
                if self.pushes_out != NULL and at % self.pushes_every == 0:
                    for c in range(held):
                        self.pushes_out[at // self.pushes_every * held + c] = self.multiplier(c)
                self.close_step()
                if (clock.steps - plan.begun) % every == 0:
                    t[row] = clock.t
                    memcpy(&q[row, 0], self.lane.state.q, self.nq * sizeof(double))
                    memcpy(&x[row, 0], self.lane.state.x, self.nv * sizeof(double))
                    iterations[row] = now.iterations
                    error[row] = now.error
                    if self.watched_out != NULL:
                        self.show(self.watched_out + row * (WATCHED + self.watched_more))
                    if self.logs:
                        status = self.log_row(row)
                        if status != OK:
                            break
                    if self.logs_drive:
                        status = self.drive_to(&self.drive_log, row)
                        if status != OK:
                            break
                    for c in range(held):
                        multipliers[row, c] = self.multiplier(c)
                    row += 1
                    if clock.t >= plan.until - 1e-9 * now.h and (clock.steps - plan.begun) % stride == 0:
                        plan.arrived = True
                        break
                if in_parts and overdue(&since, k):
                    break
        records.rows = row
        return status

    cdef void show(self, double* row) noexcept nogil:
        # the monitors of the current step
        row[0], row[1], row[2] = self.lane.now.contraction, self.lane.now.turn, self.lane.now.off
        row[3] = self.lane.now.estimate

    cdef int take_step(self, bint asks) noexcept nogil:
        # a whole step without the clock
        cdef int status
        if asks:
            self.before.note()
        self.open_step()
        status = self.advance()
        if status != OK:
            # the reason of a NaN
            status = self.lane.now.cause if self.lane.now.cause != OK else status
            if status == CALLBACK_FAILED:
                self.before.put_back()
        return status

    # ---- single steps --------------------------------------------------------------------------------

    def go(self, steps, torque, inputs):
        """Advance by at most MOST_AT_ONCE steps under a torque (nv,) and inputs (nu,); None: no change.

        Returns the status. It is CAREFUL, and nothing is done, if the arguments are not an int and plain arrays of
        finite doubles, or the current torque and inputs are not finite.
        """
        # busy without an object, which would cost a twentieth of a short step
        if not self.enter():
            raise VitreeError(AT_WORK)
        try:
            return self.gone(steps, torque, inputs)
        finally:
            self.leave()

    cdef int gone(self, steps, torque, inputs) except? -2:
        cdef Drive* drive = &self.lane.drive
        cdef double* tau = drive.tau if self.led == NULL else self.asked
        cdef long k, count
        cdef double since = 0.0
        cdef int status = OK, size = self.nv if self.led == NULL else self.led_count
        cdef bint asks = self.asks()
        if type(steps) is not int or not 1 <= steps <= MOST_AT_ONCE:
            return CAREFUL
        count = steps
        if count >= LOOK_STEPS:
            since = seconds_now()
        if inputs is not None and (self.ask_inputs is not None or self.shared.schedule.u_rows != NULL
                                   or not take(inputs, self.shared.schedule.nu, NULL)):
            return CAREFUL
        if torque is not None and (self.ask_torque is not None or not take(torque, size, tau)):
            return CAREFUL
        if inputs is not None:
            take(inputs, self.shared.schedule.nu, drive.u)
        self.spread_torque()
        if not (all_finite(drive.tau, self.nv) and all_finite(drive.u, self.shared.schedule.nu)):
            return CAREFUL
        if asks and self.before is None:
            self.before = Backup(self.memory)
        self.require_rows(self.lane.clock.steps - self.shared.schedule.begun + count)
        with nogil:
            for k in range(count):
                status = self.take_step(asks)
                if status != OK:
                    break
                self.close_step()
                if overdue(&since, k):
                    with gil:
                        PyErr_CheckSignals()
        return status

    cdef void spread_torque(self) noexcept nogil:
        # the joint forces of the leading joints, at their coordinates
        cdef int k
        for k in range(self.led_count):
            self.lane.drive.tau[self.led[k]] = self.asked[k]

    def go_part(self, double h, bint last):
        """Advance by a part of a step, h [s]; the count increases by one after the last part. Return the status."""
        cdef Busy busy = self.busy()
        cdef double whole = self.lane.now.h
        cdef int status
        if self.asks() and self.before is None:
            self.before = Backup(self.memory)
        self.require_rows(self.lane.clock.steps - self.shared.schedule.begun + 1)
        if self.parted and self.note_part() != OK:
            return NO_MEMORY
        self.spread_torque()
        self.lane.now.h = h
        status = self.take_step(self.asks())
        if status == OK and not last:
            self.lane.clock.t += h
            self.lane.clock.total_iterations += self.lane.now.iterations
        self.lane.now.h = whole
        if status == OK:
            self.parted = not last
        if status == OK and last:
            self.close_step()
        return status

    def strike(self, const double[::1] x):
        """Add an impulse to p (or v) at the state, which invalidates extrapolation from previous steps."""
        cdef Busy busy = self.busy()
        memcpy(self.lane.state.x, entries(x, self.nv, "entries of p or v"), self.nv * sizeof(double))
        self.on_impulse()

    cdef int note_part(self) noexcept nogil:
        # a part of a step begins within it
        return OK

    cdef void on_impulse(self) noexcept nogil:
        self.begin()

    def lead(self, indices):
        """Apply joint forces, in :meth:`go`, on these coordinates only."""
        cdef Busy busy = self.busy()
        cdef int k
        self.led_count = len(indices)
        self.led = <int*>self.memory.given(self.led_count * sizeof(int))
        self.asked = self.memory.given_reals(self.led_count)
        for k in range(self.led_count):
            self.led[k] = indices[k]

    def windows(self):
        """The arrays q (nq,) and p or v (nv,), read-only, the torque (nv,) and the inputs (nu,), which steps use."""
        cdef int nu = self.shared.schedule.nu
        cdef BufferView torque = BufferView.of(self, self.lane.drive.tau, self.nv, False)
        if self.led != NULL:
            torque = BufferView.of(self, self.asked, self.led_count, False)
        return tuple(np.asarray(window) for window in (
            BufferView.of(self, self.lane.state.q, self.nq, True), BufferView.of(self, self.lane.state.x, self.nv, True),
            torque, BufferView.of(self, self.lane.drive.u, nu, False)))

    def show_state(self, const double[::1] q, const double[::1] x):
        """Write q and p (or v) into the windows alone, of a run that goes on with another stepper."""
        cdef Busy busy = self.busy()
        memcpy(self.lane.state.q, entries(q, self.nq, "entries of q"), self.nq * sizeof(double))
        memcpy(self.lane.state.x, entries(x, self.nv, "entries of p or v"), self.nv * sizeof(double))

    def row(self, records, long row):
        """Write the state to a row of the records, with the data of the step that led to it."""
        cdef Busy busy = self.busy()
        cdef double[::1] t = records.t, error = records.residual
        cdef double[:, ::1] q = records.q, x = records.x, multipliers = records.multipliers
        cdef int[::1] iterations = records.iterations
        cdef int c
        self.require_room(records, row + 1)
        t[row], iterations[row], error[row] = self.lane.clock.t, self.lane.now.iterations, self.lane.now.error
        for c in range(self.nq):
            q[row, c] = self.lane.state.q[c]
        for c in range(self.nv):
            x[row, c] = self.lane.state.x[c]
        for c in range(self.constraint_count()):
            multipliers[row, c] = self.multiplier(c) if steps_here(self.lane.clock) else NAN

    def velocity_here(self, double[::1] out, bint by_momentum):
        """Write the velocity (nv,) of the state, as the records have it; return whether the stepper can.

        ``by_momentum`` says whether x is the momentum.
        """
        cdef Busy busy = self.busy()
        require_size(out.shape[0], self.nv, "entries of v")
        return self.tells(by_momentum, &out[0] if self.nv else NULL)

    cdef void tidy(self) noexcept nogil:
        # kept memory whose content is the same has the same bytes
        pass

    cdef bint tells(self, bint by_momentum, double* v) noexcept nogil:
        # the same
        if by_momentum:
            return self.velocity_now(v)
        memcpy(v, self.lane.state.x, self.nv * sizeof(double))
        return True

    cdef bint velocity_now(self, double* v) noexcept nogil:
        # v of the momentum, before contacts act
        return False

    def look(self, bint by_momentum):
        """The state: t, q (nq,) and v (nv,) as in records, copies; None if v is not available."""
        cdef Busy busy = self.busy()
        cdef double* v = self.lane.state.x2
        if not self.tells(by_momentum, v):
            return None
        return self.lane.clock.t, self.array(self.lane.state.q, self.nq), self.array(v, self.nv)

    def open_gate(self, int k, bint opened):
        """Enable or disable a temporary load."""
        if not 0 <= k < self.gates:
            raise ValueError(f"there are {self.gates} gates, and no gate {k}")
        self.lane.drive.u[self.shared.schedule.nu + k] = 1.0 if opened else 0.0

    def count_from(self, long steps):
        """Set the step, counted since the state was set, at which rows of inputs and of motion begin."""
        self.shared.schedule.begun = steps

    @property
    def begun(self):
        """The step at which rows of inputs and of motion begin."""
        return self.shared.schedule.begun

    def require_room(self, records, long rows):
        """Raise a ValueError unless the arrays of the records have the state's widths and so many rows."""
        widths = {"t": (), "residual": (), "iterations": (), "q": (self.nq,), "x": (self.nv,),
                  "multipliers": (self.constraint_count(),)}
        for name, width in widths.items():
            array = getattr(records, name)
            if array.shape[1:] != width or array.shape[0] < rows:
                raise ValueError(f"records.{name} of shape {array.shape}; {rows} rows of {width} are needed")
        if self.watched_out != NULL and self.watched_count < rows:
            raise ValueError(f"{self.watched_count} rows for what is watched; {rows} are needed")

    def require_rows(self, long steps):
        """Raise a ValueError if rows that are given per step end before so many steps of the run."""
        cdef Schedule* plan = &self.shared.schedule
        if plan.u_rows != NULL:
            self.require_steps(steps, plan.u_count, "inputs")
        if plan.spans != NULL:
            self.require_steps(steps, plan.span_count, "step sizes")

    def require_steps(self, long steps, long rows, what):
        """Raise a ValueError if there are more steps than rows."""
        if steps > rows:
            raise ValueError(f"the {what} end after {rows} steps; {steps} are asked for")

    cdef void open_step(self) noexcept nogil:
        # the inputs, the length and the first row of motion of the step from the state
        cdef Schedule* plan = &self.shared.schedule
        cdef long at = self.lane.clock.steps - plan.begun
        self.lane.now.cause, self.lane.now.iterations, self.lane.now.contraction = OK, 0, NAN
        self.lane.now.turn = self.lane.now.off = self.lane.now.estimate = NAN
        self.take_inputs()
        self.lane.now.first_row = at * self.rows_each()
        if plan.spans != NULL:
            self.lane.now.h = plan.spans[at]

    cdef void close_step(self) noexcept nogil:
        self.close_steps(1, self.lane.now.iterations, self.lane.now.iterations)

    cdef void close_steps(self, long count, long corrections, int most) noexcept nogil:
        # the clock advances
        cdef Clock* clock = self.lane.clock
        cdef Now* now = self.lane.now
        cdef Schedule* plan = &self.shared.schedule
        clock.steps += count
        if plan.adaptive:
            clock.t += now.h
        elif plan.spans != NULL:
            clock.t = plan.ends[clock.steps - plan.begun]
        else:
            clock.t = clock.t0 + clock.steps * now.h
        clock.total_iterations += corrections
        clock.most_iterations = max(clock.most_iterations, most)

    cdef int checked(self) noexcept nogil:
        # the status of a trial state
        if self.lane.now.cause == CALLBACK_FAILED:
            return CALLBACK_FAILED
        return OK if bounded(self.lane.state.q2, self.nq) and bounded(self.lane.state.x2, self.nv) else NOT_FINITE

    # ---- inputs, and the user's functions ----------------------------------------------------------

    cdef void take_inputs(self) noexcept nogil:
        # the row of inputs of the step from the state
        cdef Schedule* plan = &self.shared.schedule
        if plan.u_rows != NULL and self.lane.clock.steps - plan.begun < plan.u_count:
            self.take_row(self.lane.clock.steps - plan.begun)

    cdef void take_row(self, long row) noexcept nogil:
        memcpy(self.lane.drive.u, self.shared.schedule.u_rows + row * self.shared.schedule.nu,
               self.shared.schedule.nu * sizeof(double))

    cdef void inputs_at(self, double t) noexcept nogil:
        # the row of inputs of the step that a time lies in
        cdef Schedule* plan = &self.shared.schedule
        cdef long k = 0
        if plan.u_rows == NULL:
            return
        if plan.spans == NULL:
            k = <long>((t - self.lane.clock.t0) / plan.span * (1 + 1e-12)) - plan.begun
        else:
            while k < plan.span_count - 1 and t > plan.ends[k + 1] - 1e-12 * plan.spans[k]:
                k += 1
        self.take_row(min(max(k, 0), plan.u_count - 1))

    cdef int ask(self, double t, const double* q, const double* v) noexcept nogil:
        # u and tau from the user's callables, which are not called with states that have diverged
        if not (isfinite(t) and bounded(q, self.nq) and bounded(v, self.nv)):
            if self.lane.now.cause == OK:
                self.lane.now.cause = NOT_FINITE
            return NOT_FINITE
        with gil:
            try:
                if self.q_desk is None:
                    self.q_desk, self.v_desk = ArgumentBuffer(self.nq), ArgumentBuffer(self.nv)
                if self.ask_torque is not None:
                    self.answer(self.ask_torque, t, q, v, self.nv, self.lane.drive.tau, "torque")
                    self.note_power(v)
                if self.ask_inputs is not None:
                    self.answer(self.ask_inputs, t, q, v, self.shared.schedule.nu, self.lane.drive.u, "inputs")
                return OK
            except BaseException as error:
                return self.fail(error)

    cdef void note_power(self, const double* v) noexcept nogil:
        cdef double power = 0.0
        cdef int k
        for k in range(self.nv):
            power += self.lane.drive.tau[k] * v[k]
        self.most_power = max(self.most_power, power)

    cdef void log_inner(self, double t, const double* q, const double* x) noexcept nogil:
        # a state between halves of a step; not all of a long run are stored
        cdef double* to = NULL
        if self.inner_log.count < INNER_STATES:
            to = log_more(&self.inner_log, 1 + self.nq + self.nv)
        if to != NULL:
            to[0] = t
            memcpy(to + 1, q, self.nq * sizeof(double))
            memcpy(to + 1 + self.nq, x, self.nv * sizeof(double))

    @property
    def most_asked_power(self):
        """The largest power [W] of a torque function, where it was called since the start; 0 without one."""
        return self.most_power

    @property
    def inner_states(self):
        """States between the halves of halved steps since the start, rows (m, 1 + nq + nv) of t, q and p or v."""
        cdef Busy busy = self.busy()
        cdef double[:, ::1] view
        cdef Log* log = &self.inner_log
        out = np.empty((log.count, 1 + self.nq + self.nv))
        if log.count:
            view = out
            memcpy(&view[0, 0], log.at, log.count * (1 + self.nq + self.nv) * sizeof(double))
        return out

    cdef int answer(self, function, double t, const double* q, const double* v, int n, double* to, name) except -1:
        # the result (n,) of a user function (t, q, v), which gets copies of the arrays
        cdef object own_q = self.q_desk.copy(q), own_v = self.v_desk.copy(v), found
        if type(function) is asked_kind:
            try:
                found = function.function(t, own_q, own_v)
            except CallableError:
                raise
            except Exception as error:
                raise function.raised(error, (t, own_q, own_v)) from error
            if take(found, n, to):
                return 0
            found = function.numbers(found, (t, own_q, own_v))
        else:
            found = function(t, own_q, own_v)
            if take(found, n, to):
                return 0
        return self.read(found, n, to, f"{name}(t, q, v) at t = {t:.9g} s")

    cdef int fail(self, error) noexcept:
        # the first error counts: later ones may follow from it
        if self.lane.now.cause != CALLBACK_FAILED:
            with cython.critical_section(self):
                self.exception = error
            self.lane.now.cause = CALLBACK_FAILED
        return CALLBACK_FAILED

    cdef object array(self, const double* x, int n):
        cdef double[::1] view
        out = empty(n)
        if n:
            view = out
            memcpy(&view[0], x, n * sizeof(double))
        return out

    cdef int read(self, result, int n, double* to, what) except -1:
        # numbers that Python has checked; `what` is for those who ask a stepper alone
        cdef int k
        cdef const double[::1] view
        try:
            view = result
        except (TypeError, ValueError):
            result = np.ascontiguousarray(result, dtype=float)
            if result.ndim != 1:
                raise ValueError(f"{what} returned shape {result.shape}; it must be ({n},)")
            view = result
        if view.shape[0] != n:
            raise ValueError(f"{what} returned shape {result.shape}; it must be ({n},)")
        for k in range(n):
            if not isfinite(view[k]):
                raise ValueError(f"{what} returned NaN or infinity")
            to[k] = view[k]
        return 0

    # ---- data for integrators ----------------------------------------------------------------------

    @property
    def t(self):
        """Time of the state [s]."""
        return self.lane.clock.t

    @property
    def t0(self):
        """Time of the state that was set [s]."""
        return self.lane.clock.t0

    @property
    def h(self):
        """Length of the current step [s]."""
        return self.lane.now.h

    @property
    def steps(self):
        """Steps taken since the state was set."""
        return self.lane.clock.steps

    @property
    def total_iterations(self):
        """Corrections of these steps."""
        return self.lane.clock.total_iterations

    @property
    def most_iterations(self):
        """Most corrections of one step."""
        return self.lane.clock.most_iterations

    @property
    def iterations(self):
        """Corrections of the last step."""
        return self.lane.now.iterations

    @property
    def error(self):
        """Last residual of the last step."""
        return self.lane.now.error

    @property
    def arrived(self):
        """Whether an adaptive run has reached its end."""
        return self.shared.schedule.arrived
