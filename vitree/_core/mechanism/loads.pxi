# Loads: forces that act on a mechanism beside the gravity, damping and joint forces of every model; their tangents and
# potentials. One lane.

cdef enum:              # which loads to apply
    RESTING = 1         # those that depend on q and inputs
    RATES = 2           # those that depend on velocities as well


cdef struct BodiesAt:   # positions and velocities of the bodies, and the inputs: the arguments of loads and constraints
    const vt_model* m
    const double* q
    const double* v
    const double* u
    const Pose* pose
    const double* twist     # (nbody, 6), angular velocity and that of the origin


cdef inline void twist_of(const vt_model* m, int i, const double* v, const Pose* pose, double* twist) noexcept nogil:
    # twist (w, velocity of the origin) of body i from its parent's
    cdef int up = m.body[i].parent
    cdef Vec3 w = zero3(), u = zero3()
    if up >= 0:
        carry(load3(twist + 6 * up), load3(twist + 6 * up + 3), pose[i].t, &w, &u)
    add_joint_velocity(&m.body[i], pose[i].R, v, &w, &u)
    store3(twist + 6 * i, w)
    store3(twist + 6 * i + 3, u)


cdef inline void point_of(const Pose* pose, const double* twist, int body, const double* point,
                          Vec3* arm, Vec3* at, Vec3* rate) noexcept nogil:
    # vector from the body's origin to a point of it, the point in the world and its velocity
    if body < 0:
        at[0] = constant3(point)
        arm[0] = zero3()
        rate[0] = zero3()
        return
    arm[0] = mul(pose[body].R, constant3(point))
    at[0] = add(pose[body].o, arm[0])
    rate[0] = add(load3(twist + 6 * body + 3), cross(load3(twist + 6 * body), arm[0]))


cdef inline void add_to_body(double* wrench, int body, Vec3 n, Vec3 f) noexcept nogil:
    if body >= 0:
        store3(wrench + 6 * body, add(load3(wrench + 6 * body), n))
        store3(wrench + 6 * body + 3, add(load3(wrench + 6 * body + 3), f))


cdef inline void wrench_of(const vt_load* e, const double* u, const Pose* pose, Vec3* n, Vec3* f) noexcept nogil:
    # torque about the body's origin and force, world axes
    cdef double size = u[e.input] if e.input >= 0 else 1.0
    n[0] = scale(size, constant3(e.wrench))
    f[0] = scale(size, constant3(e.wrench + 3))
    if e.axes == BODY:
        n[0] = mul(pose[e.body_a].R, n[0])
        f[0] = mul(pose[e.body_a].R, f[0])
    if e.axes == SPATIAL:
        n[0] = sub(n[0], cross(pose[e.body_a].o, f[0]))
    else:
        n[0] = add(n[0], cross(mul(pose[e.body_a].R, constant3(e.point_a)), f[0]))


cdef Vec3 pair_force(const vt_load* e, Vec3 d, Vec3 rate) noexcept nogil:
    # force on point a of a load between two points, d = a - b
    cdef double length = vt_sqrt(dot(d, d))
    if e.kind == SPRING:
        if e.rest == 0.0:
            return scale(-e.factor, d)
        return scale(-e.factor * (1.0 - e.rest / length), d)
    if e.kind == DAMPER:
        return scale(-e.factor * dot(rate, d) / (length * length), d)
    return scale(-e.factor / (length * length * length), d)


cdef void pair_tangent(const vt_load* e, Vec3 d, Vec3 rate, double by_d, double by_rate, double* K) noexcept nogil:
    # K (3, 3) = -(by_d dF/dd + by_rate dF/drate) of pair_force
    cdef double length = vt_sqrt(dot(d, d)), along, across, speed
    cdef Vec3 n, side
    cdef double x[3]
    cdef double s[3]
    cdef int i, j
    if e.kind == SPRING and e.rest == 0.0:
        for i in range(3):
            for j in range(3):
                K[3 * i + j] = by_d * e.factor if i == j else 0.0
        return
    n = scale(1.0 / length, d)
    store3(x, n)
    memset(s, 0, sizeof(s))
    if e.kind == SPRING:
        along, across = by_d * e.factor, by_d * e.factor * (1.0 - e.rest / length)
    elif e.kind == DAMPER:
        speed = dot(rate, n)
        along, across = by_rate * e.factor, by_d * e.factor * speed / length
        side = scale(by_d * e.factor / length, sub(rate, scale(speed, n)))
        store3(s, side)
    else:
        across = by_d * e.factor / (length * length * length)
        along = -2.0 * across
    for i in range(3):
        for j in range(3):
            K[3 * i + j] = (across if i == j else 0.0) + (along - across) * x[i] * x[j] + x[i] * s[j]


cdef struct PairAt:     # the ends a, b of a load between two points: arms from the bodies' origins, places, velocities
    Vec3 arm_a
    Vec3 arm_b
    Vec3 a
    Vec3 b
    Vec3 rate_a
    Vec3 rate_b


cdef inline PairAt pair_at(const BodiesAt* at, const vt_load* e) noexcept nogil:
    cdef PairAt x
    point_of(at.pose, at.twist, e.body_a, e.point_a, &x.arm_a, &x.a, &x.rate_a)
    point_of(at.pose, at.twist, e.body_b, e.point_b, &x.arm_b, &x.b, &x.rate_b)
    return x


cdef inline Vec3 ball_turn(const vt_load* e, const double* q, const double* u) noexcept nogil:
    # the rotation vector from the reference of a ball spring to the joint's rotation, in the moved frame
    cdef Quat goal = quat(load3(e.wrench), e.wrench[3])
    cdef double g
    if e.input >= 0:
        goal = exp_quat(vec3(u[e.inputs[0]], u[e.inputs[1]], u[e.inputs[2]]))
    goal = quat(neg(quat_vec(goal)), goal.w)
    return log_quat(quat_short(quat_mul(goal, quat(load3(q + e.iq), q[e.iq + 3]))), &g)


cdef inline double ball_stretch(const vt_load* e, Vec3 w) noexcept nogil:
    # the torque of a ball spring over k w: less than one beyond the angle at which it has its largest size
    cdef double size = e.factor * vt_sqrt(dot(w, w))
    return e.rest / size if size > e.rest else 1.0


cdef void ball_tangents(const BodiesAt* at, const vt_load* e, double by_q, double* rows, double* changes) noexcept nogil:
    # of the torque -k w by rotations in the moved frame, dw = dlog_-w, as load_tangents has them; of its largest size it
    # changes across w alone
    cdef int n = at.m.nv, j
    cdef Vec3 w = ball_turn(e, at.q, at.u), d
    cdef double part = ball_stretch(e, w), size = dot(w, w)
    memset(rows, 0, 3 * n * sizeof(double))
    memset(changes, 0, 3 * n * sizeof(double))
    for j in range(3):
        rows[j * n + e.iv + j] = 1.0
        d = scale(by_q * e.factor * part, dlog(neg(w), vec3(1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0,
                                                            1.0 if j == 2 else 0.0)))
        if part < 1.0:
            d = axpy(-dot(w, d) / size, w, d)
        changes[e.iv + j], changes[n + e.iv + j], changes[2 * n + e.iv + j] = d.x, d.y, d.z


cdef void apply_loads(const BodiesAt* at, const vt_load* list, int count, int which, double* wrench,
                      double* tau) noexcept nogil:
    # add the loads to wrench (nbody, 6), on each body about its origin in world axes, and to tau (nv,)
    cdef int k
    cdef const vt_load* e
    cdef PairAt x
    cdef Vec3 n, f
    cdef double value, slope, curve
    for k in range(count):
        e = &list[k]
        if not which & (RATES if e.kind == DAMPER else RESTING):
            continue
        if e.kind == WRENCH or e.kind == UNIFORM:
            wrench_of(e, at.u, at.pose, &n, &f)
            add_to_body(wrench, e.body_a, n, f)
        elif e.kind == JOINT_FORCE:
            tau[e.iv] += e.factor * (at.u[e.input] if e.input >= 0 else 1.0)
        elif e.kind == JOINT_SPRING:
            tau[e.iv] -= e.factor * (at.q[e.iq] - e.rest)
        elif e.kind == JOINT_TABLE:
            table_one(&e.table, at.q[e.iq], &value, &slope, &curve)
            tau[e.iv] += value
        elif e.kind == BALL_SPRING:
            n = ball_turn(e, at.q, at.u)
            store3(tau + e.iv, axpy(-e.factor * ball_stretch(e, n), n, load3(tau + e.iv)))
        else:
            x = pair_at(at, e)
            f = pair_force(e, sub(x.a, x.b), sub(x.rate_a, x.rate_b))
            add_to_body(wrench, e.body_a, cross(x.arm_a, f), f)
            add_to_body(wrench, e.body_b, cross(f, x.arm_b), neg(f))


# ---- tangents -----------------------------------------------------------------------------------

cdef inline void add_turning(double* turning, int body, Vec3 arm, Vec3 n, Vec3 f) noexcept nogil:
    # a torque n and a force f at a point of the body, both fixed in the world: their rotation in body axes
    cdef double* to = turning + 27 * body
    if body >= 0:
        add_matrix(to, add3(hat(n), cross_mat(arm, hat(f))))
        add_matrix(to + 18, hat(f))


cdef inline void add_matrix(double* to, Mat3 A) noexcept nogil:
    store3(to, add(load3(to), A.x))
    store3(to + 3, add(load3(to + 3), A.y))
    store3(to + 6, add(load3(to + 6), A.z))


cdef void add_rate_changes(const BodiesAt* at, int body, Vec3 point, Vec3 rate, Vec3 n, double size,
                           double* changes) noexcept nogil:
    # changes (3, nv) += size n (n . D), D the change by q of the velocity of a point of a body at constant v. The
    # subtree of a joint rotates with it, and so does its velocity relative to the parent of the joint; and the point
    # moves with the parent
    cdef const vt_model* m = at.m
    cdef const Pose* pose = at.pose
    cdef int i = body, k, c
    cdef const vt_body* b
    cdef Vec3 w, v, wp, vp
    cdef double x
    cdef double along[3]
    store3(along, n)
    while i >= 0:
        b = &m.body[i]
        wp = vp = zero3()
        if b.parent >= 0:
            carry(load3(at.twist + 6 * b.parent), load3(at.twist + 6 * b.parent + 3),
                  sub(point, pose[b.parent].o), &wp, &vp)
        for c in range(joint_nv(b)):
            joint_column(b, pose[i].R, c, &w, &v)
            v = add(v, cross(w, sub(point, pose[i].o)))
            x = size * dot(n, add(cross(w, sub(rate, vp)), cross(wp, v)))
            for k in range(3):
                changes[k * m.nv + b.iv + c] += along[k] * x
        i = b.parent


cdef inline void add_changes(const vt_model* m, const double* K, const double* rows, double* changes) noexcept nogil:
    # changes (3, nv) += K (3, 3) rows (3, nv)
    cdef int i, j
    for j in range(3):
        for i in range(m.nv):
            changes[j * m.nv + i] += (K[3 * j] * rows[i] + K[3 * j + 1] * rows[m.nv + i]
                                      + K[3 * j + 2] * rows[2 * m.nv + i])


cdef inline void wrench_tangent(const BodiesAt* at, const vt_load* e, double* turning) noexcept nogil:
    # of a wrench or a force fixed in the world: its rotation in body axes
    cdef Vec3 arm, n, f
    if e.axes == BODY:
        return
    wrench_of(e, at.u, at.pose, &n, &f)
    if e.axes == HYBRID:
        arm = mul(at.pose[e.body_a].R, constant3(e.point_a))
        add_turning(turning, e.body_a, arm, sub(n, cross(arm, f)), f)
    else:
        # the arm from the body's origin to the world's changes with the origin
        add_turning(turning, e.body_a, zero3(), n, f)
        add_matrix(turning + 27 * e.body_a + 9, hat(f))


cdef void pair_tangents(const BodiesAt* at, const vt_load* e, double by_q, double* turning, double* rows,
                        double* changes) noexcept nogil:
    # of a load between two points, as load_tangents has them
    cdef const vt_model* m = at.m
    cdef int j
    cdef double K[9]
    cdef PairAt x = pair_at(at, e)
    cdef Vec3 d = sub(x.a, x.b), rate = sub(x.rate_a, x.rate_b), unit
    cdef Vec3 f = pair_force(e, d, rate)
    # the force rotates relative to the bodies
    add_turning(turning, e.body_a, x.arm_a, zero3(), f)
    add_turning(turning, e.body_b, x.arm_b, zero3(), neg(f))

    # rows: of d by q, which are the generalised forces of unit forces between the points
    memset(rows, 0, 3 * m.nv * sizeof(double))
    for j in range(3):
        unit = vec3(1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        add_wrench_row(m, at.pose, e.body_a, cross(x.arm_a, unit), unit, rows + j * m.nv)
        add_wrench_row(m, at.pose, e.body_b, cross(unit, x.arm_b), neg(unit), rows + j * m.nv)

    # changes: of the force by q, through d and through the change of its rate
    memset(changes, 0, 3 * m.nv * sizeof(double))
    pair_tangent(e, d, rate, by_q, 0.0, K)
    add_changes(m, K, rows, changes)
    if e.kind == DAMPER:
        unit = scale(1.0 / vt_sqrt(dot(d, d)), d)
        add_rate_changes(at, e.body_a, x.a, x.rate_a, unit, by_q * e.factor, changes)
        add_rate_changes(at, e.body_b, x.b, x.rate_b, unit, -by_q * e.factor, changes)


cdef void load_tangents(const BodiesAt* at, const vt_load* list, int count, double by_q, double* turning,
                        double* stiffness, double* rows, double* changes) noexcept nogil:
    # derivatives of the loads by q. turning (nbody, 27) and stiffness (nv,) are as mid_factor takes them; each load
    # between two points yields three rows (3, nv), the change of d = a - b by q, and three of changes (3, nv) = -by_q
    # dF/dq of its force
    cdef const vt_model* m = at.m
    cdef int k
    cdef const vt_load* e
    cdef double value, slope, curve
    memset(turning, 0, 27 * m.nbody * sizeof(double))
    memset(stiffness, 0, m.nv * sizeof(double))
    for k in range(count):
        e = &list[k]
        if e.kind == WRENCH or e.kind == UNIFORM:
            wrench_tangent(at, e, turning)
        elif e.kind == JOINT_SPRING:
            stiffness[e.iv] += e.factor
        elif e.kind == JOINT_TABLE:
            table_one(&e.table, at.q[e.iq], &value, &slope, &curve)
            stiffness[e.iv] -= slope
        elif e.kind != JOINT_FORCE:
            if e.kind == BALL_SPRING:
                ball_tangents(at, e, by_q, rows, changes)
            else:
                pair_tangents(at, e, by_q, turning, rows, changes)
            rows += 3 * m.nv
            changes += 3 * m.nv


cdef void load_rate_tangents(const BodiesAt* at, const vt_load* list, int count, double by_rate, const double* rows,
                             double* changes) noexcept nogil:
    # changes -= by_rate dF/dv of each load between two points, as load_tangents orders them
    cdef int k
    cdef double K[9]
    cdef PairAt x
    for k in range(count):
        if list[k].kind == DAMPER:
            x = pair_at(at, &list[k])
            pair_tangent(&list[k], sub(x.a, x.b), sub(x.rate_a, x.rate_b), 0.0, by_rate, K)
            add_changes(at.m, K, rows, changes)
        if list[k].kind == SPRING or list[k].kind == DAMPER or list[k].kind == ATTRACTION or list[k].kind == BALL_SPRING:
            rows += 3 * at.m.nv
            changes += 3 * at.m.nv


cdef void add_geometric(const vt_model* m, const Pose* pose, const double* wrench, const double* turning, double size,
                        Twist* column, double* J) noexcept nogil:
    # J (nv, nv) += size dQ/dq, Q = sum of S^T (wrench on each body), for wrenches that change with the body as in
    # `turning`, and columns S that change with q: by a displacement along S_j, -ad_{S_j} S_i of the joints upstream of
    # that of j. column: memory for nv
    cdef int k, i, j, c, e
    cdef const vt_body* b
    cdef const vt_body* own
    cdef Vec3 n, f, arm, w, v, dn, df
    cdef Twist* Si
    cdef Twist* Sj
    cdef double x
    for k in range(m.nbody):
        n, f = load3(wrench + 6 * k), load3(wrench + 6 * k + 3)
        if dot(n, n) + dot(f, f) == 0.0:
            continue
        # the path's columns S about this body's origin
        arm = zero3()
        i = k
        while i >= 0:
            b = &m.body[i]
            for c in range(joint_nv(b)):
                joint_column(b, pose[i].R, c, &w, &v)
                column[b.iv + c].w = w
                column[b.iv + c].v = add(v, cross(w, arm))
            arm = add(arm, pose[i].t)
            i = b.parent
        # S_i.(change of the wrench along S_j) - (ad_{S_j} S_i).(wrench)
        j = k
        while j >= 0:
            own = &m.body[j]
            for e in range(joint_nv(own)):
                Sj = &column[own.iv + e]
                dn = add(mul(load33(turning + 27 * k), Sj.w), mul(load33(turning + 27 * k + 9), Sj.v))
                df = mul(load33(turning + 27 * k + 18), Sj.w)
                i = k
                while i >= 0:
                    b = &m.body[i]
                    for c in range(joint_nv(b)):
                        Si = &column[b.iv + c]
                        x = dot(Si.w, dn) + dot(Si.v, df)
                        if i < j:
                            x -= dot(cross(Sj.w, Si.w), n) + dot(add(cross(Sj.w, Si.v), cross(Sj.v, Si.w)), f)
                        J[(b.iv + c) * m.nv + own.iv + e] += size * x
                    i = b.parent
            j = own.parent


cdef double load_potential(const vt_load* list, int count, const double* q, const Pose* pose,
                           const double* zeros) noexcept nogil:
    # zeros: a twist of each body
    cdef int k
    cdef const vt_load* e
    cdef Vec3 arm, a, b, rate
    cdef double x, sum = 0.0
    for k in range(count):
        e = &list[k]
        if e.kind == JOINT_SPRING:
            sum += 0.5 * e.factor * (q[e.iq] - e.rest) * (q[e.iq] - e.rest)
        elif e.kind == JOINT_TABLE:
            sum -= table_integral(&e.table, q[e.iq])
        elif e.kind == BALL_SPRING and e.input < 0:
            a = ball_turn(e, q, NULL)
            # beyond the angle of the largest torque it is linear in the angle
            x = ball_stretch(e, a)
            sum += (1.0 - 0.5 * x) * x * e.factor * dot(a, a)
        elif e.kind == UNIFORM or e.kind == SPRING or e.kind == ATTRACTION:
            point_of(pose, zeros, e.body_a, e.point_a, &arm, &a, &rate)
            if e.kind == UNIFORM:
                sum -= dot(constant3(e.wrench + 3), a)
                continue
            point_of(pose, zeros, e.body_b, e.point_b, &arm, &b, &rate)
            x = vt_sqrt(dot(sub(a, b), sub(a, b)))
            sum += 0.5 * e.factor * (x - e.rest) * (x - e.rest) if e.kind == SPRING else -e.factor / x
    return sum


# ---- second derivatives of constraints ------------------------------------------------------------

cdef struct Moving:     # a vector and its time derivatives
    Vec3 x
    Vec3 dx
    Vec3 ddx


cdef void bias_accelerations(const BodiesAt* at, double* bias) noexcept nogil:
    # bias (nbody, 6): angular acceleration and that of the origin for zero joint accelerations,
    #     dw = dw_P + w_P x u,  a = a_P + dw_P x t + w_P x (w_P x t) + what the joint's sliding adds
    cdef int i, k
    cdef const vt_body* b
    cdef Vec3 wp, w, dw, a, turn, slide, x, y, t
    for i in range(at.m.nbody):
        b = &at.m.body[i]
        t = at.pose[i].t
        w = load3(at.twist + 6 * i)
        if b.parent >= 0:
            wp = load3(at.twist + 6 * b.parent)
            dw = load3(bias + 6 * b.parent)
            a = add(load3(bias + 6 * b.parent + 3), add(cross(dw, t), cross(wp, cross(wp, t))))
        else:
            wp = dw = a = zero3()
        # the joint's own turning and sliding velocity
        turn = sub(w, wp)
        slide = zero3()
        for k in range(joint_nv(b)):
            joint_column(b, at.pose[i].R, k, &x, &y)
            slide = axpy(at.v[b.iv + k], y, slide)
        store3(bias + 6 * i, add(dw, cross(wp, turn)))
        store3(bias + 6 * i + 3, add(a, joint_coriolis(b, wp, w, slide)))


cdef double constraint_acceleration(const BodiesAt* at, const double* bias, const vt_constraint* e) noexcept nogil:
    # D2h(v, v) of one constraint
    cdef Moving x, y, a, b
    cdef double length, speed, value, slope, curve
    if e.kind == COUPLING or e.kind == USER:
        return 0.0
    if e.kind == PROFILE:
        table_one(&e.table, at.q[e.iq_b], &value, &slope, &curve)
        return -curve * at.v[e.iv_b] * at.v[e.iv_b]
    if e.kind == AXES:
        # (x.y)'' = x''.y + 2 x'.y' + x.y''
        x = moving(at, bias, e.body_a, e.direction)
        y = moving(at, bias, e.body_b, e.other)
        return dot(x.ddx, y.x) + 2.0 * dot(x.dx, y.dx) + dot(x.x, y.ddx)
    a = travelling(at, bias, e.body_a, e.point_a)
    b = travelling(at, bias, e.body_b, e.point_b)
    x.x, x.dx, x.ddx = sub(a.x, b.x), sub(a.dx, b.dx), sub(a.ddx, b.ddx)
    if e.kind == DISTANCE:
        # |x|'' = (x.x'' + x'.x' - |x|'^2)/|x|
        length = vt_sqrt(dot(x.x, x.x))
        speed = dot(x.x, x.dx) / length
        return (dot(x.x, x.ddx) + dot(x.dx, x.dx) - speed * speed) / length
    if e.local:
        y = moving(at, bias, e.body_a, e.direction)
        return dot(y.ddx, x.x) + 2.0 * dot(y.dx, x.dx) + dot(y.x, x.ddx)
    return dot(constant3(e.direction), x.ddx)


cdef void constraint_accelerations(const BodiesAt* at, const vt_constraint* list, int count, double* bias,
                                   double* out) noexcept nogil:
    # out (count,): the second time derivatives of the constraints for zero joint accelerations, D2h(v, v). bias: memory
    # for (nbody, 6)
    cdef int c
    bias_accelerations(at, bias)
    for c in range(count):
        out[c] = constraint_acceleration(at, bias, &list[c])


cdef inline Moving moving(const BodiesAt* at, const double* bias, int body, const double* axis) noexcept nogil:
    # a direction fixed in a body: x' = w x x, x'' = dw x x + w x x'
    cdef Moving r
    cdef Vec3 w
    if body < 0:
        r.x = constant3(axis)
        r.dx = r.ddx = zero3()
        return r
    w = load3(at.twist + 6 * body)
    r.x = mul(at.pose[body].R, constant3(axis))
    r.dx = cross(w, r.x)
    r.ddx = add(cross(load3(bias + 6 * body), r.x), cross(w, r.dx))
    return r


cdef inline Moving travelling(const BodiesAt* at, const double* bias, int body, const double* point) noexcept nogil:
    # a point of a body: its arm, and the origin's own motion
    cdef Moving r = moving(at, bias, body, point)
    if body >= 0:
        r.x = add(r.x, at.pose[body].o)
        r.dx = add(r.dx, load3(at.twist + 6 * body + 3))
        r.ddx = add(r.ddx, load3(bias + 6 * body + 3))
    return r


def load_potentials(CoreModel model, LoadList list, const double[:, ::1] q):
    """Potential energy of the loads at rows of configurations, (n,) [J]."""
    cdef const vt_model* m = &model.m
    cdef Py_ssize_t row
    cdef Scratch scratch = Scratch(m.nbody * (sizeof(Pose) + 6 * sizeof(double)))
    cdef Pose* pose = <Pose*>scratch.take(m.nbody * sizeof(Pose))
    cdef double* zeros = <double*>scratch.take(6 * m.nbody * sizeof(double))
    out = np.empty(q.shape[0])
    cdef double[::1] view = out
    require_size(q.shape[1], m.nq, "columns of q")
    for row in range(q.shape[0]):
        PyErr_CheckSignals()
        forward_kinematics(m, &q[row, 0], pose)
        view[row] = load_potential(list.list, list.count, &q[row, 0], pose, zeros)
    return out


def load_derivatives(CoreModel model, LoadList list, const double[:, ::1] q, const double[:, ::1] v,
                     const double[:, ::1] u):
    """Forces (n, nv) of loads at n states, their derivatives by displacements of q and by v, (n, nv, nv) each, and by the
    inputs u, (n, nv, nu): the change by a unit, which is the derivative where a load is linear in them."""
    cdef const vt_model* m = &model.m
    cdef BodiesAt at
    cdef Py_ssize_t rows = q.shape[0], row
    cdef int n = m.nv, nu = <int>u.shape[1], k, i, j
    cdef Scratch scratch = Scratch(m.nbody * (sizeof(Pose) + 39 * sizeof(double)) + n * sizeof(Twist)
                                   + (2 * n + nu + 9 * n * list.pairs) * sizeof(double) + 640)
    cdef Pose* pose = <Pose*>scratch.take(m.nbody * sizeof(Pose))
    cdef Twist* column = <Twist*>scratch.take(n * sizeof(Twist))
    cdef double* twist = <double*>scratch.take(6 * m.nbody * sizeof(double))
    cdef double* wrench = <double*>scratch.take(6 * m.nbody * sizeof(double))
    cdef double* turning = <double*>scratch.take(27 * m.nbody * sizeof(double))
    cdef double* stiffness = <double*>scratch.take(n * sizeof(double))
    cdef double* changes = <double*>scratch.take((3 * n * list.pairs + 1) * sizeof(double))
    cdef double* rates = <double*>scratch.take((3 * n * list.pairs + 1) * sizeof(double))
    cdef double* C = <double*>scratch.take((3 * n * list.pairs + 1) * sizeof(double))
    cdef double* more = <double*>scratch.take(n * sizeof(double) + 8)
    cdef double* inputs = <double*>scratch.take(nu * sizeof(double) + 8)
    force, by_q, by_v, by_u = np.zeros((rows, n)), np.zeros((rows, n, n)), np.zeros((rows, n, n)), np.zeros((rows, n, nu))
    cdef double[:, ::1] f = force
    cdef double[:, :, ::1] J = by_q
    cdef double[:, :, ::1] D = by_v
    cdef double[:, :, ::1] U = by_u
    if n == 0:
        return force, by_q, by_v, by_u
    require_size(q.shape[1], m.nq, "columns of q")
    require_shape(v, (rows, n))
    require_size(u.shape[0], rows, "rows of u")
    for k in range(list.count):
        i = max(list.list[k].input, list.list[k].inputs[0], list.list[k].inputs[1], list.list[k].inputs[2])
        if i >= nu:
            raise ValueError(f"input {i} of {nu}")
    at.m, at.pose, at.twist = m, pose, twist
    for row in range(rows):
        memset(scratch.raw, 0, scratch.next - <char*>scratch.raw)
        forward_kinematics(m, &q[row, 0], pose)
        for i in range(m.nbody):
            twist_of(m, i, &v[row, 0], pose, twist)
        if nu:
            memcpy(inputs, &u[row, 0], nu * sizeof(double))
        at.q, at.v, at.u = &q[row, 0], &v[row, 0], inputs if nu else NULL
        apply_loads(&at, list.list, list.count, RESTING | RATES, wrench, &f[row, 0])
        for i in range(m.nbody):
            add_wrench_row(m, pose, i, load3(wrench + 6 * i), load3(wrench + 6 * i + 3), &f[row, 0])
        load_tangents(&at, list.list, list.count, 1.0, turning, stiffness, C, changes)
        load_rate_tangents(&at, list.list, list.count, 1.0, C, rates)
        add_geometric(m, pose, wrench, turning, 1.0, column, &J[row, 0, 0])
        for i in range(n):
            J[row, i, i] -= stiffness[i]
        for k in range(3 * list.pairs):
            for i in range(n):
                for j in range(n):
                    J[row, i, j] -= C[k * n + i] * changes[k * n + j]
                    D[row, i, j] -= C[k * n + i] * rates[k * n + j]
        for j in range(nu):
            inputs[j] += 1.0
            memset(more, 0, n * sizeof(double))
            memset(wrench, 0, 6 * m.nbody * sizeof(double))
            apply_loads(&at, list.list, list.count, RESTING | RATES, wrench, more)
            for i in range(m.nbody):
                add_wrench_row(m, pose, i, load3(wrench + 6 * i), load3(wrench + 6 * i + 3), more)
            for i in range(n):
                U[row, i, j] = more[i] - f[row, i]
            inputs[j] = u[row, j]
    return force, by_q, by_v, by_u


def joint_maps(CoreModel model, const double[:, ::1] y):
    """The matrices dlog_y (n, nv, nv) of the joints' motions y (n, nv); ones on joints of one coordinate."""
    cdef const vt_model* m = &model.m
    cdef const vt_body* b
    cdef Py_ssize_t row
    cdef double unit[6]
    cdef double column[6]
    cdef Vec3 w, l, x, v
    cdef int i, j, k
    out = np.zeros((y.shape[0], m.nv, m.nv))
    cdef double[:, :, ::1] E = out
    require_size(y.shape[1], m.nv, "columns of y")
    for row in range(y.shape[0]):
        for i in range(m.nbody):
            b = &m.body[i]
            if not joint_multi(b):
                E[row, b.iv, b.iv] = 1.0
                continue
            for k in range(b.nv):
                memset(unit, 0, sizeof(unit))
                unit[k] = 1.0
                if b.kind == BALL:
                    store3(column, dlog(load3(&y[row, b.iv]), load3(unit)))
                else:
                    w, l = load3(&y[row, b.iv + 3]), load3(&y[row, b.iv])
                    dlog_se3(w, l, load3(unit + 3), load3(unit), &x, &v)
                    store3(column, v)
                    store3(column + 3, x)
                for j in range(b.nv):
                    E[row, b.iv + j, b.iv + k] = column[j]
    return out


def joint_slopes(CoreModel model, DriveList drives, const double[::1] q, const double[::1] v, const double[::1] u):
    """Slopes (2, nv) of forces within joints, by coordinates and by rates: damping, friction and drives."""
    cdef const vt_model* m = &model.m
    cdef const vt_drive* d
    cdef DriveAt at
    cdef int k
    slopes = np.zeros((2, m.nv))
    cdef double[:, ::1] out = slopes
    require_size(q.shape[0], m.nq, "entries of q")
    require_size(v.shape[0], m.nv, "entries of v")
    for k in range(m.nv):
        out[1, k] = -m.damping[k]
        if m.friction[k] != 0.0:
            out[1, k] -= friction_slope(m, k, v[k])
    for k in range(drives.count):
        d = &drives.list[k]
        if d.target >= u.shape[0] or d.rate >= u.shape[0]:
            raise ValueError(f"an input of a drive, of {u.shape[0]}")
        at = drive_at(d, q[d.iq], v[d.iv], &u[0] if u.shape[0] else NULL)
        out[0, d.iv] -= at.by_position
        out[1, d.iv] -= at.by_rate
    return slopes
