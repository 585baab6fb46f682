# Integrators of vehicles that are one rigid body on SE(3) (Kobilarov et al. 2009, sections 3.3 and 4.2): the
# variational one and the baselines. q = (position, quaternion xyzw).

cdef enum:
    EXP = 0
    CAYLEY = 1
    DUAL_CAYLEY = 2
    TRAPEZOIDAL = 3
    SECOND = 4          # tau(x) = exp(x_1 e_1) .. exp(x_6 e_6), coordinates of the second kind
    SECOND_BACK = 5     # its adjoint, tau(-x)^-1: the same factors in the other order

#: Maps tau from twists to displacements; "trapezoidal" is the dual Cayley map with C cut to 1 - ad/2.
MAPS = {"exp": EXP, "cayley": CAYLEY, "dual-cayley": DUAL_CAYLEY, "trapezoidal": TRAPEZOIDAL}
#: Those of steps of rigid bodies.
RIGID_MAPS = {**MAPS, "second-kind": SECOND}

#: Largest rotation of a step by the exponential map that the logarithm inverts [rad], and the one to which trials are
#: cut.
cdef double TURN = 3.141592653589793
cdef double CUT = 3.0
#: The same of the second angle of coordinates of the second kind.
cdef double QUARTER = 1.5707963267948966
cdef double CUT_QUARTER = 1.5


# ---- maps from twists to displacements -----------------------------------------------------------

cdef inline bint of_second_kind(int map) noexcept nogil:
    return map == SECOND or map == SECOND_BACK


cdef inline Quat turn_about(int k, double angle) noexcept nogil:
    cdef Vec3 w = zero3()
    if k == 0:
        w.x = angle
    elif k == 1:
        w.y = angle
    else:
        w.z = angle
    return exp_quat(w)


cdef inline void displacement(int map, Six x, Quat* turn, Vec3* p) noexcept nogil:
    # tau(x) (eqs. 11-13; the Cayley map is that of 4x4 matrices, which is not the B of eq. 13)
    cdef double s, k
    if map == EXP:
        exp_se3(x.a, x.b, turn, p)
        return
    if map == SECOND:
        # R = Rx Ry Rz, p = R v
        turn[0] = quat_mul(turn_about(0, x.a.x), quat_mul(turn_about(1, x.a.y), turn_about(2, x.a.z)))
        p[0] = mul(quat_matrix(turn[0]), x.b)
        return
    if map == SECOND_BACK:
        # R = Rz Ry Rx, p = v
        turn[0] = quat_mul(turn_about(2, x.a.z), quat_mul(turn_about(1, x.a.y), turn_about(0, x.a.x)))
        p[0] = x.b
        return
    s = dot(x.a, x.a)
    turn[0] = quat_normalised(quat(scale(0.5, x.a), 1.0))
    k = 1.0 / (4.0 + s)
    p[0] = scale(2.0 * k, axpy(2.0, x.b, cross(x.a, x.b)))
    if map == CAYLEY:
        p[0] = axpy(k * dot(x.a, x.b), x.a, p[0])


cdef inline Six transport(Quat turn, Vec3 p, Six F) noexcept nogil:
    # Ad_g^T of a wrench, g = (turn, p): seen from the end of the displacement
    cdef Mat3 R = quat_matrix(turn)
    return six(tmul(R, sub(F.a, cross(p, F.b))), tmul(R, F.b))


cdef struct Second:             # of coordinates of the second kind at x: sines and cosines, and C's blocks
    double s1, c1
    double s2, c2
    double s3, c3
    Mat3 turned                 # J^-T, J the tangent of the rotation


cdef inline Mat3 rows_of(Vec3 x, Vec3 y, Vec3 z) noexcept nogil:
    return transpose(mat3(x, y, z))


cdef inline Second second_at(int map, Six x) noexcept nogil:
    cdef Second r
    vt_sincos(x.a.x, &r.s1, &r.c1)
    vt_sincos(x.a.y, &r.s2, &r.c2)
    vt_sincos(x.a.z, &r.s3, &r.c3)
    cdef double t = r.s2 / r.c2, e = 1.0 / r.c2
    if map == SECOND:
        # J = (e_1, X e_2, X Y e_3), X and Y the first two rotations
        r.turned = rows_of(vec3(1.0, 0.0, 0.0), vec3(r.s1 * t, r.c1, -r.s1 * e), vec3(-r.c1 * t, r.s1, r.c1 * e))
    else:
        # J = (Z Y e_1, Z e_2, e_3), Z the last rotation
        r.turned = rows_of(vec3(r.c3 * e, -r.s3, r.c3 * t), vec3(r.s3 * e, r.c3, r.s3 * t), vec3(0.0, 0.0, 1.0))
    return r


cdef inline Six pull(int map, Six x, Six p) noexcept nogil:
    # C(x)^T p, C(x) the inverse of tau's right-trivialised tangent
    cdef Six r
    cdef Vec3 s
    cdef Quat turn
    if of_second_kind(map):
        r.a = mul(second_at(map, x).turned, p.a)
        if map == SECOND:
            displacement(map, x, &turn, &s)
            r.b = mul(quat_matrix(turn), p.b)
        else:
            r.a, r.b = add(r.a, cross(x.b, p.b)), p.b
        return r
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


cdef void second_slope(int map, Six x, Six p, Mat3* aa, Mat3* ab, Mat3* bb, Blocks* D) noexcept nogil:
    # C(x)^T by blocks, its lower left block is zero, and the derivative of C(x)^T p by x
    cdef Second r = second_at(map, x)
    cdef Vec3 y = mul(r.turned, p.a), bend, moved
    cdef double k
    cdef Quat turn
    aa[0] = r.turned
    D.ab = D.ba = D.bb = zero33()
    if map == SECOND:
        k = (p.a.z * r.s2 - p.a.x) / (r.c2 * r.c2)
        # y turns with the first angle; its axes do with the second
        D.aa = mat3(vec3(0.0, -y.z, y.y), vec3(0.0, -k * r.s1, k * r.c1), zero3())
        displacement(map, x, &turn, &bend)
        ab[0], bb[0] = zero33(), quat_matrix(turn)
        moved = mul(bb[0], p.b)
        # R f turns by J
        D.ba = scaled(-1.0, mul3(hat(moved), mat3(vec3(1.0, 0.0, 0.0), vec3(0.0, r.c1, r.s1),
                                                   vec3(r.s2, -r.s1 * r.c2, r.c1 * r.c2))))
    else:
        k = (p.a.x * r.s2 + p.a.z) / (r.c2 * r.c2)
        D.aa = mat3(zero3(), vec3(k * r.c3, k * r.s3, 0.0), vec3(-y.y, y.x, 0.0))
        ab[0], bb[0] = hat(x.b), plus_diagonal(zero33(), 1.0)
        D.ab = hat(scale(-1.0, p.b))


cdef void pull_slope(int map, Six x, Six p, Sym3 J, Sym3 M, double h, Blocks* A) noexcept nogil:
    # A = C(x)^T I + h D, D the derivative of C(x)^T p by x
    cdef AdMatrix C
    cdef WrenchSlope D
    cdef Mat3 half = cayley_pull(x.a), aa, ab, bb
    if of_second_kind(map):
        second_slope(map, x, p, &aa, &ab, &bb, A)
    elif map == EXP:
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


# ---- the wrench on the body, and its accelerations -------------------------------------------------

cdef int rigid_make(VehicleStepper self) except -1:
    self.written = self.body.force is not None
    newton_make(&self.newton, self.memory, 6)
    rates_make(self, 13, self.rates.order)
    self.lie.past = <Past*>self.memory.kept(sizeof(Past))
    self.memory.bound_int(&self.lie.past.placed, 0, 1)
    self.lie.guess.seen = <Seen*>self.memory.kept(sizeof(Seen))
    self.memory.bound_long(&self.lie.guess.seen.count)
    self.lie.guess.table = self.memory.kept_reals(ORDERS * 6)
    return 0


cdef void rigid_drive(VehicleStepper self, Six* F) noexcept nogil:
    # add inputs and torque
    F[0] = axpy6(1.0, load6(self.lane.drive.tau), F[0])
    if self.shared.schedule.nu:
        F[0] = axpy6(1.0, self.body.control(self.lane.drive.u), F[0])


cdef int rigid_wrench(VehicleStepper self, double t, Vec3 x, Mat3 R, Six xi, const Six* F0, const Blocks* S0, Six* F,
                Blocks* S) noexcept nogil:
    # F at the velocity xi, and its slope, where not NULL
    F[0] = F0[0]
    if self.body.moving:
        F[0] = axpy6(1.0, apply(S0, xi), F[0])
    if S != NULL:
        S[0] = S0[0]
    return rigid_ask_force(self, t, x, R, xi, F, S) if self.written else OK


cdef int rigid_ask_force(VehicleStepper self, double t, Vec3 x, Mat3 R, Six xi, Six* F, Blocks* S) noexcept nogil:
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


cdef Six rigid_fictitious(VehicleStepper self, Six xi) noexcept nogil:
    # ad_xi^T I xi (eq. 8)
    cdef Six p = self.body.momentum(xi)
    return six(add(cross(p.a, xi.a), cross(p.b, xi.b)), cross(p.b, xi.a))


cdef int rigid_acceleration(VehicleStepper self, double t, Vec3 x, Mat3 R, Six xi, Six* out) noexcept nogil:
    # under the current inputs and torque
    cdef Six F0, F
    cdef Blocks S
    cdef int status
    self.body.act(t, x, R, &F0, &S)
    rigid_drive(self, &F0)
    status = rigid_wrench(self, t, x, R, xi, &F0, &S, &F, NULL)
    out[0] = self.body.velocity(axpy6(1.0, F, rigid_fictitious(self, xi)))
    return status


# y = (q, v), whose quaternion is normalised wherever it is used

cdef int rigid_open(VehicleStepper self, const double* q, const double* v, double* y) noexcept nogil:
    memcpy(y, q, 7 * sizeof(double))
    memcpy(y + 7, v, 6 * sizeof(double))
    return OK


cdef int rigid_close(VehicleStepper self, const double* y, double* q, double* v) noexcept nogil:
    memcpy(q, y, 3 * sizeof(double))
    store_quat(q + 3, quat_normalised(load_quat(y + 3)))
    memcpy(v, y + 7, 6 * sizeof(double))
    return OK


cdef void reconstruct(Quat at, Six xi, double* dq) noexcept nogil:
    # dq/dt (eq. 7, by quaternions)
    store3(dq, mul(quat_matrix(at), xi.b))
    store_quat(dq + 3, quat_mul(at, quat(scale(0.5, xi.a), 0.0)))


cdef int rigid_rate(VehicleStepper self, double t, const double* y, double* dy) noexcept nogil:
    cdef Quat at = quat_normalised(load_quat(y + 3))
    cdef Six a, xi = load6(y + 7)
    cdef int status = rigid_acceleration(self, t, load3(y), quat_matrix(at), xi, &a)
    reconstruct(at, xi, dy)
    store6(dy + 7, a)
    return status


# ---- equations of a step ---------------------------------------------------------------------------

cdef struct Balance:            # C(h xi)^T I xi = p + k (F0 + S0 xi + what is written in Python), at a time and pose
    int map
    double t
    Vec3 x
    Mat3 R
    Six p
    double k
    Six F0
    Blocks S0
    Six F               # the wrench at xi
    Blocks S            # and its slope
    bint cut            # a trial rotated too far, and was cut


cdef void balance_at(VehicleStepper self, double t, const double* q) noexcept nogil:
    self.balance.t, self.balance.x = t, load3(q)
    self.balance.R = quat_matrix(load_quat(q + 3))


cdef int rigid_residual(VehicleStepper self) noexcept nogil:
    cdef Balance* b = &self.balance
    cdef VehicleNewton* x = &self.newton
    cdef Six I, xi = load6(x.z)
    cdef int status = rigid_wrench(self, b.t, b.x, b.R, xi, &b.F0, &b.S0, &b.F, &b.S if b.k != 0.0 else NULL)
    if status != OK:
        return status
    I = self.body.momentum(xi)
    store6(x.r, axpy6(-b.k, b.F, axpy6(-1.0, b.p, pull(b.map, scale6(self.lane.now.h, xi), I))))
    if x.k == 0:
        x.size = vt_max_nan(vt_max_nan(largest6(b.p), fabs(b.k) * largest6(b.F0)), largest6(I))
    return OK


cdef int rigid_direction(VehicleStepper self, bint factor) noexcept nogil:
    # A^-1 r, A = d(C(h xi)^T I xi)/dxi - k dF/dxi
    cdef Balance* b = &self.balance
    cdef VehicleNewton* x = &self.newton
    cdef Six xi = load6(x.z), to
    cdef Blocks A
    cdef double turn
    pull_slope(b.map, scale6(self.lane.now.h, xi), self.body.momentum(xi), self.body.J, self.body.M, self.lane.now.h, &A)
    if b.k != 0.0 and (self.body.moving or self.written):
        A.aa, A.ab = add_scaled(-b.k, b.S.aa, A.aa), add_scaled(-b.k, b.S.ab, A.ab)
        A.ba, A.bb = add_scaled(-b.k, b.S.ba, A.ba), add_scaled(-b.k, b.S.bb, A.bb)
    to = axpy6(-1.0, solve6(&A, load6(x.r)), xi)
    if b.map == EXP:
        # a trial may not leave the domain of the logarithm
        turn = fabs(self.lane.now.h) * vt_sqrt(dot(to.a, to.a))
        if turn > TURN:
            to.a, b.cut = scale(CUT / turn, to.a), True
    elif of_second_kind(b.map):
        # nor reach the singular angle
        turn = fabs(self.lane.now.h * to.a.y)
        if turn > CUT_QUARTER:
            to.a, b.cut = scale(CUT_QUARTER / turn, to.a), True
    store6(x.d, axpy6(-1.0, to, xi))
    return OK


cdef int rigid_solve(VehicleStepper self, Six* xi) noexcept nogil:
    # xi of the balance, from a guess
    cdef Balance* b = &self.balance
    cdef int status
    cdef Six turn
    b.cut = False
    store6(self.newton.z, xi[0])
    status = newton_solve(self, NEWTON)
    xi[0] = load6(self.newton.z)
    turn = scale6(self.lane.now.h, xi[0])
    if status == NOT_CONVERGED and b.cut or status == OK and b.map == EXP and not dot(turn.a, turn.a) < TURN * TURN:
        return TURNED_TOO_FAR
    if status == OK and of_second_kind(b.map) and not fabs(turn.a.y) < QUARTER:
        return TURNED_TOO_FAR
    return status


cdef inline void move(const double* q, Quat turn, Vec3 p, double* q2) noexcept nogil:
    # q2 = q times a displacement
    cdef Quat at = load_quat(q + 3)
    store3(q2, add(load3(q), mul(quat_matrix(at), p)))
    store_quat(q2 + 3, quat_normalised(quat_mul(at, turn)))


# ---- the variational integrator --------------------------------------------------------------------

cdef struct Past:               # kept
    double v_last[6]                    # velocity at the start of the last step
    int placed                          # the wrench at the start of the step is known: F + S xi
    Six here
    Blocks here_slope


cdef struct LieStep:
    int map
    Past* past
    Guess guess                         # of xi, by the twists of past steps


cdef void lie_begin(VehicleStepper self) noexcept nogil:
    self.lie.guess.seen.count, self.lie.past.placed = 0, False


cdef bint lie_extrapolate(VehicleStepper self, Six* xi) noexcept nogil:
    # the next twist by those of past steps of this length
    cdef double y[6]
    if self.lane.now.h != self.lane.clock.h_last:
        self.lie.guess.seen.count = 0
    if self.lie.guess.seen.count < 2:
        return False
    guess_predict(&self.lie.guess, 6, 0, y)
    xi[0] = load6(y)
    return True


cdef void lie_learn(VehicleStepper self, Six xi) noexcept nogil:
    cdef double y[6]
    cdef double fresh[6]
    store6(y, xi)
    guess_learn(&self.lie.guess, 6, y, NULL, fresh)


cdef int lie_predict_middle(VehicleStepper self, Vec3 x, Mat3 R, Six xi) noexcept nogil:
    # inputs and torque at the predicted middle of the step: one call, second order
    cdef double t = self.lane.clock.t, h = self.lane.now.h
    cdef int k
    cdef Six a
    cdef Quat turn
    cdef Vec3 p
    cdef double v[6]
    store6(v, xi)
    if self.lane.clock.h_last == 0.0:
        # there is no previous step: the acceleration with the inputs at the start
        if self.ask(t, self.lane.state.q, v) != OK or rigid_acceleration(self, t, x, R, xi, &a) != OK:
            return CALLBACK_FAILED
    else:
        for k in range(6):
            v[k] = (v[k] - self.lie.past.v_last[k]) / self.lane.clock.h_last
        a = load6(v)
    store6(self.lie.past.v_last, xi)
    a = scale6(0.5 * h, a)
    exp_se3(scale(0.5 * h, axpy(0.5, a.a, xi.a)), scale(0.5 * h, axpy(0.5, a.b, xi.b)), &turn, &p)
    move(self.lane.state.q, turn, p, self.lane.state.q2)
    store6(v, axpy6(1.0, a, xi))
    return self.ask(t + 0.5 * h, self.lane.state.q2, v)


cdef int lie_step(VehicleStepper self) noexcept nogil:
    cdef Balance* b = &self.balance
    cdef double t = self.lane.clock.t, h = self.lane.now.h
    cdef double q[7]
    cdef double x[6]
    cdef double error
    cdef int status, passes
    if self.shared.schedule.calls_user:
        balance_at(self, t, self.lane.state.q)
        if lie_predict_middle(self, b.x, b.R, self.body.velocity(load6(self.lane.state.x))) != OK:
            return CALLBACK_FAILED
    if self.lie.map != SECOND:
        return lie_substep(self, t, self.lane.state.q, load6(self.lane.state.x), self.lie.map)
    # tau is not its own adjoint: half a step by each, which together are symmetric
    self.lane.now.h = 0.5 * h
    status = lie_substep(self, t, self.lane.state.q, load6(self.lane.state.x), SECOND)
    if status == OK:
        memcpy(q, self.lane.state.q2, 7 * sizeof(double))
        memcpy(x, self.lane.state.x2, 6 * sizeof(double))
        error, passes = self.lane.now.error, self.lane.now.iterations
        status = lie_substep(self, t + 0.5 * h, q, load6(x), SECOND_BACK)
        self.lane.now.error, self.lane.now.iterations = vt_max_nan(error, self.lane.now.error), (
            self.lane.now.iterations + passes)
    self.lane.now.h = h
    if status != OK:
        self.lie.past.placed = False  # it may be that of the middle
    return status


cdef int lie_substep(VehicleStepper self, double t, const double* q, Six mu, int map) noexcept nogil:
    # from q and the momentum mu, by a map
    cdef Balance* b = &self.balance
    cdef Past* past = self.lie.past
    cdef double h = self.lane.now.h
    cdef Six node, xi
    cdef Quat turn
    cdef Vec3 p
    cdef int status
    # the kick at the start: C(h xi)^T I xi = mu_1 + (1 - alpha) h F(g_1, xi)
    balance_at(self, t, q)
    b.map, b.k, b.p = map, (1.0 - self.alpha) * h, mu
    node = self.body.velocity(b.p)
    if not past.placed:
        self.body.act(b.t, b.x, b.R, &past.here, &past.here_slope)
    b.F0, b.S0 = past.here, past.here_slope
    rigid_drive(self, &b.F0)
    # coordinates of the second kind differ from half to half
    status = rigid_solve(self, &xi) if not of_second_kind(map) and lie_extrapolate(self, &xi) else NOT_CONVERGED
    if status != OK and status != CALLBACK_FAILED:
        # from the dynamics at the start of the step
        status = rigid_wrench(self, b.t, b.x, b.R, node, &b.F0, &b.S0, &b.F, NULL)
        if status != OK:
            return status
        xi = axpy6(0.5 * h, self.body.velocity(axpy6(1.0, b.F, rigid_fictitious(self, node))), node)
        status = rigid_solve(self, &xi)
    if status != OK:
        return status
    if not of_second_kind(map):
        lie_learn(self, xi)
    # g_2 = g_1 tau(h xi). C(-h xi) = C(h xi) Ad_tau: the residual of the solver is carried into the momentum
    displacement(map, scale6(h, xi), &turn, &p)
    move(q, turn, p, self.lane.state.q2)
    return lie_kick(self, b.t + h, xi, transport(turn, p, axpy6(b.k, b.F, b.p)))


cdef int lie_kick(VehicleStepper self, double t, Six xi, Six mu) noexcept nogil:
    # the kick at the end: mu_2 = mu + alpha h F(g_2, xi)
    cdef Past* past = self.lie.past
    cdef double share = self.alpha * self.lane.now.h
    cdef Vec3 x = load3(self.lane.state.q2)
    cdef Mat3 R = quat_matrix(load_quat(self.lane.state.q2 + 3))
    cdef Six F0, F
    cdef int status
    past.placed = share != 0.0
    if past.placed:
        self.body.act(t, x, R, &past.here, &past.here_slope)
        F0 = past.here
        rigid_drive(self, &F0)
        status = rigid_wrench(self, t, x, R, xi, &F0, &past.here_slope, &F, NULL)
        if status != OK:
            return status
        mu = axpy6(share, F, mu)
    store6(self.lane.state.x2, mu)
    return OK


# ---- baselines: the pose by quaternions or by the exponential, the velocity by the trapezoidal rule --------

cdef int trapezoid(VehicleStepper self, double t, const double* q, Six p, Six* xi) noexcept nogil:
    # C(h xi)^T I xi = p + (h/2) F(q, xi), C = 1 - ad/2
    cdef Balance* b = &self.balance
    balance_at(self, t, q)
    b.map, b.k, b.p = TRAPEZOIDAL, 0.5 * self.lane.now.h, p
    self.body.act(t, b.x, b.R, &b.F0, &b.S0)
    rigid_drive(self, &b.F0)
    return rigid_solve(self, xi)


cdef void quaternion_move(VehicleStepper self, double h, const double* from_q, Six xi, double* q) noexcept nogil:
    # q = the start of the step, moved for a time h at the rate that xi has at another pose
    cdef double dq[7]
    cdef int k
    reconstruct(load_quat(from_q + 3), xi, dq)
    for k in range(7):
        q[k] = self.lane.state.q[k] + h * dq[k]
    store_quat(q + 3, quat_normalised(load_quat(q + 3)))


cdef int implicit_midpoint_step(VehicleStepper self) noexcept nogil:
    cdef double h = self.lane.now.h, t = self.lane.clock.t + 0.5 * self.lane.now.h
    cdef Six xi = load6(self.lane.state.x), mean = xi
    cdef double q[7]
    cdef double v[6]
    cdef int status
    quaternion_move(self, 0.5 * h, self.lane.state.q, xi, q)
    if self.shared.schedule.calls_user:
        rigid_open(self, self.lane.state.q, self.lane.state.x, self.rates.y)
        status = stage_rate(self, 0.0, NULL, self.rates.k)
        if status == OK:
            store6(v, axpy6(0.5 * h, load6(self.rates.k + 7), xi))
            status = self.ask(t, q, v)
        if status != OK:
            return status
    status = trapezoid(self, t, q, self.body.momentum(xi), &mean)
    if status != OK:
        return status
    store6(self.lane.state.x2, axpy6(2.0, mean, scale6(-1.0, xi)))
    quaternion_move(self, 0.5 * h, self.lane.state.q, mean, q)
    quaternion_move(self, h, q, mean, self.lane.state.q2)
    return OK


cdef int newmark_step(VehicleStepper self) noexcept nogil:
    cdef double h = self.lane.now.h, t = self.lane.clock.t + self.lane.now.h
    cdef Six xi = load6(self.lane.state.x), next, a, d
    cdef Vec3 p
    cdef Quat turn
    cdef double v[6]
    cdef int status
    rigid_open(self, self.lane.state.q, self.lane.state.x, self.rates.y)
    status = stage_rate(self, 0.0, NULL, self.rates.k)
    if status != OK:
        return status
    a = load6(self.rates.k + 7)
    d = scale6(h, axpy6(0.5 * h, a, xi))
    exp_se3(d.a, d.b, &turn, &p)
    move(self.lane.state.q, turn, p, self.lane.state.q2)
    next = axpy6(h, a, xi)
    store6(v, next)
    if self.shared.schedule.calls_user and self.ask(t, self.lane.state.q2, v) != OK:
        return CALLBACK_FAILED
    status = trapezoid(self, t, self.lane.state.q2, self.body.momentum(axpy6(0.5 * h, a, xi)), &next)
    if status != OK:
        return status
    store6(self.lane.state.x2, next)
    return OK
