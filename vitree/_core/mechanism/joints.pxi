# The joints. Whatever depends on a joint's kind is here and nowhere else: a joint kind is a case in each of these.
#
#   every joint           joint_nv, joint_pose
#   one coordinate        joint_column, joint_project_own, joint_add_motion (inverse dynamics), joint_add_bias (forward
#                         dynamics), joint_pairing, joint_remainder, joint_add, joint_inertia_column, joint_times,
#                         joint_tmul; of the linear-time method joint_turns, joint_slides, joint_half_turn,
#                         joint_increment
#   several coordinates   joint_order, joint_twist_of, joint_twist_to, joint_moved, joint_motion, joint_reduce,
#                         joint_respond, joint_accelerate. All else takes their twists from joint_expand; a ball's have
#                         no linear part, and where it would be computed the ball is a case of its own
#
# A joint of one coordinate turns about the z axis of its core frame or moves along it: its motion subspace S is a
# fixed twist. One of several coordinates ("multi") is a group of motions with q (+) d = q exp(S d); the columns of S
# are unit twists along the core frame's axes. World axes and the body's origin unless "own", which is the body's axes.

cdef inline bint joint_multi(const vt_body* b) noexcept nogil:
    # several coordinates; rare, and expected to be. Their kinds are the last of the list
    return VT_UNLIKELY(b.kind >= BALL)


cdef inline bint joint_rotates(const vt_body* b) noexcept nogil:
    # one coordinate, and it does not move the origin: half of its twist is zeros
    return b.kind == REVOLUTE


cdef inline bint joint_floats(const vt_body* b) noexcept nogil:
    # several coordinates, and some of them move the origin
    return VT_UNLIKELY(b.kind >= FREE)


cdef inline int joint_nv(const vt_body* b) noexcept nogil:
    # b.nv by the kind: compilers unroll loops over the coordinates by it
    return 1 if b.kind < BALL else 3 if b.kind == BALL else 6


# ---- poses and retractions -----------------------------------------------------------------------

cdef inline Mat3 constant_rotation(const double* E) noexcept nogil:
    return mat3(constant3(E), constant3(E + 3), constant3(E + 6))


cdef inline Mat3 turned_z(Mat3 R, vt_real sine, vt_real cosine) noexcept nogil:
    # R Rz(angle)
    return mat3(axpy(sine, R.y, scale(cosine, R.x)), sub(scale(cosine, R.y), scale(sine, R.x)), R.z)


cdef inline void joint_pose(const vt_body* b, const vt_real* q, Mat3* R, Vec3* p) noexcept nogil:
    # pose of the core frame in the parent's core frame
    cdef Mat3 E = constant_rotation(b.E)
    cdef vt_real sine, cosine
    p[0] = constant3(b.p)
    if b.kind == REVOLUTE:
        vt_sincos(q[b.iq], &sine, &cosine)
        R[0] = turned_z(E, sine, cosine)
    elif b.kind == PRISMATIC:
        R[0] = E
        p[0] = axpy(q[b.iq], E.z, p[0])
    elif b.kind == HELICAL:
        vt_sincos(q[b.iq], &sine, &cosine)
        R[0] = turned_z(E, sine, cosine)
        p[0] = axpy(b.pitch * q[b.iq], E.z, p[0])
    elif b.kind == BALL:
        R[0] = mul3(E, quat_matrix(load_quat(q + b.iq)))
    else:
        R[0] = mul3(E, quat_matrix(load_quat(q + b.iq + 3)))
        p[0] = add(p[0], mul(E, load3(q + b.iq)))


cdef inline void joint_moved(const vt_body* b, const vt_real* q, Vec3 w, Quat turn, Vec3 shift,
                             vt_real* q2) noexcept nogil:
    # q2: where a floating joint is after the displacement `shift` and the turn, exp(w), both in the axes of q
    cdef Quat at = load_quat(q + b.iq + 3)
    store3(q2 + b.iq, add(load3(q + b.iq), mul(quat_matrix(at), shift)))
    store_quat(q2 + b.iq + 3, quat_normalised(quat_mul(at, turn)))


cdef inline void joint_motion(const vt_body* b, const vt_real* q, const vt_real* q2, Quat* turn,
                              Vec3* shift) noexcept nogil:
    # the inverse of joint_moved
    cdef Quat at = load_quat(q + b.iq + 3)
    shift[0] = tmul(quat_matrix(at), sub(load3(q2 + b.iq), load3(q + b.iq)))
    turn[0] = quat_between(at, load_quat(q2 + b.iq + 3))


cdef inline void joint_advance(const vt_body* b, const vt_real* q, vt_real share, const vt_real* d,
                               vt_real* q2) noexcept nogil:
    # q2 = q (+) share d; d is a body displacement
    cdef Quat turn
    cdef Vec3 w, v
    if b.kind == BALL:
        turn = exp_quat(scale(share, load3(d + b.iv)))
        store_quat(q2 + b.iq, quat_normalised(quat_mul(load_quat(q + b.iq), turn)))
    elif joint_floats(b):
        joint_expand(b, d, &w, &v)
        w = scale(share, w)
        exp_se3(w, scale(share, v), &turn, &v)
        joint_moved(b, q, w, turn, v, q2)
    else:
        q2[b.iq] = q[b.iq] + share * d[b.iv]


cdef inline Quat quat_between(Quat a, Quat b) noexcept nogil:
    # a^-1 b
    return quat_mul(quat(neg(quat_vec(a)), a.w), b)


cdef inline void joint_difference(const vt_body* b, const vt_real* q, const vt_real* q2,
                                  vt_real* d) noexcept nogil:
    # the d with q (+) d = q2, turns by the shorter way
    cdef Quat turn
    cdef Vec3 w, v
    cdef vt_real g
    if b.kind == BALL:
        store3(d + b.iv, log_quat(quat_short(quat_between(load_quat(q + b.iq), load_quat(q2 + b.iq))), &g))
    elif joint_floats(b):
        joint_motion(b, q, q2, &turn, &v)
        log_se3(turn, v, &w, &v)
        joint_project_own(b, w, v, d)
    else:
        d[b.iv] = q2[b.iq] - q[b.iq]


cdef void advance(const vt_model* m, const vt_real* q, vt_real share, const vt_real* d, vt_real* q2) noexcept nogil:
    # q2 = q (+) share d
    cdef int i
    if m.nmulti == 0:
        for i in range(m.nv):
            q2[i] = q[i] + share * d[i]
        return
    for i in range(m.nbody):
        joint_advance(&m.body[i], q, share, d, q2)


cdef inline void integrate(const vt_model* m, const vt_real* q, const vt_real* d, vt_real* q2) noexcept nogil:
    advance(m, q, vt_set1(1.0), d, q2)


cdef void difference(const vt_model* m, const vt_real* q, const vt_real* q2, vt_real* d) noexcept nogil:
    cdef int i
    for i in range(m.nbody):
        joint_difference(&m.body[i], q, q2, d)


cdef inline void joint_exponential_rate(const vt_body* b, const vt_real* u, const vt_real* v, vt_real* du) noexcept nogil:
    # rate of the coordinates u of q = q0 (+) u where the velocity is v: dlog_{-u} v
    cdef Vec3 w, l, x, y
    if b.kind == BALL:
        store3(du + b.iv, dlog(neg(load3(u + b.iv)), load3(v + b.iv)))
    elif joint_floats(b):
        joint_expand(b, u, &w, &l)
        joint_expand(b, v, &x, &y)
        dlog_se3(neg(w), neg(l), x, y, &w, &l)
        joint_project_own(b, w, l, du)
    else:
        du[b.iv] = v[b.iv]


cdef void exponential_rate(const vt_model* m, const vt_real* u, const vt_real* v, vt_real* du) noexcept nogil:
    cdef int i
    for i in range(m.nbody):
        joint_exponential_rate(&m.body[i], u, v, du)


# ---- the motion subspace S -----------------------------------------------------------------------

cdef inline int joint_order(const vt_body* b, int k) noexcept nogil:
    # of several coordinates: which of the six unit twists (angular, linear) the k-th one has
    if b.kind == FREE:
        return k + 3 if k < 3 else k - 3
    return k


cdef inline Vec3 column(Mat3 A, int k) noexcept nogil:
    cdef Vec3 a = A.x
    if k == 1:
        a = A.y
    elif k == 2:
        a = A.z
    return a


cdef inline void joint_column(const vt_body* b, Mat3 R, int k, Vec3* w, Vec3* v) noexcept nogil:
    # the k-th column of S, the twist (w, v) of the k-th coordinate
    cdef Vec3 axis
    if b.kind == REVOLUTE:
        w[0] = R.z
        v[0] = zero3()
    elif b.kind == PRISMATIC:
        w[0] = zero3()
        v[0] = R.z
    elif b.kind == HELICAL:
        w[0] = R.z
        v[0] = scale(vt_set1(b.pitch), R.z)
    else:
        axis = column(R, k % 3)
        if joint_order(b, k) >= 3:
            w[0] = zero3()
            v[0] = axis
        else:
            w[0] = axis
            v[0] = zero3()


cdef inline void add_joint_velocity(const vt_body* b, Mat3 R, const vt_real* v, Vec3* w, Vec3* u) noexcept nogil:
    # (w, u) += S v, a column at a time
    cdef int k
    cdef Vec3 sw, su
    for k in range(joint_nv(b)):
        joint_column(b, R, k, &sw, &su)
        w[0] = axpy(v[b.iv + k], sw, w[0])
        u[0] = axpy(v[b.iv + k], su, u[0])


cdef inline void joint_twist_to(const vt_body* b, Vec3 w, Vec3 v, vt_real* out) noexcept nogil:
    # S^T (w, v) of several coordinates in the body's own axes, (nv,) of the joint: the inverse of joint_twist_of, or a
    # projected wrench
    if b.kind == BALL:
        store3(out, w)
    else:
        store3(out, v)
        store3(out + 3, w)


cdef inline void joint_twist_of(const vt_body* b, const vt_real* y, Vec3* w, Vec3* v) noexcept nogil:
    # S y of several coordinates in the body's own axes: a twist, or the wrench whose projection is y
    if b.kind == FREE:
        v[0] = load3(y)
        w[0] = load3(y + 3)
    else:
        w[0] = load3(y)
        v[0] = zero3()


cdef inline void joint_expand(const vt_body* b, const vt_real* y, Vec3* w, Vec3* v) noexcept nogil:
    # the same of the joint's part of y, (nv,) of the model
    joint_twist_of(b, y + b.iv, w, v)


cdef inline void joint_project_own(const vt_body* b, Vec3 n, Vec3 f, vt_real* out) noexcept nogil:
    # S^T (n, f), all in the body's own axes
    if b.kind == REVOLUTE:
        out[b.iv] = n.z
    elif b.kind == PRISMATIC:
        out[b.iv] = f.z
    elif b.kind == HELICAL:
        out[b.iv] = n.z + b.pitch * f.z
    else:
        joint_twist_to(b, n, f, out + b.iv)


cdef inline vt_real joint_pairing(const vt_body* b, Vec3 z, Vec3 n, Vec3 f) noexcept nogil:
    # S^T (n, f) of one coordinate, z its axis
    if b.kind == REVOLUTE:
        return dot(z, n)
    if b.kind == PRISMATIC:
        return dot(z, f)
    return dot(z, n) + b.pitch * dot(z, f)


cdef inline void joint_project(const vt_body* b, Mat3 R, Vec3 n, Vec3 f, vt_real* out) noexcept nogil:
    # S^T (n, f). To turn n and f first and use joint_project_own would cost two products of which one entry is used
    if not joint_multi(b):
        out[b.iv] = joint_pairing(b, R.z, n, f)
    elif b.kind == BALL:
        store3(out + b.iv, tmul(R, n))
    else:
        joint_project_own(b, tmul(R, n), tmul(R, f), out)


cdef inline vt_real joint_remainder(const vt_body* b, Vec3 z, vt_real tau, Vec3 n, Vec3 f) noexcept nogil:
    # tau - S^T (n, f) of one coordinate, term after term
    if b.kind == REVOLUTE:
        return tau - dot(z, n)
    if b.kind == PRISMATIC:
        return tau - dot(z, f)
    return tau - dot(z, n) - b.pitch * dot(z, f)


cdef inline void joint_add(const vt_body* b, Vec3 z, vt_real rate, Vec3* w, Vec3* v) noexcept nogil:
    # (w, v) += S rate of one coordinate, where add_joint_velocity would multiply zeros
    if b.kind == REVOLUTE:
        w[0] = axpy(rate, z, w[0])
    elif b.kind == PRISMATIC:
        v[0] = axpy(rate, z, v[0])
    else:
        w[0] = axpy(rate, z, w[0])
        v[0] = axpy(b.pitch * rate, z, v[0])


# ---- inverse and forward dynamics ----------------------------------------------------------------

cdef inline void joint_add_motion(const vt_body* b, const vt_real* v, const vt_real* a, Vec3* w, Vec3* dw,
                                  Vec3* acc) noexcept nogil:
    # add a joint's motion to its body's, own axes. With (u, d) = S v and (du, dd) = S a:
    #     acc += dd + 2 w x d (+ u x d where d turns with the body),  dw += w x u + du,  w += u
    cdef Vec3 u, d, du, dd
    cdef vt_real r
    if b.kind == REVOLUTE or b.kind == HELICAL:
        r = v[b.iv]
        dw[0] = vec3(dw.x + w.y * r, dw.y - w.x * r, dw.z + a[b.iv])
        if b.kind == HELICAL:
            r = 2.0 * b.pitch * v[b.iv]
            acc[0] = vec3(acc.x + w.y * r, acc.y - w.x * r, acc.z + b.pitch * a[b.iv])
        w.z = w.z + v[b.iv]
    elif b.kind == PRISMATIC:
        r = 2.0 * v[b.iv]
        acc[0] = vec3(acc.x + w.y * r, acc.y - w.x * r, acc.z + a[b.iv])
    elif b.kind == BALL:
        u = load3(v + b.iv)
        dw[0] = add(add(dw[0], cross(w[0], u)), load3(a + b.iv))
        w[0] = add(w[0], u)
    else:
        joint_expand(b, v, &u, &d)
        joint_expand(b, a, &du, &dd)
        acc[0] = add(add(acc[0], dd), cross(axpy(vt_set1(2.0), w[0], u), d))
        dw[0] = add(add(dw[0], cross(w[0], u)), du)
        w[0] = add(w[0], u)


cdef inline void joint_add_bias(const vt_body* b, Mat3 R, const vt_real* v, Vec3* w, Vec3* dw, Vec3* a) noexcept nogil:
    # the same in world axes without the joint's acceleration: w, of the parent, becomes the body's;
    # dw = w x u, a += 2 w x d (+ u x d)
    cdef Vec3 u, d
    if b.kind == REVOLUTE:
        u = scale(v[b.iv], R.z)
        dw[0] = cross(w[0], u)
        w[0] = add(w[0], u)
    elif b.kind == PRISMATIC:
        dw[0] = zero3()
        a[0] = add(a[0], cross(w[0], scale(2.0 * v[b.iv], R.z)))
    elif b.kind == HELICAL:
        u = scale(v[b.iv], R.z)
        dw[0] = cross(w[0], u)
        a[0] = axpy(vt_set1(2.0 * b.pitch), dw[0], a[0])
        w[0] = add(w[0], u)
    elif b.kind == BALL:
        u = mul(R, load3(v + b.iv))
        dw[0] = cross(w[0], u)
        w[0] = add(w[0], u)
    else:
        joint_expand(b, v, &u, &d)
        u = mul(R, u)
        d = mul(R, d)
        dw[0] = cross(w[0], u)
        a[0] = add(a[0], cross(axpy(vt_set1(2.0), w[0], u), d))
        w[0] = add(w[0], u)


cdef inline Vec3 joint_coriolis(const vt_body* b, Vec3 before, Vec3 after, Vec3 slide) noexcept nogil:
    # acceleration of the origin where the joint slides at a steady rate: 2 w x d, or (2 w + u) x d where d turns
    # with the body; w and w + u are the angular velocities before and after the joint
    if joint_floats(b):
        return cross(add(before, after), slide)
    return cross(scale(vt_set1(2.0), before), slide)


cdef struct Articulated:    # of a subtree: the wrench that moves its root body, n = J dw + H a + bn, f = H^T dw + M a + bf
    Sym3 J
    Mat3 H
    Sym3 M
    Vec3 bn
    Vec3 bf


cdef inline void joint_inertia_column(const vt_body* b, Vec3 z, const Articulated* I, Vec3* n, Vec3* f) noexcept nogil:
    # (n, f) = I S of one coordinate
    cdef vt_real pitch
    if b.kind == REVOLUTE:
        n[0] = symmul(I.J, z)
        f[0] = tmul(I.H, z)
    elif b.kind == PRISMATIC:
        n[0] = mul(I.H, z)
        f[0] = symmul(I.M, z)
    else:
        pitch = vt_set1(b.pitch)
        n[0] = axpy(pitch, mul(I.H, z), symmul(I.J, z))
        f[0] = axpy(pitch, symmul(I.M, z), tmul(I.H, z))


cdef inline bint joint_reduce(const vt_body* b, Mat3 R, const vt_real* tau, const Articulated* I, Vec3 dw, Vec3 a,
                              Articulated* felt) noexcept nogil:
    # what a parent feels of a joint of several coordinates whose body accelerates by (dw, a) without it: a wrench,
    # and whether it feels any inertia: of a ball M - H^T J^-1 H, of a free joint none
    cdef Sym3 J
    if b.kind == BALL:
        felt.bn = mul(R, load3(tau + b.iv))
        J = sym_inverse(I.J)
        felt.J = zero_sym()
        felt.H = zero33()
        felt.M = subsym(I.M, congruence(transpose(I.H), J))
        felt.bf = add(I.bf, add(tmul(I.H, symmul(J, sub(felt.bn, I.bn))), symmul(felt.M, a)))
        return True
    joint_respond(b, R, tau, I, &felt.bn, &felt.bf)
    return False


cdef inline void joint_respond(const vt_body* b, Mat3 R, const vt_real* tau, const Articulated* I, Vec3* n,
                               Vec3* f) noexcept nogil:
    # the same where nothing accelerates by itself
    if b.kind == BALL:
        n[0] = mul(R, load3(tau + b.iv))
        f[0] = add(I.bf, tmul(I.H, symmul(sym_inverse(I.J), sub(n[0], I.bn))))
    else:
        n[0] = mul(R, load3(tau + b.iv + 3))
        f[0] = mul(R, load3(tau + b.iv))


cdef inline void joint_accelerate(const vt_body* b, Mat3 R, const vt_real* tau, const Articulated* I, Vec3* dw, Vec3* a,
                                  vt_real* acc) noexcept nogil:
    # the accelerations of several coordinates where the body would have (dw, a) if the joint did not accelerate:
    # S^T (I (dw, a) + S^T acc) + bias) = tau, solved by blocks; (dw, a) become the body's
    cdef Sym3 J, M
    cdef Vec3 n, f, u, d
    joint_expand(b, tau, &n, &f)
    n = sub(mul(R, n), I.bn)
    if b.kind == BALL:
        u = symmul(sym_inverse(I.J), sub(n, mul(I.H, a[0])))
        store3(acc + b.iv, tmul(R, sub(u, dw[0])))
    else:
        f = sub(mul(R, f), I.bf)
        M = sym_inverse(I.M)
        u = symmul(M, f)
        J = sym_inverse(subsym(I.J, congruence(I.H, M)))
        u = symmul(J, sub(n, mul(I.H, u)))
        d = symmul(M, sub(f, tmul(I.H, u)))
        joint_project(b, R, sub(u, dw[0]), sub(d, a[0]), acc)
        a[0] = d
    dw[0] = u


# ---- the linear-time method's increments ---------------------------------------------------------
# There y is a joint's increment as both ends of a step see it: its turn, and its displacement in the axes of the
# start. A free joint's position moves straight, and is turned to the end's axes where a displacement there is meant.

cdef inline bint joint_turns(const vt_body* b) noexcept nogil:
    return b.kind != PRISMATIC


cdef inline vt_real joint_turn_square(const vt_body* b, const vt_real* y) noexcept nogil:
    # of the angle by which an increment turns the joint
    cdef Vec3 w, v
    if not joint_turns(b):
        return vt_set1(0.0)
    if not joint_multi(b):
        return y[b.iv] * y[b.iv]
    joint_expand(b, y, &w, &v)
    return dot(w, w)


cdef inline bint joint_slides(const vt_body* b) noexcept nogil:
    return b.kind != REVOLUTE and b.kind != BALL


cdef inline void joint_half_turn(const vt_body* b, const vt_real* y, vt_real* sine, vt_real* cosine) noexcept nogil:
    # of half the angle, where one coordinate turns
    if b.kind == REVOLUTE or b.kind == HELICAL:
        vt_sincos(0.5 * y[b.iv], sine, cosine)


cdef inline void joint_increment(const vt_body* b, Mat3 R, const vt_real* y, vt_real sine, vt_real cosine, Quat* turn,
                                 Vec3* move) noexcept nogil:
    # turn and displacement of the body by its own joint; sine and cosine as joint_half_turn has them
    cdef Vec3 w
    move[0] = zero3()
    if b.kind == REVOLUTE:
        turn[0] = quat(scale(sine, R.z), cosine)
    elif b.kind == PRISMATIC:
        move[0] = scale(y[b.iv], R.z)
        turn[0] = quat(zero3(), vt_set1(1.0))
    elif b.kind == HELICAL:
        turn[0] = quat(scale(sine, R.z), cosine)
        move[0] = scale(b.pitch * y[b.iv], R.z)
    elif b.kind == BALL:
        turn[0] = exp_quat(load3(y + b.iv))
        turn[0] = quat(mul(R, quat_vec(turn[0])), turn.w)
    else:
        joint_expand(b, y, &w, move)
        turn[0] = exp_quat(w)
        turn[0] = quat(mul(R, quat_vec(turn[0])), turn.w)
        move[0] = mul(R, move[0])


cdef inline Vec3 joint_times(const vt_body* b, Mat3 turn, Mat3 slide, Vec3 z) noexcept nogil:
    # what two matrices make of the turn and the slide of one coordinate along z
    if b.kind == REVOLUTE:
        return mul(turn, z)
    if b.kind == PRISMATIC:
        return mul(slide, z)
    return axpy(vt_set1(b.pitch), mul(slide, z), mul(turn, z))


cdef inline Vec3 joint_tmul(const vt_body* b, Mat3 turn, Mat3 slide, Vec3 z) noexcept nogil:
    # and their transposes
    if b.kind == REVOLUTE:
        return tmul(turn, z)
    return tmul(slide, z) if b.kind == PRISMATIC else axpy(vt_set1(b.pitch), tmul(slide, z), tmul(turn, z))


cdef inline void joint_logarithm(const vt_body* b, const vt_real* y, vt_real* e) noexcept nogil:
    # the logarithm e (nv,) of several coordinates' increment y: the same seen from both ends
    cdef Vec3 w, v
    joint_expand(b, y, &w, &v)
    joint_twist_to(b, w, dlog(w, v) if joint_floats(b) else v, e)


cdef inline void joint_logarithm_change(const vt_body* b, const vt_real* y, vt_real* d) noexcept nogil:
    # d (nv,), a displacement of the body at the end, becomes the change of that logarithm
    cdef Vec3 w, v, x, u
    joint_expand(b, y, &w, &v)
    joint_twist_of(b, d, &x, &u)
    if joint_floats(b):
        dlog_se3(neg(w), neg(dlog(w, v)), x, u, &w, &u)
    else:
        w = dlog(neg(w), x)
    joint_twist_to(b, w, u, d)


cdef inline void joint_increment_change(const vt_body* b, const vt_real* y, vt_real* d) noexcept nogil:
    # d, a displacement of the body at the end, becomes the change of the increment y
    cdef Vec3 w, v, x, u
    joint_expand(b, y, &w, &v)
    joint_expand(b, d, &x, &u)
    if joint_floats(b):
        u = mul(quat_matrix(exp_quat(w)), u)
    joint_project_own(b, dlog(neg(w), x), u, d)


cdef inline void joint_increment_row(const vt_body* b, const vt_real* y, vt_real* row) noexcept nogil:
    # its transpose's inverse: a row by displacements of the body at the end becomes one by y
    cdef Vec3 w, v, n, f
    cdef vt_real beta, delta
    joint_expand(b, y, &w, &v)
    joint_expand(b, row, &n, &f)
    vt_exp_coefficients(dot(w, w), &beta, &delta)
    # dexp_{-w}^T, and the turn of the end's axes
    if joint_floats(b):
        f = mul(quat_matrix(exp_quat(w)), f)
    joint_project_own(b, dexp_so3(w, beta, delta, n), f, row)


cdef void lt_advance_q(const vt_model* m, const vt_real* q, const vt_real* y, vt_real* q2) noexcept nogil:
    # the configuration an increment y leads to
    cdef int i
    cdef const vt_body* b
    cdef Vec3 w, v
    for i in range(m.nbody):
        b = &m.body[i]
        if joint_floats(b):
            joint_expand(b, y, &w, &v)
            joint_moved(b, q, w, exp_quat(w), v, q2)
        else:
            joint_advance(b, q, vt_set1(1.0), y, q2)


cdef void lt_increment(const vt_model* m, const vt_real* q, const vt_real* q2, vt_real* y) noexcept nogil:
    # the inverse of lt_advance_q
    cdef int i
    cdef const vt_body* b
    cdef Vec3 w, v
    cdef Quat turn
    difference(m, q, q2, y)
    for i in range(m.nbody):
        b = &m.body[i]
        if joint_floats(b):
            joint_expand(b, y, &w, &v)
            joint_motion(b, q, q2, &turn, &v)
            joint_project_own(b, w, v, y)


cdef void lt_straighten(const vt_model* m, vt_real* y) noexcept nogil:
    # an increment by body velocities (along the exponential) becomes one of lt_advance_q
    cdef int i
    cdef const vt_body* b
    cdef Vec3 w, v
    cdef Quat turn
    for i in range(m.nbody):
        b = &m.body[i]
        if joint_floats(b):
            joint_expand(b, y, &w, &v)
            exp_se3(w, v, &turn, &v)
            joint_project_own(b, w, v, y)


cdef void lt_turn_velocity(const vt_model* m, const vt_real* d, vt_real* v) noexcept nogil:
    # a floating joint's velocity, given in the body's axes at node 1, in those that an increment d leads to
    cdef int i
    cdef const vt_body* b
    cdef Vec3 w, x, u, l
    for i in range(m.nbody):
        b = &m.body[i]
        if joint_floats(b):
            joint_expand(b, d, &w, &x)
            joint_expand(b, v, &u, &l)
            joint_project_own(b, u, tmul(quat_matrix(exp_quat(w)), l), v)


cdef void lt_end_row(const vt_model* m, const vt_real* y, int first, int end, vt_real* row) noexcept nogil:
    # a row (nv,) by displacements at node 2 of the bodies from first to end becomes one by y
    cdef int i
    for i in range(first, end):
        if joint_multi(&m.body[i]):
            joint_increment_row(&m.body[i], y, row)
