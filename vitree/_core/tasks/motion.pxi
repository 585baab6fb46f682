# How frames and the center of mass move: velocities, and accelerations where the coordinates do not accelerate.

cdef struct MovedFrame:
    int body
    double E[9]             # columns
    double p[3]


cdef class FrameMotion:
    """Poses, Jacobians, velocities and bias accelerations of frames, world axes; of the center of mass as well.

    ``frames`` are (body, numbers (12,)): columns of the rotation in the core frame, and position. ``lead`` and ``factor``
    (nv,) as of :class:`TaskRows`.
    """

    cdef CoreModel core
    cdef readonly int n
    cdef readonly int count
    cdef MovedFrame* frame
    cdef Mechanism x
    cdef RneaBody* moved
    cdef double* still          # (nv,) zeros
    cdef list memory

    def __cinit__(self, CoreModel core, list frames, const int[::1] lead, const double[::1] factor, int n):
        cdef const vt_model* m = &core.m
        cdef const double[::1] numbers
        cdef int k, i
        self.core, self.n, self.count, self.memory = core, n, len(frames), [lead, factor]
        require_size(lead.shape[0], m.nv, "coordinates that follow")
        require_size(factor.shape[0], m.nv, "factors of coordinates")
        for k in range(m.nv):
            if not 0 <= lead[k] < n:
                raise ValueError(f"coordinates follow others than {n}")
        self.frame = <MovedFrame*>taken(self.memory, max(self.count, 1), sizeof(MovedFrame))
        for k, (body, numbers) in enumerate(frames):
            require_size(numbers.shape[0], 12, "numbers of a frame")
            if not -1 <= body < m.nbody:
                raise ValueError("a frame of a body that does not exist")
            self.frame[k].body = body
            for i in range(9):
                self.frame[k].E[i] = numbers[i]
            for i in range(3):
                self.frame[k].p[i] = numbers[9 + i]
        self.x.m, self.x.n, self.x.lead, self.x.factor = m, n, &lead[0], &factor[0]
        self.x.pose = <Pose*>taken(self.memory, m.nbody, sizeof(Pose))
        self.x.mass = <double*>taken(self.memory, m.nbody, sizeof(double))
        self.x.first = <Vec3*>taken(self.memory, m.nbody, sizeof(Vec3))
        self.moved = <RneaBody*>taken(self.memory, m.nbody, sizeof(RneaBody))
        self.still = <double*>taken(self.memory, m.nv, sizeof(double))

    def evaluate(self, const double[::1] q, const double[::1] v, double[:, :, ::1] X, double[:, :, ::1] J,
                 double[:, ::1] twist, double[:, ::1] bias, double[:, ::1] com, double[:, ::1] Jcom):
        """Write poses (k, 3, 4), Jacobians (k, 6, n), velocities and bias accelerations (k, 6) of the frames.

        Rows are (angular, linear), and the linear acceleration is that of the frame's origin as a point. ``com`` (3, 3) is the
        center of mass, its velocity and its bias acceleration, and Jcom (3, n) its Jacobian. q and v are those of the core.
        """
        cdef const vt_model* m = &self.core.m
        cdef const double* given = entries(q, m.nq, "entries of q")
        cdef const double* rates = entries(v, m.nv, "entries of v")
        cdef int k = self.count
        require_shape(X, (k, 3, 4))
        require_shape(J, (k, 6, self.n))
        require_shape(twist, (k, 6))
        require_shape(bias, (k, 6))
        require_shape(com, (3, 3))
        require_shape(Jcom, (3, self.n))
        with cython.critical_section(self):
            forward_kinematics(m, given, self.x.pose)
            rnea_motion(m, NO_GRAVITY, given, rates, self.still, self.moved)
            for k in range(self.count):
                self.of_frame(&self.frame[k], &X[k, 0, 0], &J[k, 0, 0], &twist[k, 0], &bias[k, 0], rates)
            self.of_mass(&com[0, 0], &Jcom[0, 0], rates)

    cdef void of_frame(self, const MovedFrame* f, double* X, double* J, double* twist, double* bias,
                       const double* v) noexcept nogil:
        cdef Mat3 R = mul3(axes_of(self.x.pose, f.body), constant_rotation(f.E)), one = identity3()
        cdef Vec3 p = placed(self.x.pose, f.body, f.p), r = constant3(f.p)
        cdef const RneaBody* b
        cdef Pose at
        cdef int i
        at.R, at.o = R, p
        put_matrix(at.R, X, 4)
        X[3], X[7], X[11] = p.x, p.y, p.z
        memset(J, 0, 6 * self.n * sizeof(double))
        memset(twist, 0, 6 * sizeof(double))
        memset(bias, 0, 6 * sizeof(double))
        if f.body < 0:
            return
        add_path_columns(&self.x, f.body, -1, p, &one, J, &one, J + 3 * self.n)
        add_twist(&self.x, f.body, p, v, twist)
        b = &self.moved[f.body]
        R = self.x.pose[f.body].R
        store3(bias, mul(R, b.dw))
        store3(bias + 3, mul(R, add(b.a, add(cross(b.dw, r), cross(b.w, cross(b.w, r))))))

    cdef void of_mass(self, double* com, double* J, const double* v) noexcept nogil:
        cdef const vt_model* m = self.x.m
        cdef const RneaBody* b
        cdef Task t
        cdef double origin[12]
        cdef double total = 0.0
        cdef Vec3 a = zero3(), r
        cdef int i
        memset(origin, 0, sizeof(origin))
        memset(com, 0, 9 * sizeof(double))
        memset(J, 0, 3 * self.n * sizeof(double))
        for i in range(m.nbody):
            total += m.body[i].mass
        if total == 0.0:
            return
        t.target = origin
        com_task(&self.x, &t, com, J)
        for i in range(m.nbody):
            b, r = &self.moved[i], constant3(m.body[i].com)
            a = axpy(m.body[i].mass / total, mul(self.x.pose[i].R, add(b.a, add(cross(b.dw, r), cross(b.w, cross(b.w, r))))), a)
        store3(com + 6, a)
        r = zero3()
        for i in range(m.nbody):
            add_mass_velocity(&self.x, i, v, total, &r)
        store3(com + 3, r)


cdef void add_mass_velocity(const Mechanism* x, int i, const double* v, double total, Vec3* out) noexcept nogil:
    # of what the joint of a body carries, by com_task's masses and moments
    cdef const vt_body* b = &x.m.body[i]
    cdef Vec3 w, u, r = axpy(-x.mass[i], x.pose[i].o, x.first[i])
    cdef int k
    for k in range(joint_nv(b)):
        joint_column(b, x.pose[i].R, k, &w, &u)
        out[0] = axpy(v[b.iv + k] / total, axpy(x.mass[i], u, cross(w, r)), out[0])


cdef void add_twist(const Mechanism* x, int body, Vec3 p, const double* v, double* twist) noexcept nogil:
    # the velocity of a body at the world's point p, (angular, linear)
    cdef const vt_body* b
    cdef Vec3 w, u, angular = zero3(), linear = zero3()
    cdef int k
    while body >= 0:
        b = &x.m.body[body]
        for k in range(joint_nv(b)):
            joint_column(b, x.pose[body].R, k, &w, &u)
            angular = axpy(v[b.iv + k], w, angular)
            linear = axpy(v[b.iv + k], add(u, cross(w, sub(p, x.pose[body].o))), linear)
        body = b.parent
    store3(twist, angular)
    store3(twist + 3, linear)
