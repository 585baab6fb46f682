# A block of instances for Python, and its steps.

cdef Method TABLES[METHOD_COUNT]
euler_entries(&TABLES[METHOD_EULER])
runge_kutta_entries(&TABLES[METHOD_RUNGE_KUTTA])
variational_entries(&TABLES[METHOD_LINEAR_TIME])
linear_time_entries(&TABLES[METHOD_LINEAR_TIME])
variational_entries(&TABLES[METHOD_MIDPOINT])
midpoint_entries(&TABLES[METHOD_MIDPOINT])


cdef int take_rows(ModelStepper self, const double[:, ::1] rows, Py_ssize_t first, int size, vt_real* to, what) except -1:
    require_size(rows.shape[1], size, f"columns of {what}")
    if not (0 <= first < rows.shape[0] or rows.shape[0] == 1):
        raise ValueError(f"row {first} of {rows.shape[0]}")
    if size:
        gather(&rows[0, 0], rows.shape[0], size, min(first, rows.shape[0] - 1), to)
    return 0


cdef const double* rows_of(ModelStepper self, const double[:, :, ::1] rows, Py_ssize_t first, long count, int size,
                                 what) except? NULL:
    # the rows (steps, size) of the first instance, or NULL where there are no columns
    require_size(rows.shape[2], size, f"columns of {what}")
    if rows.shape[0] < first + self.count or rows.shape[1] < self.steps + count:
        raise ValueError(f"{what} of {rows.shape[0]} instances and {rows.shape[1]} steps")
    return &rows[first, 0, 0] if size else NULL


cdef void row_of_step(ModelStepper self, const double* rows, Py_ssize_t stride, int size, vt_real* to) noexcept nogil:
    # that of the current step, of each instance
    cdef int i, k
    cdef Py_ssize_t at
    for i in range(VT_WIDTH):
        at = min(i, self.count - 1) * stride + self.steps * size
        for k in range(size):
            vt_put(&to[k], i, rows[at + k])


# ---- a step ------------------------------------------------------------------------------------------


cdef bint advance_block(ModelStepper self) noexcept nogil:
    # a step of all lanes; whether any continues
    cdef Choices* c = &self.shared.choices
    cdef int i, s
    cdef bint goes_on = False
    self.lane.clock.steps = self.steps
    for i in range(VT_WIDTH):
        self.corrections[i], self.error[i] = 0, 0.0
    if not self.method.explicit:
        for s in range(c.stages):
            use(self, s)
            self.lane.now.h = c.share[s] * self.shared.schedule.span
            advance_substep(self)
    else:
        self.lane.now.h = self.shared.schedule.span
        self.method.step(self)
        accept_block(self)
    for i in range(VT_WIDTH):
        if not self.lane.left[i]:
            goes_on = True
            self.taken[i] += 1
            self.total[i] += self.corrections[i]
            self.most[i] = max(self.most[i], self.corrections[i])
    return goes_on


cdef void advance_substep(ModelStepper self) noexcept nogil:
    # of a variational method; lanes whose equations are not solved leave
    cdef int i
    self.method.prepare(self)
    variational_attempt(self)
    for i in range(VT_WIDTH):
        self.lane.left[i] = self.lane.left[i] or self.lane.newton.status[i] != OK
        self.corrections[i] += self.lane.now[i].iterations
        self.error[i] = max(self.error[i], self.lane.now[i].error)
    learn(self)
    self.method.pass_on(self)
    accept_block(self)


cdef void accept_block(ModelStepper self) noexcept nogil:
    # the trial state becomes the state; lanes where it is not finite leave
    cdef State* at = &self.lane.state
    cdef vt_real size = vt_max_nan(largest(at.q2, self.nq), largest(at.x2, self.nv))
    cdef int i
    for i in range(VT_WIDTH):
        self.lane.left[i] = self.lane.left[i] or not vt_get(size, i) <= MOST
    at.q, at.q2 = at.q2, at.q
    at.x, at.x2 = at.x2, at.x


cdef void begin_block(ModelStepper self) noexcept nogil:
    # there is no previous step
    cdef int k
    if self.method.explicit:
        return
    for k in range(self.shared.choices.stages * VT_WIDTH):
        memset(&self.lane.reuses[k], 0, sizeof(FactorReuse))
        reuse_begin(&self.lane.reuses[k])
    for k in range(self.shared.choices.stages):
        memset(self.lane.guesses[k].seen, 0, VT_WIDTH * sizeof(Seen))
        memset(self.lane.guesses[k].table, 0, guess_rows(self.lane.guesses[k].rings) * self.nv * sizeof(vt_real))
    self.method.leave(self)


# ---- creation ------------------------------------------------------------------------------------------


cdef int make_steps(ModelStepper self, const LanePlan* plan) except -1:
    # the parts of the method, and where some lanes keep their operator while others use another one
    cdef OperatorPart part[OPERATOR_PARTS]
    cdef int k
    self.method = &TABLES[plan.kind]
    self.method.make_lanes(self, plan)
    if not self.method.explicit:
        self.method.operator_parts(self, part)
        for k in range(OPERATOR_PARTS):
            self.aside[k] = self.memory.scratch(part[k].size)
    return 0


cdef class ModelStepper:
    """A block of instances, each with a state (q, x), that are advanced together by steps of one length.

    ``address`` : of a plan, which ``owner`` keeps alive.
    """

    cdef const Method* method
    cdef int nq, nv
    cdef Memory memory
    cdef Shared shared
    cdef Lane lane
    cdef EulerStep euler
    cdef RungeKuttaStep runge
    cdef LinearTimeLane linear
    cdef MidpointLane mid
    cdef object owner
    cdef TouchLanes* contact            # of steps in contact, or NULL
    cdef LaneNumbers numbers
    cdef void* aside[OPERATOR_PARTS]
    cdef readonly int width
    cdef readonly int count             # instances; the lanes beyond repeat the last one
    cdef long steps                     # since the start
    cdef long taken[MOST_LANES]         # steps of a lane before it left
    cdef int corrections[MOST_LANES]    # of its last step
    cdef long total[MOST_LANES]         # of all its steps, and the most of one
    cdef int most[MOST_LANES]
    cdef double error[MOST_LANES]       # last residual of it

    def __init__(self, size_t address, owner):
        cdef const LanePlan* plan = <const LanePlan*>address
        cdef Memory memory = Memory()
        cdef const vt_model* m
        if plan.layout != lane_layout():
            raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
        self.owner, self.width, self.memory, self.shared = owner, VT_WIDTH, memory, plan.shared
        numbers_make(&self.numbers, memory, &self.shared)
        m = self.shared.m
        self.nq, self.nv = m.nq, m.nv
        self.lane.clock, self.lane.now = clock_make(memory), <Now*>memory.scratch(VT_WIDTH * sizeof(Now))
        state_make(&self.lane.state, memory, m.nq, m.nv)
        self.lane.drive.u, self.lane.drive.tau = memory.given_reals(self.shared.schedule.nu), memory.given_reals(m.nv)
        self.lane.bodies.aba = <AbaBody*>memory.scratch(m.nbody * sizeof(AbaBody))
        self.lane.bodies.force = memory.scratch_reals(m.nv)
        self.shared.zeros = memory.given_reals(m.nv)
        servos_make(&self.lane.servos, memory, self.shared.ndrive, m.nv)
        make_steps(self, plan)

    def __dealloc__(self):
        if self.contact != NULL:
            touch_lanes_free(self.contact)

    def contact_steps(self, int contacts, int members, int joints):
        """Make memory for steps with contacts, some on planes, and some of joints with dry friction.

        Returns the addresses of the block and of its step, and the layout of what they take.
        """
        if self.method != &TABLES[METHOD_LINEAR_TIME]:
            raise ValueError("steps in contact are those of linear-time")
        if self.contact == NULL:
            self.contact = <TouchLanes*>self.memory.given(sizeof(TouchLanes))
            touch_lanes_make(self.contact, self.memory, self.shared.m, contacts, members, joints)
        return <size_t><void*>self, <size_t><StepTogether>step_together, home_layout()

    def start(self, const double[:, ::1] q, const double[:, ::1] x, Py_ssize_t first):
        """Load states from the rows of q (n, nq) and of p or v (n, nv) from ``first`` on, one per lane."""
        cdef int i
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(x.shape[1], self.nv, "columns of p or v")
        require_size(x.shape[0], q.shape[0], "rows of p or v")
        if not 0 <= first < q.shape[0]:
            raise ValueError(f"row {first} of {q.shape[0]}")
        self.count, self.steps = <int>min(<Py_ssize_t>VT_WIDTH, q.shape[0] - first), 0
        gather(&q[0, 0] if self.nq else NULL, q.shape[0], self.nq, first, self.lane.state.q)
        gather(&x[0, 0] if self.nv else NULL, x.shape[0], self.nv, first, self.lane.state.x)
        for i in range(VT_WIDTH):
            self.lane.left[i] = i >= self.count
            self.taken[i] = self.corrections[i] = self.total[i] = self.most[i] = 0
            self.error[i] = 0.0
        begin_block(self)

    def set_numbers(self, addresses):
        """Take the numbers of models, one address of `lane_numbers` for each instance."""
        cdef size_t at
        cdef int i
        if len(addresses) < self.count:
            raise ValueError(f"numbers of {len(addresses)} models for {self.count} instances")
        use_numbers(self, True)
        for i in range(VT_WIDTH):
            at = addresses[min(i, self.count - 1)]
            take_numbers(self, i, <const ModelNumbers*>at)

    def set_torque(self, const double[:, ::1] torque, Py_ssize_t first):
        """Apply joint forces (n, nv) from the current state on, the rows from ``first`` on; one row applies to all."""
        take_rows(self, torque, first, self.nv, self.lane.drive.tau, "torque")

    def set_inputs(self, const double[:, ::1] inputs, Py_ssize_t first):
        """Apply inputs (n, nu) from the current state on, likewise."""
        take_rows(self, inputs, first, self.shared.schedule.nu, self.lane.drive.u, "inputs")

    def run(self, long count, long every, torque, inputs, double[:, :, ::1] q, double[:, :, ::1] x,
            int[:, ::1] iterations, double[:, ::1] residual, Py_ssize_t first, long row):
        """Advance by ``count`` steps, and write each ``every``-th state since the start to rows from ``row`` on.

        ``torque`` and ``inputs``: None, or an array (n, rows, nv) or (n, rows, nu) with a row per step since the start.
        ``q`` (n, rows, nq), ``x`` (n, rows, nv), ``iterations`` and ``residual`` (n, rows): the records; instances have
        the numbers from ``first`` on. Returns the next row.
        """
        cdef const double[:, :, ::1] given
        cdef const double* torques = NULL
        cdef const double* signals = NULL
        cdef Py_ssize_t n, torque_stride = 0, signal_stride = 0
        cdef long k, wanted = row + (self.steps + count) // every - self.steps // every
        cdef int i
        cdef bint any_left = True
        if count < 0 or every < 1 or row < 0:
            raise ValueError(f"{count} steps, every {every} from row {row}: no such run")
        for n in (q.shape[0], x.shape[0], iterations.shape[0], residual.shape[0]):
            if n < first + self.count:
                raise ValueError(f"records of {n} instances; {first + self.count} are needed")
        for n in (q.shape[1], x.shape[1], iterations.shape[1], residual.shape[1]):
            if n < wanted:
                raise ValueError(f"{n} rows of records; {wanted} are needed")
        require_size(q.shape[2], self.nq, "columns of q")
        require_size(x.shape[2], self.nv, "columns of p or v")
        if torque is not None:
            given = torque
            torques, torque_stride = rows_of(self, given, first, count, self.nv, "torque"), given.shape[1] * self.nv
        if inputs is not None:
            given = inputs
            signals = rows_of(self, given, first, count, self.shared.schedule.nu, "inputs")
            signal_stride = given.shape[1] * self.shared.schedule.nu
        with nogil:
            for k in range(count):
                if torques != NULL:
                    row_of_step(self, torques, torque_stride, self.nv, self.lane.drive.tau)
                if signals != NULL:
                    row_of_step(self, signals, signal_stride, self.shared.schedule.nu, self.lane.drive.u)
                if any_left:
                    any_left = advance_block(self)
                self.steps += 1
                if self.steps % every == 0:
                    for i in range(self.count):
                        if self.lane.left[i]:
                            continue
                        for n in range(self.nq):
                            q[first + i, row, n] = vt_get(self.lane.state.q[n], i)
                        for n in range(self.nv):
                            x[first + i, row, n] = vt_get(self.lane.state.x[n], i)
                        iterations[first + i, row] = self.corrections[i]
                        residual[first + i, row] = self.error[i]
                    row += 1
        return row

    def done(self):
        """For each instance: steps taken, whether it left the common branch, corrections in all and at most."""
        cdef int i
        return [(self.taken[i], bool(self.lane.left[i]), self.total[i], self.most[i]) for i in range(self.count)]

    @property
    def size(self):
        """Size of its memory in bytes."""
        return self.memory.size

    @property
    def any_left(self):
        """Whether an instance left the common branch."""
        cdef int i
        return any([self.lane.left[i] for i in range(self.count)])

    def look(self, double[:, ::1] q, double[:, ::1] v, Py_ssize_t first):
        """Write the states to the rows of q (n, nq) and v (n, nv) from ``first`` on."""
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(v.shape[1], self.nv, "columns of v")
        if q.shape[0] < first + self.count or v.shape[0] < first + self.count:
            raise ValueError(f"{q.shape[0]} rows; {first + self.count} are needed")
        if not (self.nq and self.nv):
            return
        scatter(self.lane.state.q, first + self.count, self.nq, first, &q[0, 0])
        if not self.method.explicit:
            model_velocity(self, self.lane.state.q, self.lane.state.x, self.lane.newton.v)
            scatter(self.lane.newton.v, first + self.count, self.nv, first, &v[0, 0])
        else:
            scatter(self.lane.state.x, first + self.count, self.nv, first, &v[0, 0])
