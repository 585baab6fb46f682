# Potentials that a linear-time step evaluates at means of its nodes and solves for, beside those that it evaluates at
# the nodes: the discrete action has -h V(mean) instead of -(h/2) (V(node 1) + V(node 2)). One lane.
#
# The mean of a joint coordinate is (q1 + q2)/2. For a load between two points it is the mean of their distance, l =
# (l1 + l2)/2: half of h V'(l) acts at each node along the line of the points at that node, so a rotation of the whole
# causes no strain. For a spring of length zero the line is undefined where its points meet. It uses d = (d1 + d2)/2, d
# the vector from b to a, and half of -h grad V(d), fixed in the world, acts at each node. These means are symmetric in
# the nodes, and the forces are in equilibrium under translations and rotations of the whole: the map remains
# symplectic, symmetric and momentum-conserving on every joint kind.

cdef struct PairEnds:       # the ends a, b of a load between two points
    Vec3 arm_a              # from the bodies' origins, at node 1
    Vec3 arm_b
    Vec3 d1                 # a - b at node 1
    Vec3 d2                 # at node 2 of a trial
    double l1               # their lengths, if the mean is that of the distance
    double l2
    double slope            # minus the derivative of the force by its mean
    Vec3 f1                 # force on a at node 1
    Vec3 f2                 # at node 2


cdef struct Springs:
    const vt_load* node         # loads that are evaluated at the nodes
    int nodes
    vt_load* joint              # loads of one coordinate that are solved for
    int joints
    vt_load* pair               # loads between two points that are solved for
    int pairs
    int coupled                 # rows by which they couple the joints: three if the length is zero, else one
    PairEnds* ends              # (pairs,)
    double* row                 # (nv,)
    double* wrench              # (nbody, 6)
    double* pull                # (nv,) twice the force at node 1 of the forces in the middle, or NULL
    double* push                # (nv,) and at node 2


cdef inline int pair_rows(const vt_load* e) noexcept nogil:
    return 3 if e.kind == SPRING and e.rest == 0.0 else 1


cdef int springs_make(Springs* x, Memory memory, const vt_load* list, int count, bint averaged, bint written,
                      const vt_model* m) except -1:
    # averaged: springs and attractions are solved for; written: and so are potentials written in Python
    cdef vt_load* node
    cdef int k, kind
    x.node, x.nodes = list, count
    if not averaged:
        return 0
    x.nodes = 0
    x.joint, x.pair = <vt_load*>memory.given(count * sizeof(vt_load)), <vt_load*>memory.given(count * sizeof(vt_load))
    x.node = node = <vt_load*>memory.given(count * sizeof(vt_load))
    for k in range(count):
        kind = list[k].kind
        if kind == JOINT_SPRING or kind == JOINT_TABLE:
            x.joint[x.joints] = list[k]
            x.joints += 1
        elif kind == SPRING or kind == ATTRACTION:
            x.pair[x.pairs] = list[k]
            x.coupled += pair_rows(&list[k])
            x.pairs += 1
        else:
            node[x.nodes] = list[k]
            x.nodes += 1
    if x.pairs:
        x.ends = <PairEnds*>memory.scratch(x.pairs * sizeof(PairEnds))
        x.row, x.wrench = memory.scratch_reals(m.nv), memory.scratch_reals(6 * m.nbody)
    if x.pairs or written:
        x.pull, x.push = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    return 0


cdef double springs_rounding(const Springs* x) noexcept nogil:
    # the magnitude of terms that cancel where forces by tables are small
    cdef const vt_table* t
    cdef double size = 0.0, value, slope, curve
    cdef int k, i
    for k in range(x.joints):
        if x.joint[k].kind == JOINT_TABLE:
            t = &x.joint[k].table
            for i in range(t.count + 1):
                table_one(t, t.x[i], &value, &slope, &curve)
                size = max(size, fabs(slope * t.x[i]), fabs(value))
    return size


# ---- on a coordinate ---------------------------------------------------------------------------------

cdef void spring_step(const Springs* x, const double* q, const double* y, double h, double* force,
                      double* slope) noexcept nogil:
    # force (nv,) += -V'(q + y/2), slope (nv,) += -h dforce/dy
    cdef const vt_load* e
    cdef double value, by_q, curve
    cdef int k
    for k in range(x.joints):
        e = &x.joint[k]
        if e.kind == JOINT_SPRING:
            value, by_q = -e.factor * ((q[e.iq] - e.rest) + 0.5 * y[e.iv]), -e.factor
        else:
            table_one(&e.table, q[e.iq] + 0.5 * y[e.iv], &value, &by_q, &curve)
        force[e.iv] += value
        slope[e.iv] -= 0.5 * h * by_q


# ---- between two points ------------------------------------------------------------------------------

cdef Vec3 end_at(const LinearTimeStep* step, int body, const double* point, Vec3* arm) noexcept nogil:
    # a point of a body at node 1, and its arm from the body's origin
    cdef Vec3 at
    cdef int i = body
    if body < 0:
        arm[0] = zero3()
        return constant3(point)
    at = arm[0] = mul(step.node[body].R, constant3(point))
    while i >= 0:
        at = add(at, step.node[i].t)
        i = step.m.body[i].parent
    return at


cdef void pairs_place(const LinearTimeStep* step, Springs* x) noexcept nogil:
    # their ends at node 1
    cdef PairEnds* s
    cdef int k
    cdef Vec3 a, b
    for k in range(x.pairs):
        s = &x.ends[k]
        a = end_at(step, x.pair[k].body_a, x.pair[k].point_a, &s.arm_a)
        b = end_at(step, x.pair[k].body_b, x.pair[k].point_b, &s.arm_b)
        s.d1 = sub(a, b)
        s.l1 = vt_sqrt(dot(s.d1, s.d1))


cdef inline Vec3 end_move(const LinearTimeStep* step, int body, Vec3 arm) noexcept nogil:
    # from node 1 to node 2
    if body < 0:
        return zero3()
    return add(step.trial[body].move, mul(step.trial[body].M, arm))


cdef inline Vec3 end_arm(const LinearTimeStep* step, int body, Vec3 arm) noexcept nogil:
    # at node 2
    return arm if body < 0 else turned(&step.trial[body], arm)


cdef void pair_trial(const LinearTimeStep* step, const vt_load* e, PairEnds* x) noexcept nogil:
    # d2 and the forces of a trial. Lengths are not subtracted: l2 - l1 = (d2 - d1).(d2 + d1)/(l1 + l2)
    cdef Vec3 move = sub(end_move(step, e.body_a, x.arm_a), end_move(step, e.body_b, x.arm_b))
    cdef double half, mean, force
    x.d2 = add(x.d1, move)
    if pair_rows(e) == 3:
        x.slope = e.factor
        x.f1 = x.f2 = scale(-e.factor, axpy(0.5, move, x.d1))
        return
    x.l2 = vt_sqrt(dot(x.d2, x.d2))
    half = 0.5 * dot(move, add(x.d1, x.d2)) / (x.l1 + x.l2)
    if e.kind == SPRING:
        x.slope = e.factor
        force = -e.factor * ((x.l1 - e.rest) + half)
    else:
        mean = x.l1 + half
        force = -e.factor / (mean * mean)
        x.slope = 2.0 * force / mean
    x.f1, x.f2 = scale(force / x.l1, x.d1), scale(force / x.l2, x.d2)


cdef void pairs_pull(const LinearTimeStep* step, Springs* x) noexcept nogil:
    # the forces of a trial, and pull += their effect at node 1
    cdef int k
    for k in range(x.pairs):
        pair_trial(step, &x.pair[k], &x.ends[k])
    pairs_apply(step, x, step.node, False, x.pull)


cdef void pairs_push(const LinearTimeStep* step, Springs* x, const Node* node2) noexcept nogil:
    # push += their effect at node 2
    pairs_apply(step, x, node2, True, x.push)


cdef void pairs_apply(const LinearTimeStep* step, Springs* x, const Node* node, bint second, double* out) noexcept nogil:
    # out += their generalised forces at a node
    cdef const vt_load* e
    cdef const PairEnds* s
    cdef Solve* work = step.solve
    cdef Vec3 a, b, f
    cdef int k
    if not x.pairs:
        return
    memset(x.wrench, 0, 6 * step.m.nbody * sizeof(double))
    for k in range(x.pairs):
        e, s = &x.pair[k], &x.ends[k]
        a, b, f = s.arm_a, s.arm_b, s.f1
        if second:
            a, b, f = end_arm(step, e.body_a, a), end_arm(step, e.body_b, b), s.f2
        add_to_body(x.wrench, e.body_a, cross(a, f), f)
        add_to_body(x.wrench, e.body_b, cross(f, b), neg(f))
    for k in range(step.m.nbody):
        work[k].n, work[k].f = load3(x.wrench + 6 * k), load3(x.wrench + 6 * k + 3)
    lt_hand_in(step.m, node, work, x.row)
    vt_add_row(step.m.nv, 1.0, x.row, out)


cdef void end_row(const LinearTimeStep* step, int i, Vec3 n, Vec3 f, bint second, double* row) noexcept nogil:
    # row (nv,) += generalised force, at a node, of a wrench about the body's origin
    cdef const vt_body* b
    cdef Vec3 w, v
    cdef int k
    while i >= 0:
        b = &step.m.body[i]
        for k in range(joint_nv(b)):
            joint_column(b, step.node[i].R, k, &w, &v)
            if second:
                w, v = turned(&step.trial[i], w), turned(&step.trial[i], v)
            row[b.iv + k] += dot(w, n) + dot(v, f)
        n = add(n, cross(second_arm(step, i) if second else step.node[i].t, f))
        i = b.parent


cdef void pair_row(const LinearTimeStep* step, const vt_load* e, const PairEnds* x, int j, bint second,
                   double* row) noexcept nogil:
    # row (nv,) += the change of its j-th mean, without the half, by displacements at a node
    cdef Vec3 unit, a = x.arm_a, b = x.arm_b
    if pair_rows(e) == 3:
        unit = vec3(1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
    else:
        unit = scale(1.0 / x.l2, x.d2) if second else scale(1.0 / x.l1, x.d1)
    if second:
        a, b = end_arm(step, e.body_a, a), end_arm(step, e.body_b, b)
    end_row(step, e.body_a, cross(a, unit), unit, second, row)
    end_row(step, e.body_b, cross(unit, b), neg(unit), second, row)


cdef void pairs_couple(const LinearTimeStep* step, const Springs* x, double* C, double* R) noexcept nogil:
    # C, R (coupled, nv) of -dr/dy = J - C^T R: the changes of lengths at node 1, and (h/4) slope times those at node 2, by
    # displacements there
    cdef int k, j, i, n = step.m.nv
    memset(C, 0, x.coupled * n * sizeof(double))
    memset(R, 0, x.coupled * n * sizeof(double))
    for k in range(x.pairs):
        for j in range(pair_rows(&x.pair[k])):
            pair_row(step, &x.pair[k], &x.ends[k], j, False, C)
            pair_row(step, &x.pair[k], &x.ends[k], j, True, R)
            for i in range(n):
                R[i] *= 0.25 * step.h * x.ends[k].slope
            C += n
            R += n


# ---- written in Python -------------------------------------------------------------------------------
#
# V is evaluated at q_m = q1 (+) y/2, halfway between the nodes in the sense of each joint. If a joint rotates by w,
# with z = w/2 and t = tan(|w|/4) w/|w|, a displacement of node 1 or 2 alone moves the middle by (1/2) (1 -+ t^). A
# force Q at q_m acts at the nodes as (1/2) (Q +- t x Q); a force f on a free joint, along which the middle moves on a
# straight line, as (1/2) exp(+-z) f.

cdef void halfway_force(const vt_body* b, const vt_real* half, double sense, vt_real* Q) noexcept nogil:
    # twice the force at node 1 of Q (nv,) at q_m, or with the sense -1 at node 2; half = y/2
    cdef Vec3 z, v, n, f
    cdef Quat D
    if not joint_multi(b):
        return
    joint_expand(b, half, &z, &v)
    joint_expand(b, Q, &n, &f)
    D = exp_quat(scale(sense, z))
    n = axpy(1.0 / D.w, cross(quat_vec(D), n), n)
    joint_project_own(b, n, mul(quat_matrix(D), f), Q)


cdef void halfway_turn(const vt_body* b, const vt_real* half, const vt_real* Q, double size, int width,
                       double* R) noexcept nogil:
    # R += size times the change of halfway_force at node 1 by y, where Q stays: with s the turn of exp(z) by y,
    # dt = (1/2) (s + s x t + t (t.s)) and d(exp(z) f) = s x exp(z) f. R begins at the joint's block of an (nv, nv) matrix
    cdef Vec3 z, v, n, f, t, s, dt, unit
    cdef vt_real beta, delta
    cdef Quat D
    cdef int k, j, first = 3 if joint_floats(b) else 0
    cdef vt_real change[6]
    joint_expand(b, half, &z, &v)
    joint_expand(b, Q, &n, &f)
    D = exp_quat(z)
    t = scale(1.0 / D.w, quat_vec(D))
    f = mul(quat_matrix(D), f)
    vt_exp_coefficients(dot(z, z), &beta, &delta)
    for k in range(3):
        unit = vec3(0.5 if k == 0 else 0.0, 0.5 if k == 1 else 0.0, 0.5 if k == 2 else 0.0)
        s = dexp_so3(z, beta, delta, unit)
        dt = scale(0.5, axpy(dot(t, s), t, add(s, cross(s, t))))
        joint_twist_to(b, cross(dt, n), cross(s, f), change)
        for j in range(b.nv):
            R[j * width + first + k] += size * change[j]
