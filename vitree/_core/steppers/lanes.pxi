# Steps of several instances at once, an instance a lane, on models without loads, constraints, contacts and prescribed
# motion. A lane does what the steppers of one instance do, operation by operation, and has their bits; what decides is in
# plain numbers of the lane. A lane that leaves the common way (a step to be halved, another branch, a state that blows
# up) is left to those steppers.

cdef enum:
    EULER_LANES = 0
    RUNGE_KUTTA_LANES = 1
    LINEAR_TIME_LANES = 2
    MIDPOINT_LANES = 3

cdef enum:
    MOST_LANES = 8

#: As LARGEST of the steppers
cdef double MOST_IN_LANES = 1e100


cdef struct LanePlan:           # what a stepper of one instance says about its steps
    size_t layout               # of the structs that both modules know
    int kind
    const vt_model* m
    const vt_drive* drive
    int ndrive
    int nu                      # inputs
    bint limited                # drives have limits of effort
    double h                    # [s]
    bint semi_implicit
    int stages                  # of a Runge-Kutta method: its tableau
    const double* a             # (stages, stages)
    const double* b             # (stages,)
    const double* share         # (stages,) of the step, of a variational method; and how it is solved: Choices
    int solver
    int required
    double tolerance
    double rounding
    const double* gain          # (nv,) or NULL
    double heaviest
    int max_iterations
    int split
    double alpha
    bint relative
    Costs costs


#: Lanes of a block of :class:`Lanes`
VT_LANES = VT_WIDTH


cdef inline size_t lane_layout() noexcept nogil:
    return sizeof(LanePlan) + 1000 * sizeof(vt_body) + 100000 * sizeof(vt_drive)


cdef inline vt_mask where(const bint* asked) noexcept nogil:
    # a mask of lanes
    cdef vt_real x = vt_set1(1.0)
    cdef int k
    for k in range(VT_WIDTH):
        if asked[k]:
            vt_put(&x, k, -1.0)
    return vt_lt(x, vt_set1(0.0))


cdef inline vt_real largest_in_lanes(const vt_real* x, int n) noexcept nogil:
    # max |x_i|, or NaN if any is
    cdef int k
    cdef vt_real s = vt_set1(0.0)
    for k in range(n):
        s = vt_max_nan(s, vt_abs(x[k]))
    return s


cdef inline void blend(vt_mask m, const void* source, void* to, size_t size) noexcept nogil:
    # numbers of some lanes
    cdef const vt_real* x = <const vt_real*>source
    cdef vt_real* y = <vt_real*>to
    cdef size_t k
    for k in range(size // sizeof(vt_real)):
        y[k] = vt_select(m, x[k], y[k])


cdef class Lanes:
    """A block of instances, each with a state (q, x), that steps of one length advance together.

    ``address`` : of a plan, which ``owner`` keeps alive.
    """

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

    def __init__(self, size_t address, owner):
        cdef const vt_model* m
        cdef int n
        self.owner, self.plan, self.width = owner, (<LanePlan*>address)[0], VT_WIDTH
        if self.plan.layout != lane_layout():
            raise ImportError("the compiled modules of vitree are of different versions: build all of them anew")
        m = self.plan.m
        n = self.nv = m.nv
        self.nq = m.nq
        self.size = self.need() + 64 * 100
        self.scratch = Scratch(self.size)
        self.q, self.q2 = self.reals(m.nq), self.reals(m.nq)
        self.x, self.x2, self.tau, self.force = self.reals(n), self.reals(n), self.reals(n), self.reals(n)
        self.a, self.d, self.v, self.zeros = self.reals(n), self.reals(n), self.reals(n), self.reals(n)
        self.u = self.reals(self.plan.nu)
        self.aba = <AbaBody*>self.scratch.take(m.nbody * sizeof(AbaBody))

    cdef Py_ssize_t need(self):
        # bytes of memory
        cdef const vt_model* m = self.plan.m
        return (2 * m.nq + self.plan.nu + 8 * m.nv + 11) * <Py_ssize_t>sizeof(vt_real) + m.nbody * <Py_ssize_t>sizeof(AbaBody)

    cdef vt_real* reals(self, Py_ssize_t count) except NULL:
        return <vt_real*>self.scratch.take((count + 1) * sizeof(vt_real))

    cdef void begin(self) noexcept nogil:
        # no step lies behind
        pass

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
        self.begin()

    def set_torque(self, const double[:, ::1] torque, Py_ssize_t first):
        """Let joint forces (n, nv) act from here on, the rows from ``first`` on; one row acts on all."""
        self.take(torque, first, self.nv, self.tau, "torque")

    def set_inputs(self, const double[:, ::1] inputs, Py_ssize_t first):
        """Let inputs (n, nu) act from here on, likewise."""
        self.take(inputs, first, self.plan.nu, self.u, "inputs")

    cdef int take(self, const double[:, ::1] rows, Py_ssize_t first, int size, vt_real* to, what) except -1:
        require_size(rows.shape[1], size, f"columns of {what}")
        if not (0 <= first < rows.shape[0] or rows.shape[0] == 1):
            raise ValueError(f"row {first} of {rows.shape[0]}")
        if size:
            gather(&rows[0, 0], rows.shape[0], size, min(first, rows.shape[0] - 1), to)
        return 0

    cdef const double* rows_of(self, const double[:, :, ::1] rows, Py_ssize_t first, long count, int size, what) except? NULL:
        # the rows (steps, size) of the first instance, or NULL where there are no columns
        require_size(rows.shape[2], size, f"columns of {what}")
        if rows.shape[0] < first + self.count or rows.shape[1] < self.steps + count:
            raise ValueError(f"{what} of {rows.shape[0]} instances and {rows.shape[1]} steps")
        return &rows[first, 0, 0] if size else NULL

    cdef void take_row(self, const double* rows, Py_ssize_t stride, int size, vt_real* to) noexcept nogil:
        # that of the step at hand, of each instance
        cdef int i, k
        cdef Py_ssize_t at
        for i in range(VT_WIDTH):
            at = min(i, self.count - 1) * stride + self.steps * size
            for k in range(size):
                vt_put(&to[k], i, rows[at + k])

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
            torques, torque_stride = self.rows_of(given, first, count, self.nv, "torque"), given.shape[1] * self.nv
        if inputs is not None:
            given = inputs
            signals, signal_stride = self.rows_of(given, first, count, self.plan.nu, "inputs"), given.shape[1] * self.plan.nu
        with nogil:
            for k in range(count):
                if torques != NULL:
                    self.take_row(torques, torque_stride, self.nv, self.tau)
                if signals != NULL:
                    self.take_row(signals, signal_stride, self.plan.nu, self.u)
                if any_left:
                    any_left = self.step()
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
            self.velocity(self.v)
            scatter(self.v, first + self.count, self.nv, first, &v[0, 0])
        else:
            scatter(self.x, first + self.count, self.nv, first, &v[0, 0])

    # ---- a step ------------------------------------------------------------------------------------------

    cdef bint step(self) noexcept nogil:
        # of all lanes; whether any goes on
        cdef int i
        cdef bint goes_on = False
        for i in range(VT_WIDTH):
            self.corrections[i] = 0
        self.advance()
        for i in range(VT_WIDTH):
            if not self.left[i]:
                goes_on = True
                self.taken[i] += 1
                self.total[i] += self.corrections[i]
                self.most[i] = max(self.most[i], self.corrections[i])
        return goes_on

    cdef void advance(self) noexcept nogil:
        # a step, accepted
        pass

    cdef void check(self) noexcept nogil:
        # lanes whose trial state is not finite leave
        cdef int i
        cdef vt_real size = vt_max_nan(largest_in_lanes(self.q2, self.nq), largest_in_lanes(self.x2, self.nv))
        for i in range(VT_WIDTH):
            if not vt_get(size, i) <= MOST_IN_LANES:
                self.left[i] = True

    cdef void accept(self) noexcept nogil:
        self.q, self.q2 = self.q2, self.q
        self.x, self.x2 = self.x2, self.x

    cdef void acceleration(self, const vt_real* q, const vt_real* v, vt_real* out) noexcept nogil:
        # M a = tau - damping v - friction + drives - c(q, v) - gravity
        cdef const vt_model* m = self.plan.m
        cdef int k
        for k in range(self.nv):
            self.force[k] = self.tau[k] - m.damping[k] * v[k]
        if m.rubbing:
            add_friction(m, 1.0, v, -1.0, self.force)
        if self.plan.ndrive:
            add_drives(self.plan.drive, self.plan.ndrive, q, v, self.u, self.force)
        aba(m, m.g, q, v, self.force, NULL, out, self.aba)

    cdef void velocity(self, vt_real* out) noexcept nogil:
        # M v = p
        aba(self.plan.m, NO_GRAVITY, self.q, self.zeros, self.x, NULL, out, self.aba)


cdef class ExplicitLanes(Lanes):
    """Steps of Euler's methods and of Runge-Kutta methods; the state is (q, v)."""

    cdef vt_real* u_rate                # (stages, nv)
    cdef vt_real* v_rate

    def __init__(self, size_t address, owner):
        Lanes.__init__(self, address, owner)
        if self.plan.kind == RUNGE_KUTTA_LANES:
            self.u_rate, self.v_rate = self.reals(self.plan.stages * self.nv), self.reals(self.plan.stages * self.nv)

    cdef Py_ssize_t need(self):
        return Lanes.need(self) + 2 * (<Py_ssize_t>self.plan.stages * self.plan.m.nv + 1) * sizeof(vt_real)

    cdef void advance(self) noexcept nogil:
        if self.plan.kind == EULER_LANES:
            self.euler()
        else:
            self.runge_kutta()
        self.check()
        self.accept()

    cdef void euler(self) noexcept nogil:
        # v2 = v + h a(q, v), q2 = q (+) h v or q (+) h v2
        cdef vt_real* v = self.x2 if self.plan.semi_implicit else self.x
        cdef double h = self.plan.h
        cdef int k
        self.acceleration(self.q, self.x, self.a)
        for k in range(self.nv):
            self.x2[k] = self.x[k] + h * self.a[k]
        for k in range(self.nv):
            self.d[k] = h * v[k]
        integrate(self.plan.m, self.q, self.d, self.q2)

    cdef void sum_stages(self, const double* weight, int count) noexcept nogil:
        # u = h sum w_j u'_j, v = v_1 + h sum w_j v'_j, and the configuration q2 = q (+) u
        cdef int j, k
        cdef double w
        for k in range(self.nv):
            self.d[k] = vt_set1(0.0)
            self.x2[k] = self.x[k]
        for j in range(count):
            if weight[j] != 0.0:
                w = self.plan.h * weight[j]
                for k in range(self.nv):
                    self.d[k] = self.d[k] + w * self.u_rate[j * self.nv + k]
                    self.x2[k] = self.x2[k] + w * self.v_rate[j * self.nv + k]
        integrate(self.plan.m, self.q, self.d, self.q2)

    cdef void runge_kutta(self) noexcept nogil:
        # u' = dlog_{-u} v, v' = a(q (+) u, v)
        cdef int i, n = self.plan.stages
        for i in range(n):
            self.sum_stages(self.plan.a + i * n, i)
            exponential_rate(self.plan.m, self.d, self.x2, self.u_rate + i * self.nv)
            self.acceleration(self.q2, self.x2, self.v_rate + i * self.nv)
        self.sum_stages(self.plan.b, n)
