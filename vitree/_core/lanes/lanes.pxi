# Steps of several instances at once, an instance a lane, on models without loads, constraints, contacts and prescribed
# motion. A lane does what the steppers of one instance do, operation by operation, and has their bits; what decides is in
# plain numbers of the lane. A lane that leaves the common way (a step to be halved, another branch, a state that blows
# up) is left to those steppers.

cdef enum:
    EULER_LANES = 0
    RUNGE_KUTTA_LANES = 1
    LINEAR_TIME_LANES = 2
    MIDPOINT_LANES = 3

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


cdef class Lanes


cdef struct LaneMethod:     # what a method does where methods differ: see Method
    Py_ssize_t (*need)(Lanes self) except? -1
    void (*begin)(Lanes self) noexcept nogil
    void (*advance)(Lanes self) noexcept nogil
    void (*prepare)(Lanes self) noexcept nogil
    vt_real (*evaluate)(Lanes self) noexcept nogil
    vt_real (*measure)(Lanes self) noexcept nogil
    vt_real (*kinetic)(Lanes self) noexcept nogil
    Vec3 (*tree_momentum)(Lanes self, int root) noexcept nogil
    vt_real (*impulse)(Lanes self, int k) noexcept nogil
    void (*factor)(Lanes self, vt_mask some, Signs* signs) noexcept nogil
    void (*solve)(Lanes self, vt_real* d) noexcept nogil
    void (*straighten)(Lanes self, vt_real* y) noexcept nogil
    void (*finish)(Lanes self) noexcept nogil
    void (*pass_on)(Lanes self) noexcept nogil


cdef inline size_t lane_layout() noexcept nogil:
    return sizeof(LanePlan) + 1000 * sizeof(vt_body) + 100000 * sizeof(vt_drive)


cdef inline void blend(vt_mask m, const void* source, void* to, size_t size) noexcept nogil:
    # numbers of some lanes
    cdef const vt_real* x = <const vt_real*>source
    cdef vt_real* y = <vt_real*>to
    cdef size_t k
    for k in range(size // sizeof(vt_real)):
        y[k] = vt_select(m, x[k], y[k])


cdef Py_ssize_t lanes_need(Lanes self):
    # bytes of memory
    cdef const vt_model* m = self.plan.m
    return (2 * m.nq + self.plan.nu + 8 * m.nv + 11) * <Py_ssize_t>sizeof(vt_real) + m.nbody * <Py_ssize_t>sizeof(AbaBody)


cdef vt_real* lanes_reals(Lanes self, Py_ssize_t count) except NULL:
    return <vt_real*>self.scratch.take((count + 1) * sizeof(vt_real))


cdef void lanes_begin(Lanes self) noexcept nogil:
    # no step lies behind
    pass


cdef int lanes_take(Lanes self, const double[:, ::1] rows, Py_ssize_t first, int size, vt_real* to, what) except -1:
    require_size(rows.shape[1], size, f"columns of {what}")
    if not (0 <= first < rows.shape[0] or rows.shape[0] == 1):
        raise ValueError(f"row {first} of {rows.shape[0]}")
    if size:
        gather(&rows[0, 0], rows.shape[0], size, min(first, rows.shape[0] - 1), to)
    return 0


cdef const double* lanes_rows_of(Lanes self, const double[:, :, ::1] rows, Py_ssize_t first, long count, int size,
                                 what) except? NULL:
    # the rows (steps, size) of the first instance, or NULL where there are no columns
    require_size(rows.shape[2], size, f"columns of {what}")
    if rows.shape[0] < first + self.count or rows.shape[1] < self.steps + count:
        raise ValueError(f"{what} of {rows.shape[0]} instances and {rows.shape[1]} steps")
    return &rows[first, 0, 0] if size else NULL


cdef void lanes_take_row(Lanes self, const double* rows, Py_ssize_t stride, int size, vt_real* to) noexcept nogil:
    # that of the step at hand, of each instance
    cdef int i, k
    cdef Py_ssize_t at
    for i in range(VT_WIDTH):
        at = min(i, self.count - 1) * stride + self.steps * size
        for k in range(size):
            vt_put(&to[k], i, rows[at + k])


# ---- a step ------------------------------------------------------------------------------------------


cdef bint lanes_step(Lanes self) noexcept nogil:
    # of all lanes; whether any goes on
    cdef int i
    cdef bint goes_on = False
    for i in range(VT_WIDTH):
        self.corrections[i] = 0
    self.method.advance(self)
    for i in range(VT_WIDTH):
        if not self.left[i]:
            goes_on = True
            self.taken[i] += 1
            self.total[i] += self.corrections[i]
            self.most[i] = max(self.most[i], self.corrections[i])
    return goes_on


cdef void lanes_check(Lanes self) noexcept nogil:
    # lanes whose trial state is not finite leave
    cdef int i
    cdef vt_real size = vt_max_nan(largest(self.q2, self.nq), largest(self.x2, self.nv))
    for i in range(VT_WIDTH):
        if not vt_get(size, i) <= MOST_IN_LANES:
            self.left[i] = True


cdef void lanes_accept(Lanes self) noexcept nogil:
    self.q, self.q2 = self.q2, self.q
    self.x, self.x2 = self.x2, self.x


cdef void lanes_acceleration(Lanes self, const vt_real* q, const vt_real* v, vt_real* out) noexcept nogil:
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


cdef void lanes_velocity(Lanes self, vt_real* out) noexcept nogil:
    # M v = p
    aba(self.plan.m, NO_GRAVITY, self.q, self.zeros, self.x, NULL, out, self.aba)

cdef int make_explicit_lanes(Lanes self) except -1:
    if self.plan.kind == RUNGE_KUTTA_LANES:
        self.u_rate, self.v_rate = lanes_reals(self, self.plan.stages * self.nv), lanes_reals(self, self.plan.stages * self.nv)
    return 0


cdef Py_ssize_t explicit_lanes_need(Lanes self):
    return lanes_need(self) + 2 * (<Py_ssize_t>self.plan.stages * self.plan.m.nv + 1) * sizeof(vt_real)


cdef void explicit_lanes_advance(Lanes self) noexcept nogil:
    if self.plan.kind == EULER_LANES:
        explicit_lanes_euler(self)
    else:
        explicit_lanes_runge_kutta(self)
    lanes_check(self)
    lanes_accept(self)


cdef void explicit_lanes_euler(Lanes self) noexcept nogil:
    # v2 = v + h a(q, v), q2 = q (+) h v or q (+) h v2
    cdef vt_real* v = self.x2 if self.plan.semi_implicit else self.x
    cdef double h = self.plan.h
    cdef int k
    lanes_acceleration(self, self.q, self.x, self.a)
    for k in range(self.nv):
        self.x2[k] = self.x[k] + h * self.a[k]
    for k in range(self.nv):
        self.d[k] = h * v[k]
    integrate(self.plan.m, self.q, self.d, self.q2)


cdef void explicit_lanes_sum_stages(Lanes self, const double* weight, int count) noexcept nogil:
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


cdef void explicit_lanes_runge_kutta(Lanes self) noexcept nogil:
    # u' = dlog_{-u} v, v' = a(q (+) u, v)
    cdef int i, n = self.plan.stages
    for i in range(n):
        explicit_lanes_sum_stages(self, self.plan.a + i * n, i)
        exponential_rate(self.plan.m, self.d, self.x2, self.u_rate + i * self.nv)
        lanes_acceleration(self, self.q2, self.x2, self.v_rate + i * self.nv)
    explicit_lanes_sum_stages(self, self.plan.b, n)
