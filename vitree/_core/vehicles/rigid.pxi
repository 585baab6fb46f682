# Integrators of vehicles that are one rigid body on SE(3) (Kobilarov et al. 2009, sections 3.3 and 4.2): the
# variational one and the baselines. q = (position, quaternion xyzw).

cdef enum:
    EXP = 0
    CAYLEY = 1
    DUAL_CAYLEY = 2
    TRAPEZOIDAL = 3

#: Maps tau from twists to displacements; "trapezoidal" is the dual Cayley map with C cut to 1 - ad/2.
MAPS = {"exp": EXP, "cayley": CAYLEY, "dual-cayley": DUAL_CAYLEY, "trapezoidal": TRAPEZOIDAL}

cdef enum:
    GUESSES = 5         # backward differences kept: extrapolations of orders 1 to 4

#: Largest turn of a step by the exponential map, which the logarithm takes back [rad], and what trials are cut to.
cdef double TURN = 3.141592653589793
cdef double CUT = 3.0
#: A residual that stops falling below this share of the momentum is rounding.
cdef double ROUNDING = 1e-13


# ---- maps from twists to displacements -----------------------------------------------------------

cdef inline void displacement(int map, Six x, Quat* turn, Vec3* p) noexcept nogil:
    # tau(x) (eqs. 11-13; the Cayley map moves as its 4x4 matrix does, which is not the B of eq. 13)
    cdef double s, k
    if map == EXP:
        exp_se3(x.a, x.b, turn, p)
        return
    s = dot(x.a, x.a)
    turn[0] = quat_normalised(quat(scale(0.5, x.a), 1.0))
    k = 1.0 / (4.0 + s)
    p[0] = scale(2.0 * k, axpy(2.0, x.b, cross(x.a, x.b)))
    if map == CAYLEY:
        p[0] = axpy(k * dot(x.a, x.b), x.a, p[0])


cdef inline Six transport(Quat turn, Vec3 p, Six F) noexcept nogil:
    # Ad_g^T of a wrench, g = (turn, p): seen from where the displacement leads
    cdef Mat3 R = quat_matrix(turn)
    return six(tmul(R, sub(F.a, cross(p, F.b))), tmul(R, F.b))


cdef inline Six pull(int map, Six x, Six p) noexcept nogil:
    # C(x)^T p, C(x) the inverse of tau's right-trivialised tangent
    cdef Six r
    cdef Vec3 s
    if map == EXP:
        # dlog_x^T by the blocks of dlog_-x
        dlog_se3(neg(x.a), neg(x.b), p.b, p.a, &r.b, &r.a)
        return r
    s = axpy(0.5, cross(x.a, p.b), p.b)
    r.a = axpy(0.5, cross(x.a, p.a), p.a)
    r.b = s
    if map == CAYLEY:
        r.a = axpy(0.5, cross(x.b, s), axpy(0.25 * dot(x.a, p.a), x.a, r.a))
    else:
        r.a = axpy(0.5, cross(x.b, p.b), r.a)
        if map == DUAL_CAYLEY:
            r.a = axpy(0.25 * (dot(x.a, p.a) + dot(x.b, p.b)), x.a, axpy(0.25 * dot(x.a, p.b), x.b, r.a))
            r.b = axpy(0.25 * dot(x.a, p.b), x.a, s)
    return r


cdef inline Mat3 cayley_pull(Vec3 w) noexcept nogil:
    # 1 + hat(w)/2
    return plus_diagonal(hat(scale(0.5, w)), 1.0)


cdef void pull_slope(int map, Six x, Six p, Sym3 J, Sym3 M, double h, Blocks* A) noexcept nogil:
    # A = C(x)^T I + h D, D the derivative of C(x)^T p by x
    cdef AdMatrix C
    cdef WrenchSlope D
    cdef Mat3 half = cayley_pull(x.a), aa, ab, bb
    if map == EXP:
        C = dlog_matrix(x.a, x.b)
        D = ddlog_pull(x.a, x.b, p.a, p.b)
        aa = bb = transpose(C.d)
        ab = transpose(C.e)
        A.aa, A.ab = D.M, D.K
        A.ba, A.bb = D.K, zero33()
    else:
        aa = bb = half
        ab = hat(scale(0.5, x.b))
        A.aa = hat(scale(-0.5, p.a))
        A.ab = A.ba = hat(scale(-0.5, p.b))
        A.bb = zero33()
        if map == CAYLEY:
            aa = outer(0.25, x.a, x.a, half)
            ab = mul3(ab, half)
            A.aa = outer(0.25, x.a, p.a, plus_diagonal(A.aa, 0.25 * dot(x.a, p.a)))
            # - hat(v) hat(b)/4
            A.aa = plus_diagonal(outer(-0.25, p.b, x.b, A.aa), 0.25 * dot(x.b, p.b))
            A.ab = hat(scale(-0.5, axpy(0.5, cross(x.a, p.b), p.b)))
        elif map == DUAL_CAYLEY:
            aa = bb = outer(0.25, x.a, x.a, half)
            ab = outer(0.25, x.a, x.b, outer(0.25, x.b, x.a, ab))
            A.aa = plus_diagonal(A.aa, 0.25 * (dot(x.a, p.a) + dot(x.b, p.b)))
            A.aa = outer(0.25, x.a, p.a, outer(0.25, x.b, p.b, A.aa))
            A.ab = A.ba = outer(0.25, x.a, p.b, plus_diagonal(A.ab, 0.25 * dot(x.a, p.b)))
    A.aa = add_scaled(h, A.aa, mul3(aa, full(J)))
    A.ab = add_scaled(h, A.ab, mul3(ab, full(M)))
    A.ba = scaled(h, A.ba)
    A.bb = add_scaled(h, A.bb, mul3(bb, full(M)))


# ---- steppers --------------------------------------------------------------------------------------

cdef struct Balance:            # C(h xi)^T I xi = p + k (F0 + S0 xi + what is written in Python), at a time and pose
    int map
    double t
    Vec3 x
    Mat3 R
    Six p
    double k
    Six F0
    Blocks S0


cdef class RigidStepper(VehicleStepper):
    """Base of the steppers of rigid bodies; made as RigidStepper(7, 6, nu, h, body=..., ...)."""

    cdef RigidBody body
    cdef int max_iterations
    cdef bint written                   # there is a force in Python

    def __init__(self, *args, RigidBody body, double tolerance=INFINITY, int max_iterations=0, **options):
        self.body, self.goal, self.max_iterations = body, tolerance, max_iterations
        self.written = body.force is not None

    cdef void surroundings(self, double t, Vec3 x, Mat3 R, Six* F, Blocks* S) noexcept nogil:
        # what does not depend on the velocity, with inputs and torque, and the slope of what does linearly
        self.body.act(t, x, R, F, S)
        self.drive(F)

    cdef void drive(self, Six* F) noexcept nogil:
        # add inputs and torque
        F[0] = axpy6(1.0, load6(self.lane.drive.tau), F[0])
        if self.shared.schedule.nu:
            F[0] = axpy6(1.0, self.body.control(self.lane.drive.u), F[0])

    cdef int wrench(self, double t, Vec3 x, Mat3 R, Six xi, const Six* F0, const Blocks* S0, Six* F,
                    Blocks* S) noexcept nogil:
        # F at the velocity xi, and its slope, where not NULL
        F[0] = F0[0]
        if self.body.moving:
            F[0] = axpy6(1.0, apply(S0, xi), F[0])
        if S != NULL:
            S[0] = S0[0]
        return self.ask_force(t, x, R, xi, F, S) if self.written else OK

    cdef bint asks(self) noexcept nogil:
        return self.shared.schedule.calls_user or self.written

    cdef int ask_force(self, double t, Vec3 x, Mat3 R, Six xi, Six* F, Blocks* S) noexcept nogil:
        # add the force written in Python
        cdef double to[6]
        cdef double[:, ::1] pose
        cdef double[::1] twist
        cdef Blocks more
        if not largest6(xi) < INFINITY:
            return NOT_FINITE
        with gil:
            try:
                g, v = np.zeros((4, 4)), np.empty(6)
                pose, twist = g, v
                pose[0, 0], pose[1, 0], pose[2, 0] = R.x.x, R.x.y, R.x.z
                pose[0, 1], pose[1, 1], pose[2, 1] = R.y.x, R.y.y, R.y.z
                pose[0, 2], pose[1, 2], pose[2, 2] = R.z.x, R.z.y, R.z.z
                pose[0, 3], pose[1, 3], pose[2, 3], pose[3, 3] = x.x, x.y, x.z, 1.0
                store3(&twist[0], xi.a)
                store3(&twist[3], xi.b)
                u = self.array(self.lane.drive.u, self.shared.schedule.nu)
                self.read(self.body.force(t, g, v, u), 6, to, f"force(t, g, xi, u) at t = {t:.9g} s")
                F[0] = axpy6(1.0, six(load3(to), load3(to + 3)), F[0])
                if S != NULL and self.body.force_slope is not None:
                    slope = np.asarray(self.body.force_slope(t, g, v, u), dtype=float)
                    if slope.shape != (6, 6) or not np.isfinite(slope).all():
                        raise ValueError(f"force_slope(t, g, xi, u) at t = {t:.9g} s must be (6, 6) finite numbers")
                    more = read_blocks(slope)
                    S.aa, S.ab = add3(S.aa, more.aa), add3(S.ab, more.ab)
                    S.ba, S.bb = add3(S.ba, more.ba), add3(S.bb, more.bb)
                return OK
            except BaseException as error:
                return self.fail(error)

    cdef Six fictitious(self, Six xi) noexcept nogil:
        # ad_xi^T I xi (eq. 8)
        cdef Six p = self.body.momentum(xi)
        return six(add(cross(p.a, xi.a), cross(p.b, xi.b)), cross(p.b, xi.a))

    cdef int acceleration(self, double t, Vec3 x, Mat3 R, Six xi, Six* out) noexcept nogil:
        # under inputs and torque as they stand
        cdef Six F0, F
        cdef Blocks S
        cdef int status
        self.surroundings(t, x, R, &F0, &S)
        status = self.wrench(t, x, R, xi, &F0, &S, &F, NULL)
        out[0] = self.body.velocity(axpy6(1.0, F, self.fictitious(xi)))
        return status

    def acceleration_at(self, double t, const double[::1] q, const double[::1] v, prescribed=None):
        """Acceleration (nv,) at a time and state, and no multipliers."""
        cdef Turn turn = self.turn()
        cdef Six a
        out = np.empty(6)
        cdef double[::1] view = out
        require_size(q.shape[0], self.nq, "entries of q")
        require_size(v.shape[0], self.nv, "entries of v")
        self.lane.now.cause = OK
        self.inputs_at(t)
        if self.shared.schedule.calls_user and self.ask(t, &q[0], &v[0]) != OK:
            raise self.exception
        self.acceleration(t, load3(&q[0]), quat_matrix(load_quat(&q[3])), load6(&v[0]), &a)
        if self.lane.now.cause != OK:
            raise self.exception
        store6(&view[0], a)
        return out, np.empty(0)

    cdef int solve(self, const Balance* b, Six* xi, Six* F) noexcept nogil:
        # xi of a balance, by Newton's method from a guess; F is the wrench at xi
        cdef Now* now = self.lane.now
        cdef int n, status
        cdef double h = now.h, e_old = INFINITY, turn, size = vt_max_nan(largest6(b.p), fabs(b.k) * largest6(b.F0))
        cdef Six X, I, r, d = xi[0], kept = d
        cdef Blocks S
        cdef bint cut = False
        now.contraction = NAN
        for n in range(self.max_iterations + 1):
            # r = C(h xi)^T I xi - p - k F
            status = self.wrench(b.t, b.x, b.R, xi[0], &b.F0, &b.S0, F, &S if b.k != 0.0 else NULL)
            if status != OK:
                return status
            X, I = scale6(h, xi[0]), self.body.momentum(xi[0])
            r = axpy6(-b.k, F[0], axpy6(-1.0, b.p, pull(b.map, X, I)))
            if n == 0:
                size = vt_max_nan(size, largest6(I))
            now.error, now.iterations = largest6(r), n
            if n > 0:
                now.contraction = now.error / e_old if e_old > 0.0 else NAN
            if n > 0 and not now.error <= 2.0 * e_old:
                # the correction went too far: take half of it
                d = scale6(0.5, d)
                xi[0] = axpy6(-1.0, d, kept)
                continue
            if not isfinite(now.error):
                return NOT_FINITE
            if (now.error <= self.goal * size
                    or (now.error > 0.5 * e_old and now.error <= ROUNDING * size)):
                return TURNED_TOO_FAR if b.map == EXP and not dot(X.a, X.a) < TURN * TURN else OK
            e_old = now.error
            d, kept = self.direction(b, X, I, &S, r), xi[0]
            xi[0] = axpy6(-1.0, d, kept)
            if b.map == EXP:
                # a trial may not leave where the logarithm is defined
                turn = fabs(h) * vt_sqrt(dot(xi.a, xi.a))
                if turn > TURN:
                    xi.a, cut = scale(CUT / turn, xi.a), True
        return TURNED_TOO_FAR if cut else NOT_CONVERGED

    cdef Six direction(self, const Balance* b, Six X, Six I, const Blocks* S, Six r) noexcept nogil:
        # A^-1 r, A = d(C(h xi)^T I xi)/dxi - k dF/dxi
        cdef Blocks A
        pull_slope(b.map, X, I, self.body.J, self.body.M, self.lane.now.h, &A)
        if b.k != 0.0 and (self.body.moving or self.written):
            A.aa, A.ab = add_scaled(-b.k, S.aa, A.aa), add_scaled(-b.k, S.ab, A.ab)
            A.ba, A.bb = add_scaled(-b.k, S.ba, A.ba), add_scaled(-b.k, S.bb, A.bb)
        return solve6(&A, r)


cdef inline void move(const double* q, Quat turn, Vec3 p, double* q2) noexcept nogil:
    # q2 = q times a displacement
    cdef Quat at = load_quat(q + 3)
    store3(q2, add(load3(q), mul(quat_matrix(at), p)))
    store_quat(q2 + 3, quat_normalised(quat_mul(at, turn)))


cdef struct Past:               # kept
    int known                           # twists seen, up to GUESSES
    double difference[GUESSES * 6]      # backward differences of the last twist
    double v_last[6]                    # velocity where the last step started
    int placed                          # what acts where the step starts is known: F + S xi
    Six here
    Blocks here_slope


cdef class LieStepper(RigidStepper):
    """The variational integrator on SE(3), eqs. 9-10, as a one-step map of (g, momentum) with kicks at both ends.

    C(h xi)^T I xi = mu_1 + (1 - alpha) h F(g_1, xi);  mu_2 = C(-h xi)^T I xi + alpha h F(g_2, xi)
    g_2 = g_1 tau(h xi)
    """

    cdef int map
    cdef double alpha
    cdef Past* past

    def __init__(self, *args, int map=EXP, double alpha=0.5, **options):
        super().__init__(*args, **options)
        self.map, self.alpha = map, alpha
        self.past = <Past*>self.memory.kept(sizeof(Past))
        self.memory.bound_int(&self.past.known, 0, GUESSES)
        self.memory.bound_int(&self.past.placed, 0, 1)

    cdef void begin(self) noexcept nogil:
        self.past.known = 0
        self.past.placed = False

    cdef bint extrapolate(self, Six* xi) noexcept nogil:
        # the next twist by the order that would have been the best for the last: its error is the next difference
        cdef int m, k, best = 1
        cdef double size, least = INFINITY
        cdef double y[6]
        if self.past.known < 2 or self.lane.now.h != self.lane.clock.h_last:
            return False
        for m in range(1, self.past.known):
            size = 0.0
            for k in range(6):
                size = max(size, fabs(self.past.difference[6 * m + k]))
            if size < least:
                least, best = size, m
        for k in range(6):
            y[k] = self.past.difference[k]
            for m in range(1, best):
                y[k] += self.past.difference[6 * m + k]
        xi[0] = load6(y)
        return True

    cdef void learn(self, Six xi) noexcept nogil:
        cdef int m, k, count = self.past.known if self.lane.now.h == self.lane.clock.h_last else 0
        cdef double fresh[6]
        cdef double d
        store6(fresh, xi)
        for m in range(min(count + 1, GUESSES)):
            for k in range(6):
                d = fresh[k]
                fresh[k] = d - self.past.difference[6 * m + k]
                self.past.difference[6 * m + k] = d
        self.past.known = min(count + 1, GUESSES)

    cdef int predict_middle(self, Vec3 x, Mat3 R, Six xi) noexcept nogil:
        # inputs and torque at the predicted middle of the step: one call, second order
        cdef double t = self.lane.clock.t, h = self.lane.now.h
        cdef int k
        cdef Six a
        cdef Quat turn
        cdef Vec3 p
        cdef double v[6]
        store6(v, xi)
        if self.lane.clock.h_last == 0.0:
            # no step lies behind: the acceleration under what is asked for at the start
            if self.ask(t, self.lane.state.q, v) != OK or self.acceleration(t, x, R, xi, &a) != OK:
                return CALLBACK_FAILED
        else:
            for k in range(6):
                v[k] = (v[k] - self.past.v_last[k]) / self.lane.clock.h_last
            a = load6(v)
        store6(self.past.v_last, xi)
        a = scale6(0.5 * h, a)
        exp_se3(scale(0.5 * h, axpy(0.5, a.a, xi.a)), scale(0.5 * h, axpy(0.5, a.b, xi.b)), &turn, &p)
        move(self.lane.state.q, turn, p, self.lane.state.q2)
        store6(v, axpy6(1.0, a, xi))
        return self.ask(t + 0.5 * h, self.lane.state.q2, v)

    cdef int step(self) noexcept nogil:
        cdef Balance b
        cdef double h = self.lane.now.h
        cdef Six node, xi, F
        cdef Quat turn
        cdef Vec3 p
        cdef int status
        # the kick at the start: C(h xi)^T I xi = mu_1 + (1 - alpha) h F(g_1, xi)
        b.map, b.t, b.k, b.p = self.map, self.lane.clock.t, (1.0 - self.alpha) * h, load6(self.lane.state.x)
        b.x, b.R = load3(self.lane.state.q), quat_matrix(load_quat(self.lane.state.q + 3))
        node = self.body.velocity(b.p)
        if self.shared.schedule.calls_user and self.predict_middle(b.x, b.R, node) != OK:
            return CALLBACK_FAILED
        if not self.past.placed:
            self.body.act(b.t, b.x, b.R, &self.past.here, &self.past.here_slope)
        b.F0, b.S0 = self.past.here, self.past.here_slope
        self.drive(&b.F0)
        status = self.solve(&b, &xi, &F) if self.extrapolate(&xi) else NOT_CONVERGED
        if status != OK and status != CALLBACK_FAILED:
            # from the dynamics where the step starts
            status = self.wrench(b.t, b.x, b.R, node, &b.F0, &b.S0, &F, NULL)
            if status != OK:
                return status
            xi = axpy6(0.5 * h, self.body.velocity(axpy6(1.0, F, self.fictitious(node))), node)
            status = self.solve(&b, &xi, &F)
        if status != OK:
            return status
        self.learn(xi)
        # g_2 = g_1 tau(h xi). C(-h xi) = C(h xi) Ad_tau: what the solver has left over is carried into the momentum
        displacement(self.map, scale6(h, xi), &turn, &p)
        move(self.lane.state.q, turn, p, self.lane.state.q2)
        return self.kick(b.t + h, xi, transport(turn, p, axpy6(b.k, F, b.p)))

    cdef int kick(self, double t, Six xi, Six mu) noexcept nogil:
        # the kick at the end: mu_2 = mu + alpha h F(g_2, xi)
        cdef double share = self.alpha * self.lane.now.h
        cdef Vec3 x = load3(self.lane.state.q2)
        cdef Mat3 R = quat_matrix(load_quat(self.lane.state.q2 + 3))
        cdef Six F0, F
        cdef int status
        self.past.placed = share != 0.0
        if self.past.placed:
            self.body.act(t, x, R, &self.past.here, &self.past.here_slope)
            F0 = self.past.here
            self.drive(&F0)
            status = self.wrench(t, x, R, xi, &F0, &self.past.here_slope, &F, NULL)
            if status != OK:
                return status
            mu = axpy6(share, F, mu)
        store6(self.lane.state.x2, mu)
        return OK


cdef class QuaternionStepper(RigidStepper):
    """Baselines on position, quaternion and velocity; the quaternion is normalised after each stage and step."""

    cdef double* rate                   # (4, 13) of (q, v)
    cdef double* trial                  # (13,)

    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        self.rate, self.trial = self.memory.scratch_reals(4 * 13), self.memory.scratch_reals(13)

    cdef void reconstruct(self, const double* q, Six xi, double* dq) noexcept nogil:
        # dq/dt (eq. 7, by quaternions)
        store3(dq, mul(quat_matrix(load_quat(q + 3)), xi.b))
        store_quat(dq + 3, quat_mul(load_quat(q + 3), quat(scale(0.5, xi.a), 0.0)))

    cdef void displace(self, double h, const double* dq, double* q) noexcept nogil:
        # q = the step's start moved along dq
        cdef int k
        for k in range(7):
            q[k] = self.lane.state.q[k] + h * dq[k]
        store_quat(q + 3, quat_normalised(load_quat(q + 3)))

    cdef int stage(self, double t, const double* y, double* rate) noexcept nogil:
        # rate of (q, v)
        cdef Six a, xi = load6(y + 7)
        cdef int status = self.ask(t, y, y + 7) if self.shared.schedule.calls_user else OK
        if status == OK:
            status = self.acceleration(t, load3(y), quat_matrix(load_quat(y + 3)), xi, &a)
        self.reconstruct(y, xi, rate)
        store6(rate + 7, a)
        return status

    cdef int trapezoid(self, double t, const double* q, Six p, Six* xi) noexcept nogil:
        # C(h xi)^T I xi = p + (h/2) F(q, xi), C = 1 - ad/2
        cdef Balance b
        cdef Six F
        b.map, b.t, b.k, b.p = TRAPEZOIDAL, t, 0.5 * self.lane.now.h, p
        b.x, b.R = load3(q), quat_matrix(load_quat(q + 3))
        self.surroundings(t, b.x, b.R, &b.F0, &b.S0)
        return self.solve(&b, xi, &F)


cdef class RungeKuttaVehicle(QuaternionStepper):
    """An explicit method whose stages follow from the one before each; ``c`` and ``b``: times and weights."""

    cdef int stages
    cdef double c[4]
    cdef double b[4]

    def __init__(self, *args, c, b, **options):
        cdef int k
        super().__init__(*args, **options)
        self.stages = len(b)
        for k in range(self.stages):
            self.c[k], self.b[k] = c[k], b[k]

    cdef int step(self) noexcept nogil:
        cdef int i, k, status
        cdef double w
        cdef double* rate
        memcpy(self.trial, self.lane.state.q, 7 * sizeof(double))
        memcpy(self.trial + 7, self.lane.state.x, 6 * sizeof(double))
        for i in range(self.stages):
            rate = self.rate + 13 * i
            if i > 0:
                w = self.c[i] * self.lane.now.h
                self.displace(w, rate - 13, self.trial)
                for k in range(6):
                    self.trial[7 + k] = self.lane.state.x[k] + w * rate[k - 6]
            status = self.stage(self.lane.clock.t + self.c[i] * self.lane.now.h, self.trial, rate)
            if status != OK:
                return status
        # the weighted rate in place of the first
        for k in range(13):
            w = 0.0
            for i in range(self.stages):
                w += self.b[i] * self.rate[13 * i + k]
            self.rate[k] = w
        self.displace(self.lane.now.h, self.rate, self.lane.state.q2)
        for k in range(6):
            self.lane.state.x2[k] = self.lane.state.x[k] + self.lane.now.h * self.rate[7 + k]
        return OK


cdef class ImplicitMidpointVehicle(QuaternionStepper):
    """Implicit midpoint for the velocity, explicit midpoint with its mean for the pose (section 3.3)."""

    cdef int step(self) noexcept nogil:
        cdef double h = self.lane.now.h, t = self.lane.clock.t + 0.5 * self.lane.now.h
        cdef Six xi = load6(self.lane.state.x), mean = xi
        cdef double* y = self.trial
        cdef int status
        memcpy(y, self.lane.state.q, 7 * sizeof(double))
        memcpy(y + 7, self.lane.state.x, 6 * sizeof(double))
        if self.shared.schedule.calls_user:
            status = self.stage(self.lane.clock.t, y, self.rate)
            if status != OK:
                return status
            store6(y + 7, axpy6(0.5 * h, load6(self.rate + 7), xi))
        self.reconstruct(self.lane.state.q, xi, self.rate)
        self.displace(0.5 * h, self.rate, y)
        if self.shared.schedule.calls_user and self.ask(t, y, y + 7) != OK:
            return CALLBACK_FAILED
        status = self.trapezoid(t, y, self.body.momentum(xi), &mean)
        if status != OK:
            return status
        store6(self.lane.state.x2, axpy6(2.0, mean, scale6(-1.0, xi)))
        self.reconstruct(self.lane.state.q, mean, self.rate)
        self.displace(0.5 * h, self.rate, y)
        self.reconstruct(y, mean, self.rate)
        self.displace(h, self.rate, self.lane.state.q2)
        return OK


cdef class NewmarkVehicle(QuaternionStepper):
    """Explicit Newmark for the pose by the exponential, implicit trapezoid for the velocity (Krysl & Endres 2005)."""

    cdef int step(self) noexcept nogil:
        cdef double h = self.lane.now.h, t = self.lane.clock.t + self.lane.now.h
        cdef Six xi = load6(self.lane.state.x), next, a, d
        cdef Vec3 p
        cdef Quat turn
        cdef double* y = self.trial
        cdef int status
        memcpy(y, self.lane.state.q, 7 * sizeof(double))
        memcpy(y + 7, self.lane.state.x, 6 * sizeof(double))
        status = self.stage(self.lane.clock.t, y, self.rate)
        if status != OK:
            return status
        a = load6(self.rate + 7)
        d = scale6(h, axpy6(0.5 * h, a, xi))
        exp_se3(d.a, d.b, &turn, &p)
        move(self.lane.state.q, turn, p, self.lane.state.q2)
        next = axpy6(h, a, xi)
        store6(y + 7, next)
        if self.shared.schedule.calls_user and self.ask(t, self.lane.state.q2, y + 7) != OK:
            return CALLBACK_FAILED
        status = self.trapezoid(t, self.lane.state.q2, self.body.momentum(axpy6(0.5 * h, a, xi)), &next)
        if status != OK:
            return status
        store6(self.lane.state.x2, next)
        return OK
