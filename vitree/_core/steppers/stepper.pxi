# Steppers: what runs many steps without Python. One lane.
#
# A Stepper owns a state (t, q, and p or v) and advances it. Its contract:
#   1. step() leaves the state untouched unless it returns OK.
#   2. It sets `iterations` (corrections of q2) and `error` (last residual) of the step.
#   3. Given the same state, loads and options it returns the same bits, whatever was run before,
#      apart from the guess history, which changes where the solver starts.


cdef class Stepper:
    """A state and the means to advance it; base of the compiled integrators.

    ``torque`` and ``inputs`` are None, arrays, or callables (t, q, v); ``inputs`` may have a row a step.
    ``user`` is None, or holds loads and constraints written in Python (``vitree.written.WrittenParts``).
    """

    cdef readonly CoreModel model
    cdef list memory
    cdef int nq, nv, nbody
    cdef readonly double h              # of the step at hand
    cdef readonly double t
    cdef double span                    # the step, if all are equal
    cdef object spans_owner
    cdef const double* spans            # else (span_count,) and (span_count + 1,): the steps and their ends
    cdef const double* ends
    cdef long span_count
    cdef bint adaptive                  # each step says itself how long it is
    cdef double until                   # then the run ends with a recorded step at or beyond this time
    cdef readonly bint arrived
    cdef double h_last                  # the step or substep before
    cdef bint restarted                 # v_last is not of that one
    cdef long begun                     # `steps` where the run at hand and its rows of inputs and of motion begin
    cdef long moment                    # the row of motion where the step at hand starts
    cdef double contraction             # of the last correction
    cdef object contraction_owner
    cdef double* contraction_out        # (rows,) or NULL
    cdef char* cursor                   # into a history that is read or written, or NULL: it is measured
    cdef bint restoring
    cdef size_t length
    cdef readonly long steps            # taken since the state was set
    cdef readonly long total_iterations
    cdef readonly int iterations
    cdef readonly int most_iterations
    cdef readonly double error
    cdef readonly double t0             # the time of the state that was set
    cdef double* q
    cdef double* x                      # p for variational integrators, v for the others
    cdef double* q2
    cdef double* x2
    cdef double* v_node                 # (nv,) velocity where the step starts, as predict_middle has it
    cdef double* v_last                 # and where the last step started
    cdef double* zeros                  # (nv,)
    cdef double* tau                    # joint forces
    cdef double* acc_tau
    cdef double* bias
    cdef object torque                  # None, or a callable (t, q, v) -> (nv,)
    cdef object user
    cdef bint user_rests                # it has potentials
    cdef bint user_moves                # it has forces
    cdef bint user_constrains           # it has constraints
    cdef bint asks                      # callables are asked at each step
    cdef readonly object exception
    cdef int trouble                    # status that a NaN stands for
    cdef Pose* pose
    cdef AbaBody* aba_body
    # loads
    cdef readonly LoadList loads
    cdef int nload
    cdef double* u                      # inputs
    cdef int nu
    cdef object ask_u
    cdef object u_rows_owner
    cdef const double* u_rows           # (u_count, nu), a row a step
    cdef long u_count
    cdef double* wrench                 # (nbody, 6)
    cdef double* twist                  # (nbody, 6)
    cdef double* ltau                   # (nv,) joint forces of loads
    # motion of the locked coordinates: (2 steps + 1, 3, nlocked) of q, v, a at each half step
    cdef object motion_owner
    cdef const double* motion
    cdef long motion_count
    cdef int nlocked
    cdef int* locked                    # their bodies
    cdef double* v_lock                 # (nv,)
    cdef double* a_lock
    cdef RneaBody* rnea_body
    # constraints
    cdef readonly ConstraintList constraints
    cdef int count
    cdef double* push                   # multipliers of accelerations and velocities
    cdef double* hv
    cdef double* Dh1                    # (count, nv)
    cdef double* Y                      # (count, nv): the response to each multiplier
    cdef double* schur                  # (count, count)
    cdef int* order
    cdef int* columns                   # (nv,): where a row has entries
    cdef double* body6                  # (nbody, 6)

    def __cinit__(self, CoreModel model, double h, torque=None, LoadList loads=LoadList(),
                  ConstraintList constraints=ConstraintList(), int nu=0, inputs=None, user=None, **options):
        cdef const vt_model* m = &model.m
        cdef int k, i
        cdef const double[:, ::1] rows
        self.model, self.h, self.span, self.until = model, h, h, INFINITY
        self.nq, self.nv, self.nbody = m.nq, m.nv, m.nbody
        self.memory = []
        self.q = self.doubles(m.nq)
        self.q2 = self.doubles(m.nq)
        self.x = self.doubles(m.nv)
        self.x2 = self.doubles(m.nv)
        self.v_node = self.doubles(m.nv)
        self.v_last = self.doubles(m.nv)
        self.zeros = self.doubles(m.nv)
        self.tau = self.doubles(m.nv)
        self.acc_tau = self.doubles(m.nv)
        self.bias = self.doubles(m.nv)
        self.pose = <Pose*>self.take(m.nbody * sizeof(Pose))
        self.aba_body = <AbaBody*>self.take(m.nbody * sizeof(AbaBody))
        self.loads, self.nload, self.nu, self.user = loads, loads.count, nu, user
        if user is not None:
            self.user_rests, self.user_moves, self.user_constrains = user.resting, user.moving, bool(user.constraints)
        self.u = self.doubles(nu)
        self.wrench = self.doubles(6 * m.nbody)
        self.twist = self.doubles(6 * m.nbody)
        self.body6 = self.doubles(6 * m.nbody)
        self.ltau = self.doubles(m.nv)
        self.constraints, self.count = constraints, constraints.count
        self.push = self.doubles(self.count)
        self.hv = self.doubles(self.count)
        self.Dh1 = self.doubles(self.count * m.nv)
        self.Y = self.doubles(self.count * m.nv)
        self.schur = self.doubles(self.count * self.count)
        self.order = <int*>self.take((self.count + 1) * sizeof(int))
        self.columns = <int*>self.take((self.nv + 1) * sizeof(int))
        if callable(torque):
            self.torque = torque
        elif torque is not None:
            for k in range(m.nv):
                self.tau[k] = torque[k]
        if callable(inputs):
            self.ask_u = inputs
        elif inputs is not None:
            inputs = np.ascontiguousarray(inputs, dtype=float)
            if inputs.ndim == 1:
                for k in range(nu):
                    self.u[k] = inputs[k]
            elif nu:
                rows = self.u_rows_owner = inputs
                self.u_rows, self.u_count = &rows[0, 0], inputs.shape[0]
        self.asks = self.torque is not None or self.ask_u is not None
        self.nlocked = m.nlocked
        self.locked = <int*>self.take((m.nlocked + 1) * sizeof(int))
        self.v_lock = self.doubles(m.nv)
        self.a_lock = self.doubles(m.nv)
        self.rnea_body = <RneaBody*>self.take(m.nbody * sizeof(RneaBody)) if m.nlocked else NULL
        k = 0
        for i in range(m.nbody):
            if m.body[i].locked:
                self.locked[k] = i
                k += 1

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
        self.steps = self.begun = self.moment = self.total_iterations = 0
        self.most_iterations = 0
        self.spans = NULL
        self.h, self.h_last, self.restarted, self.contraction = self.span, 0.0, True, NAN
        memcpy(self.q, &q[0], self.nq * sizeof(double))
        memcpy(self.x, &x[0], self.nv * sizeof(double))
        self.begin()

    def set_steps(self, spans, ends):
        """Take steps (n,) [s] from the state on that end at the times ends[1:], (n + 1,)."""
        cdef const double[::1] h, t
        h = spans = np.ascontiguousarray(spans, dtype=float)
        t = ends = np.ascontiguousarray(ends, dtype=float)
        self.spans_owner = (spans, ends)
        self.spans, self.ends, self.span_count = &h[0], &t[0], h.shape[0]
        self.begun = self.steps

    def set_end(self, double t):
        """Take steps that choose their own length until a recorded one ends at or beyond time t."""
        self.until, self.arrived = t, False

    def set_motion(self, rows):
        """Take the prescribed motion from the state's time on, (2 substeps + 1, 3, nlocked)."""
        cdef const double[:, :, ::1] moved
        self.motion = NULL
        if self.nlocked:
            moved = self.motion_owner = np.ascontiguousarray(rows, dtype=float)
            self.motion, self.motion_count = &moved[0, 0, 0], moved.shape[0]

    def state(self):
        """Return (t, q, x), copies."""
        q, x = np.empty(self.nq), np.empty(self.nv)
        cdef double[::1] vq = q, vx = x
        memcpy(&vq[0], self.q, self.nq * sizeof(double))
        memcpy(&vx[0], self.x, self.nv * sizeof(double))
        return self.t, q, x

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
        self.spans, self.h, self.begun = NULL, self.span, self.steps

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

    cdef void pieces(self):
        self.piece(&self.t, sizeof(double))
        self.piece(&self.t0, sizeof(double))
        self.piece(&self.steps, sizeof(long))
        self.piece(&self.total_iterations, sizeof(long))
        self.piece(&self.most_iterations, sizeof(int))
        self.piece(&self.h_last, sizeof(double))
        self.piece(&self.restarted, sizeof(int))
        self.piece(self.q, self.nq * sizeof(double))
        self.piece(self.x, self.nv * sizeof(double))
        self.piece(self.v_last, self.nv * sizeof(double))

    def watch(self, contraction):
        """Write the contraction of each recorded step's last correction to rows of an array, or None: no more."""
        cdef double[::1] view
        self.contraction_owner, self.contraction_out = contraction, NULL
        if contraction is not None:
            view = contraction
            self.contraction_out = &view[0]

    def run(self, long count, long every, long first, double[::1] t, double[:, ::1] q, double[:, ::1] x,
            int[::1] iterations, double[::1] error, double[:, ::1] multipliers, long stride=1):
        """Advance by count steps, writing each `every`-th state to the rows from `first` on.

        Steps that choose their own length stop at one of each `stride` steps at or beyond the end; `arrived` says so.

        Returns (status, rows written). After a status other than 0 the state is that before the
        failed step. Steps are counted from where the run began or was resumed.
        """
        cdef long k, row = first
        cdef int status = OK, c
        for rows, what in (
                ((self.motion_count - 1) // self.rows_each() if self.motion != NULL else INFINITY, "prescribed motion"),
                (self.u_count if self.u_rows != NULL else INFINITY, "inputs"),
                (self.span_count if self.spans != NULL else INFINITY, "step sizes")):
            if self.steps - self.begun + count > rows:
                raise ValueError(f"the {what} end after {rows} steps; {self.steps - self.begun + count} are asked for")
        with nogil:
            for k in range(count):
                self.trouble = OK
                self.take_inputs()
                self.moment = (self.steps - self.begun) * self.rows_each()
                if self.spans != NULL:
                    self.h = self.spans[self.steps - self.begun]
                status = self.advance()
                if status != OK:
                    if self.trouble != OK:
                        status = self.trouble
                    break
                self.steps += 1
                if self.adaptive:
                    self.t += self.h
                elif self.spans != NULL:
                    self.t = self.ends[self.steps - self.begun]
                else:
                    self.t = self.t0 + self.steps * self.h
                self.total_iterations += self.iterations
                if self.iterations > self.most_iterations:
                    self.most_iterations = self.iterations
                if (self.steps - self.begun) % every == 0:
                    t[row] = self.t
                    memcpy(&q[row, 0], self.q, self.nq * sizeof(double))
                    memcpy(&x[row, 0], self.x, self.nv * sizeof(double))
                    iterations[row] = self.iterations
                    error[row] = self.error
                    if self.contraction_out != NULL:
                        self.contraction_out[row] = self.contraction
                    for c in range(self.count):
                        multipliers[row, c] = self.multiplier(c)
                    row += 1
                    if self.t >= self.until - 1e-9 * self.h and (self.steps - self.begun) % stride == 0:
                        self.arrived = True
                        break
        return status, row - first

    def acceleration_at(self, double t, const double[::1] q, const double[::1] v, prescribed=None):
        """Acceleration (nv,) at a time and state, and multipliers (count,) [N or N m] with the force Dh^T lam.

        Under gravity, loads, damping, friction, torque and inputs; ``prescribed``: accelerations (nv,) of the locked
        coordinates, the others' entries are not used.
        """
        cdef int k
        cdef const double[::1] a
        out = np.empty(self.nv)
        cdef double[::1] view = out
        self.trouble = OK
        if prescribed is not None:
            a = np.ascontiguousarray(prescribed, dtype=float)
            for k in range(self.nlocked):
                self.a_lock[self.model.m.body[self.locked[k]].iv] = a[self.model.m.body[self.locked[k]].iv]
        if self.u_rows != NULL:
            k = self.row_at(t)
            memcpy(self.u, self.u_rows + k * self.nu, self.nu * sizeof(double))
        if self.asks and self.ask(t, &q[0], &v[0]) != OK:
            raise self.exception
        self.acceleration(t, &q[0], &v[0], &view[0])
        if self.trouble == CALLBACK_FAILED:
            raise self.exception
        return out, np.array([self.push[k] for k in range(self.count)])

    cdef long row_at(self, double t) noexcept nogil:
        # the row of inputs of the step that a time lies in
        cdef long k = 0
        if self.spans == NULL:
            k = <long>((t - self.t0) / self.span * (1 + 1e-12)) - self.begun
        else:
            while k < self.span_count - 1 and t > self.ends[k + 1] - 1e-12 * self.spans[k]:
                k += 1
        return min(max(k, 0), self.u_count - 1)

    def begin_at(self, double t0):
        """Say when rows of inputs begin."""
        self.t0 = t0

    def momentum_between(self, double t, const double[::1] q, const double[::1] q2):
        """Momentum (nv,) at (t, q) of the step that leads to q2."""
        raise NotImplementedError

    # ---- for the integrators --------------------------------------------------------------------

    cdef void begin(self) noexcept nogil:
        pass

    cdef int step(self) noexcept nogil:
        return OK

    cdef int advance(self) noexcept nogil:
        # a step, composed of as many as there are
        return self.step()

    cdef int rows_each(self) noexcept nogil:
        # rows of prescribed motion in a step
        return 2

    cdef void accept(self) noexcept nogil:
        # the trial state becomes the state
        cdef double* swap = self.q
        self.q = self.q2
        self.q2 = swap
        swap = self.x
        self.x = self.x2
        self.x2 = swap
        swap = self.v_last
        self.v_last = self.v_node
        self.v_node = swap
        self.h_last, self.restarted = self.h, False

    cdef double multiplier(self, int c) noexcept nogil:
        # the c-th multiplier as a force: the constraints push with Dh^T lam
        return self.push[c]

    cdef void take_inputs(self) noexcept nogil:
        # the row of inputs of the step from the state
        if self.u_rows != NULL and self.steps - self.begun < self.u_count:
            memcpy(self.u, self.u_rows + (self.steps - self.begun) * self.nu, self.nu * sizeof(double))

    cdef int ask(self, double t, const double* q, const double* v) noexcept nogil:
        # tau and u from the user's callables
        with gil:
            try:
                if self.torque is not None:
                    self.read(self.torque(t, self.array(q, self.nq), self.array(v, self.nv)), self.nv, self.tau, t,
                              "torque(t, q, v)")
                if self.ask_u is not None:
                    self.read(self.ask_u(t, self.array(q, self.nq), self.array(v, self.nv)), self.nu, self.u, t,
                              "inputs(t, q, v)")
                return OK
            except BaseException as error:
                return self.fail(error)

    cdef int fail(self, error) noexcept:
        # the first one counts: what follows may come of it
        if self.trouble != CALLBACK_FAILED:
            self.exception, self.trouble = error, CALLBACK_FAILED
        return CALLBACK_FAILED

    cdef bint may_ask(self, const double* q, const double* v) noexcept nogil:
        # whether what is written in Python can be asked: nothing failed before, and the state is one
        return self.trouble != CALLBACK_FAILED and all_finite(q, self.nq) and (v == NULL or all_finite(v, self.nv))

    cdef object array(self, const double* x, int n):
        cdef double[::1] view
        out = np.empty(n)
        if n:
            view = out
            memcpy(&view[0], x, n * sizeof(double))
        return out

    cdef int read(self, result, int n, double* to, double t, what) except -1:
        cdef int k
        cdef double[::1] view
        result = np.ascontiguousarray(result, dtype=float)
        if result.shape != (n,):
            raise ValueError(f"{what} returned shape {result.shape}; it must be ({n},)")
        if not np.isfinite(result).all():
            raise ValueError(f"{what} returned NaN or infinity at t = {t:.9g} s")
        view = result
        for k in range(n):
            to[k] = view[k]
        return 0

    cdef void written_loads(self, int which, double t, const double* q, const double* v, double* tau) noexcept nogil:
        # add the loads written in Python; NaN if they fail
        cdef int k
        if not self.may_ask(q, v):
            for k in range(self.nv):
                tau[k] = NAN
            return
        with gil:
            try:
                if which & RESTING and self.user_rests:
                    self.read(self.user.rest(self.array(q, self.nq)), self.nv, self.bias, t, "a potential's gradient")
                    for k in range(self.nv):
                        tau[k] += self.bias[k]
                if which & RATES and self.user_moves:
                    self.read(self.user.move(t, self.array(q, self.nq), self.array(v, self.nv), self.array(self.u, self.nu)),
                              self.nv, self.bias, t, "a force")
                    for k in range(self.nv):
                        tau[k] += self.bias[k]
            except BaseException as error:
                self.fail(error)
                for k in range(self.nv):
                    tau[k] = NAN

    cdef void written_constraints(self, const double* q, double* h, double* Dh) noexcept nogil:
        # the rows of constraints written in Python; NaN if they fail
        cdef int c, k
        cdef double[::1] row
        if not self.may_ask(q, NULL):
            for c in range(self.count):
                h[c] = NAN
            return
        with gil:
            try:
                at = self.array(q, self.nq)
                for c, one in self.user.constraints:
                    value, gradient = one(at)
                    h[c] = value
                    row = gradient
                    for k in range(self.nv):
                        Dh[c * self.nv + k] = row[k]
            except BaseException as error:
                self.fail(error)
                for c in range(self.count):
                    h[c] = NAN

    cdef bint loaded(self) noexcept nogil:
        return self.nload > 0 or self.user_rests or self.user_moves

    cdef void constrain_at(self, const double* q, double* h, double* Dh) noexcept nogil:
        # poses, h and Dh at q
        constraints(&self.model.m, self.constraints.list, self.count, q, self.pose, h, Dh)
        if self.user_constrains:
            self.written_constraints(q, h, Dh)

    cdef BodiesAt bodies_at(self, const double* q, const double* v) noexcept nogil:
        # what the loads see
        cdef BodiesAt at
        at.m, at.q, at.v, at.u, at.pose, at.twist = &self.model.m, q, v, self.u, self.pose, self.twist
        return at

    cdef void apply_to_bodies(self, int which, double t, const double* q, const double* v) noexcept nogil:
        # wrench and ltau of all loads, where pose and twist are those of (q, v)
        cdef BodiesAt at
        memset(self.wrench, 0, 6 * self.nbody * sizeof(double))
        memset(self.ltau, 0, self.nv * sizeof(double))
        at = self.bodies_at(q, v)
        apply_loads(&at, self.loads.list, self.nload, which, self.wrench, self.ltau)
        if self.user_rests or self.user_moves:
            self.written_loads(which, t, q, v, self.ltau)

    cdef void place_bodies(self, const double* q, const double* v) noexcept nogil:
        # pose and twist at (q, v)
        cdef int i
        forward_kinematics(&self.model.m, q, self.pose)
        for i in range(self.nbody):
            twist_of(&self.model.m, i, v, self.pose, self.twist)

    cdef void project_wrenches(self, double* tau) noexcept nogil:
        # add the generalised force of the wrenches on bodies
        cdef int i
        for i in range(self.nbody):
            add_wrench_row(&self.model.m, self.pose, i, load3(self.wrench + 6 * i), load3(self.wrench + 6 * i + 3), tau)

    cdef void lock_rates(self, int ahead) noexcept nogil:
        # rates of the prescribed coordinates at a row from the step's first
        cdef const double* row
        cdef int k, iv
        if self.motion == NULL:
            return
        row = self.motion + min(self.moment + ahead, self.motion_count - 1) * 3 * self.nlocked
        for k in range(self.nlocked):
            iv = self.model.m.body[self.locked[k]].iv
            self.v_lock[iv] = row[self.nlocked + k]
            self.a_lock[iv] = row[2 * self.nlocked + k]

    cdef double locked_at(self, int k, int ahead) noexcept nogil:
        # the k-th prescribed coordinate at a row from the step's first
        if self.motion == NULL:
            return self.q[self.model.m.body[self.locked[k]].iq]
        return self.motion[min(self.moment + ahead, self.motion_count - 1) * 3 * self.nlocked + k]

    cdef void lock_end(self) noexcept nogil:
        # a trial (q2, v2) at the end of the step moves as prescribed
        cdef int k
        cdef const vt_body* b
        if self.nlocked:
            self.lock_rates(self.rows_each())
            for k in range(self.nlocked):
                b = &self.model.m.body[self.locked[k]]
                self.q2[b.iq] = self.locked_at(k, self.rows_each())
                self.x2[b.iv] = self.v_lock[b.iv]

    cdef void acceleration(self, double t, const double* q, const double* v, double* out) noexcept nogil:
        # under tau, damping, friction, loads, gravity, prescribed motion and constraints
        # (Johnson & Murphey 2009, eqs. 28, 29, 36)
        cdef const vt_model* m = &self.model.m
        cdef int k, iv
        cdef double* wrench = NULL
        cdef double none[3]
        cdef BodiesAt at
        for k in range(self.nv):
            self.acc_tau[k] = self.tau[k] - m.damping[k] * v[k]
        if m.rubbing:
            add_friction(m, 1.0, v, -1.0, self.acc_tau)
        if self.loaded() or self.count:
            self.place_bodies(q, v)
        if self.loaded():
            self.apply_to_bodies(RESTING | RATES, t, q, v)
            for k in range(self.nv):
                self.acc_tau[k] += self.ltau[k]
            wrench = self.wrench
        if self.nlocked:
            # M a = tau - bias with the prescribed accelerations on the right
            memset(none, 0, sizeof(none))
            if wrench != NULL:
                self.project_wrenches(self.acc_tau)
            rnea(m, m.g, q, v, self.a_lock, self.bias, self.rnea_body)
            for k in range(self.nv):
                self.acc_tau[k] -= self.bias[k]
            aba(m, none, q, self.zeros, self.acc_tau, NULL, out, self.aba_body)
            for k in range(self.nlocked):
                iv = m.body[self.locked[k]].iv
                out[iv] = self.a_lock[iv]
        else:
            aba(m, m.g, q, v, self.acc_tau, wrench, out, self.aba_body)
        if self.count:
            at = self.bodies_at(q, v)
            constraint_accelerations(&at, self.constraints.list, self.count, self.body6, self.push)
            if self.user_constrains:
                self.written_accelerations(q, v, self.push)
            self.constrain_at(q, self.hv, self.Dh1)
            for k in range(self.count):
                self.hv[k] = -self.push[k]
            self.reach(self.Dh1, self.hv, out)

    cdef void written_accelerations(self, const double* q, const double* v, double* out) noexcept nogil:
        cdef int c
        if not self.may_ask(q, v):
            for c in range(self.count):
                out[c] = NAN
            return
        with gil:
            try:
                for c, value in self.user.constraint_accelerations(self.array(q, self.nq), self.array(v, self.nv)):
                    out[c] = value
            except BaseException as error:
                self.fail(error)
                for c in range(self.count):
                    out[c] = NAN

    cdef void reach(self, const double* Dh, const double* goal, double* x) noexcept nogil:
        # x += M^-1 Dh^T lam so that Dh x = goal; NaN where the constraints depend on each other.
        # M is that of the `aba` before
        cdef int c, e, k, entries, n = self.nv
        cdef const double* row
        for c in range(self.count):
            aba_response(&self.model.m, Dh + c * n, self.Y + c * n, self.aba_body)
        for c in range(self.count):
            row = Dh + c * n
            entries = nonzeros(row, n, self.columns)
            self.push[c] = goal[c] - inner_at(row, x, self.columns, entries)
            for e in range(self.count):
                self.schur[c * self.count + e] = inner_at(row, self.Y + e * n, self.columns, entries)
        if not all_finite(self.push, self.count) or lu_factor(self.schur, self.count, self.order) != OK:
            if self.trouble == OK and all_finite(self.schur, self.count * self.count):
                self.trouble = DEPENDENT
            x[0] = NAN
            return
        lu_solve(self.schur, self.count, self.order, self.push)
        for c in range(self.count):
            for k in range(n):
                x[k] += self.push[c] * self.Y[c * n + k]

    cdef void velocity(self, const double* q, const double* p, double* out) noexcept nogil:
        # v = M^-1 (p + Dh^T nu) with Dh v = 0 and prescribed rates
        cdef double none[3]
        cdef int k, iv
        memset(none, 0, sizeof(none))
        if self.nlocked:
            self.lock_rates(0)
            rnea(&self.model.m, none, q, self.zeros, self.v_lock, self.bias, self.rnea_body)
            for k in range(self.nv):
                self.acc_tau[k] = p[k] - self.bias[k]
            aba(&self.model.m, none, q, self.zeros, self.acc_tau, NULL, out, self.aba_body)
            for k in range(self.nlocked):
                iv = self.model.m.body[self.locked[k]].iv
                out[iv] = self.v_lock[iv]
        else:
            aba(&self.model.m, none, q, self.zeros, p, NULL, out, self.aba_body)
        if self.count:
            self.constrain_at(q, self.hv, self.Dh1)
            memset(self.hv, 0, self.count * sizeof(double))
            self.reach(self.Dh1, self.hv, out)

    # ---- for steppers whose state is (q, p) ------------------------------------------------------

    cdef void guess_from_dynamics(self, double share, double* v, double* a, double* y) noexcept nogil:
        # y = h v + share h^2 a, v = M^-1 p
        cdef int k
        self.velocity(self.q, self.x, v)
        for k in range(self.nv):
            y[k] = self.h * v[k]
        if share != 0.0:
            self.acceleration(self.t, self.q, v, a)
            for k in range(self.nv):
                y[k] += share * self.h * self.h * a[k]

    cdef int predict_middle(self, double* v, double* a, double* d) noexcept nogil:
        # the predicted middle of the step, q2 = q + h v/2 + h^2 a/8 and v + h a/2 with the last step's mean
        # acceleration, and the callables' answers there: one call, second order
        cdef int k
        self.velocity(self.q, self.x, v)
        if self.restarted:
            # no step lies behind: the acceleration under what is asked for at the start
            if self.asks and self.ask(self.t, self.q, v) != OK:
                return CALLBACK_FAILED
            self.acceleration(self.t, self.q, v, a)
        else:
            for k in range(self.nv):
                a[k] = (v[k] - self.v_last[k]) / self.h_last
        memcpy(self.v_node, v, self.nv * sizeof(double))
        for k in range(self.nv):
            d[k] = self.h * (0.5 * v[k] + 0.125 * self.h * a[k])
            v[k] += 0.5 * self.h * a[k]
        integrate(&self.model.m, self.q, d, self.q2)
        return self.ask(self.t + 0.5 * self.h, self.q2, v) if self.asks else OK
