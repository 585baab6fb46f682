# The table of each kind of steps in lanes, and the block of instances for Python.

cdef void straightens_nothing(Lanes self, vt_real* y) noexcept nogil:
    pass


cdef void passes_nothing_on(Lanes self) noexcept nogil:
    pass


cdef LaneMethod lane_method(int kind) noexcept:
    cdef LaneMethod x
    memset(&x, 0, sizeof(LaneMethod))
    x.need, x.begin, x.advance = explicit_lanes_need, lanes_begin, explicit_lanes_advance
    x.straighten, x.pass_on = straightens_nothing, passes_nothing_on
    if kind == LINEAR_TIME_LANES:
        x.need = linear_time_lanes_need
        x.begin = linear_time_lanes_begin
        x.advance = variational_lanes_advance
        x.prepare = linear_time_lanes_prepare
        x.evaluate = linear_time_lanes_evaluate
        x.measure = linear_time_lanes_measure
        x.kinetic = linear_time_lanes_kinetic
        x.tree_momentum = linear_time_lanes_tree_momentum
        x.impulse = linear_time_lanes_impulse
        x.factor = linear_time_lanes_factor
        x.solve = linear_time_lanes_solve
        x.straighten = linear_time_lanes_straighten
        x.finish = linear_time_lanes_finish
        x.pass_on = linear_time_lanes_pass_on
    elif kind == MIDPOINT_LANES:
        x.need = midpoint_lanes_need
        x.begin = variational_lanes_begin
        x.advance = variational_lanes_advance
        x.prepare = midpoint_lanes_prepare
        x.evaluate = midpoint_lanes_evaluate
        x.measure = midpoint_lanes_measure
        x.kinetic = midpoint_lanes_kinetic
        x.tree_momentum = midpoint_lanes_tree_momentum
        x.impulse = midpoint_lanes_impulse
        x.factor = midpoint_lanes_factor
        x.solve = midpoint_lanes_solve
        x.finish = midpoint_lanes_finish
    return x


cdef class Lanes:
    """A block of instances, each with a state (q, x), that steps of one length advance together.

    ``address`` : of a plan, which ``owner`` keeps alive.
    """

    cdef LaneMethod method
    cdef LanePlan plan
    cdef object owner
    cdef Scratch scratch
    cdef readonly int width
    cdef readonly int count             # instances; the lanes beyond repeat the last one
    cdef readonly Py_ssize_t size       # [bytes]
    cdef int nq
    cdef int nv
    cdef bint by_momentum               # x is p
    cdef bint left[MOST_LANES]          # the lane left the common way
    cdef long steps                     # since the start
    cdef long taken[MOST_LANES]         # steps of a lane before it left
    cdef int corrections[MOST_LANES]    # of its last step
    cdef long total[MOST_LANES]         # of all its steps, and the most of one
    cdef int most[MOST_LANES]
    cdef double error[MOST_LANES]       # last residual of it
    cdef vt_real* q                     # the state, and the trial state
    cdef vt_real* x
    cdef vt_real* q2
    cdef vt_real* x2
    cdef vt_real* tau                   # (nv,)
    cdef vt_real* u                     # (nu,)
    cdef vt_real* force                 # (nv,) of an acceleration
    cdef vt_real* zeros                 # (nv,)
    cdef vt_real* a                     # (nv,) acceleration
    cdef vt_real* v
    cdef vt_real* d
    cdef AbaBody* aba
    cdef vt_real* u_rate                # (stages, nv)
    cdef vt_real* v_rate
    cdef LaneStage* stage
    cdef LaneStage* at                  # that of the substep at hand
    cdef int substep_at                 # its number
    cdef double h                       # [s] its length
    cdef double node_share              # of the step's impulse, that of the first node
    cdef int required                   # signs that its operator must have
    cdef bint solves_forces             # a step solves for forces
    cdef vt_real* y                     # (nv,) the increment, the residual, and what may be overwritten
    cdef vt_real* r
    cdef vt_real* spare
    cdef vt_real* servo_force           # (nv,) of drives at a trial, and -h dforce/dy; NULL without them
    cdef vt_real* servo_slope
    cdef vt_real* ahead_force           # the same on the way of h v
    cdef vt_real* ahead_slope
    cdef vt_real* stiff                 # (nv,) armature, with these slopes as some more of it
    cdef vt_real* last                  # (nv,) the last correction
    cdef double descent[MOST_LANES]     # r.d of it
    cdef LinearTimeLanesState linear
    cdef MidpointLanesState mid

    def __init__(self, size_t address, owner):
        cdef const vt_model* m
        cdef int n
        self.owner, self.plan, self.width = owner, (<LanePlan*>address)[0], VT_WIDTH
        if self.plan.layout != lane_layout():
            raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
        self.method = lane_method(self.plan.kind)
        m = self.plan.m
        n = self.nv = m.nv
        self.nq = m.nq
        self.size = self.method.need(self) + 64 * 100
        self.scratch = Scratch(self.size)
        self.q, self.q2 = lanes_reals(self, m.nq), lanes_reals(self, m.nq)
        self.x, self.x2 = lanes_reals(self, n), lanes_reals(self, n)
        self.tau, self.force = lanes_reals(self, n), lanes_reals(self, n)
        self.a, self.d = lanes_reals(self, n), lanes_reals(self, n)
        self.v, self.zeros = lanes_reals(self, n), lanes_reals(self, n)
        self.u = lanes_reals(self, self.plan.nu)
        self.aba = <AbaBody*>self.scratch.take(m.nbody * sizeof(AbaBody))
        if self.plan.kind == LINEAR_TIME_LANES:
            make_linear_time_lanes(self)
        elif self.plan.kind == MIDPOINT_LANES:
            make_midpoint_lanes(self)
        else:
            make_explicit_lanes(self)

    def start(self, const double[:, ::1] q, const double[:, ::1] x, Py_ssize_t first):
        """Take states from the rows of q (n, nq) and of p or v (n, nv) from ``first`` on, as many as there are lanes."""
        cdef int i
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(x.shape[1], self.nv, "columns of p or v")
        require_size(x.shape[0], q.shape[0], "rows of p or v")
        if not 0 <= first < q.shape[0]:
            raise ValueError(f"row {first} of {q.shape[0]}")
        self.count, self.steps = <int>min(<Py_ssize_t>VT_WIDTH, q.shape[0] - first), 0
        gather(&q[0, 0] if self.nq else NULL, q.shape[0], self.nq, first, self.q)
        gather(&x[0, 0] if self.nv else NULL, x.shape[0], self.nv, first, self.x)
        for i in range(VT_WIDTH):
            self.left[i] = i >= self.count
            self.taken[i] = self.corrections[i] = self.total[i] = self.most[i] = 0
            self.error[i] = 0.0
        self.method.begin(self)

    def set_torque(self, const double[:, ::1] torque, Py_ssize_t first):
        """Let joint forces (n, nv) act from here on, the rows from ``first`` on; one row acts on all."""
        lanes_take(self, torque, first, self.nv, self.tau, "torque")

    def set_inputs(self, const double[:, ::1] inputs, Py_ssize_t first):
        """Let inputs (n, nu) act from here on, likewise."""
        lanes_take(self, inputs, first, self.plan.nu, self.u, "inputs")

    def run(self, long count, long every, torque, inputs, double[:, :, ::1] q, double[:, :, ::1] x,
            int[:, ::1] iterations, double[:, ::1] residual, Py_ssize_t first, long row):
        """Advance by ``count`` steps, and write each ``every``-th state since the start to rows from ``row`` on.

        ``torque`` and ``inputs``: None, or an array (n, rows, nv) or (n, rows, nu) with a row a step since the start.
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
            torques, torque_stride = lanes_rows_of(self, given, first, count, self.nv, "torque"), given.shape[1] * self.nv
        if inputs is not None:
            given = inputs
            signals = lanes_rows_of(self, given, first, count, self.plan.nu, "inputs")
            signal_stride = given.shape[1] * self.plan.nu
        with nogil:
            for k in range(count):
                if torques != NULL:
                    lanes_take_row(self, torques, torque_stride, self.nv, self.tau)
                if signals != NULL:
                    lanes_take_row(self, signals, signal_stride, self.plan.nu, self.u)
                if any_left:
                    any_left = lanes_step(self)
                self.steps += 1
                if self.steps % every == 0:
                    for i in range(self.count):
                        if self.left[i]:
                            continue
                        for n in range(self.nq):
                            q[first + i, row, n] = vt_get(self.q[n], i)
                        for n in range(self.nv):
                            x[first + i, row, n] = vt_get(self.x[n], i)
                        iterations[first + i, row] = self.corrections[i]
                        residual[first + i, row] = self.error[i]
                    row += 1
        return row

    def done(self):
        """Of each instance: steps taken, whether it left the common way, corrections of all steps and the most of one."""
        cdef int i
        return [(self.taken[i], bool(self.left[i]), self.total[i], self.most[i]) for i in range(self.count)]

    @property
    def any_left(self):
        """Whether an instance left the common way."""
        cdef int i
        return any([self.left[i] for i in range(self.count)])

    def look(self, double[:, ::1] q, double[:, ::1] v, Py_ssize_t first):
        """Write the states to the rows of q (n, nq) and v (n, nv) from ``first`` on."""
        require_size(q.shape[1], self.nq, "columns of q")
        require_size(v.shape[1], self.nv, "columns of v")
        if q.shape[0] < first + self.count or v.shape[0] < first + self.count:
            raise ValueError(f"{q.shape[0]} rows; {first + self.count} are needed")
        if not (self.nq and self.nv):
            return
        scatter(self.q, first + self.count, self.nq, first, &q[0, 0])
        if self.by_momentum:
            lanes_velocity(self, self.v)
            scatter(self.v, first + self.count, self.nv, first, &v[0, 0])
        else:
            scatter(self.x, first + self.count, self.nv, first, &v[0, 0])


def lanes(size_t address, owner):
    """Lanes for a plan, the address of which `lane_plan` returned; ``owner`` keeps it alive."""
    return Lanes(address, owner)
