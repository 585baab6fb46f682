# Potentials that a step of linear-time takes at means of its nodes and solves for, beside those that it takes at the nodes:
# the discrete action gets -h V(mean) instead of -(h/2) (V(node 1) + V(node 2)). One lane.
#
# Of a joint of one coordinate the mean is (q1 + q2)/2. Of a load between two points it is d = (d1 + d2)/2, d_k the vector
# from b to a at node k: with f = -grad V(d), fixed in the world, half of h f acts at each node, through the points as they
# are there. The means are the same seen from both nodes, and turn with the whole: the map stays symplectic, symmetric and
# true to its momentum on every joint kind.

cdef struct PairEnds:       # the ends of a load between two points
    Vec3 arm_a              # from the bodies' origins, at node 1
    Vec3 arm_b
    Vec3 d                  # a - b at node 1
    Vec3 f                  # force on a, in the middle


cdef struct Springs:
    const vt_load* node         # loads that are taken at the nodes
    int nodes
    vt_load* joint              # loads of one coordinate that are solved for
    int joints
    vt_load* pair               # loads between two points that are solved for
    int pairs
    PairEnds* ends              # (pairs,)
    double* rows                # (3, nv)
    double* wrench              # (nbody, 6)
    double* pull                # (nv,) twice what acts at node 1 of the forces in the middle, or NULL
    double* push                # (nv,) and at node 2


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
            x.pairs += 1
        else:
            node[x.nodes] = list[k]
            x.nodes += 1
    if x.pairs:
        x.ends = <PairEnds*>memory.scratch(x.pairs * sizeof(PairEnds))
        x.rows, x.wrench = memory.scratch_reals(3 * m.nv), memory.scratch_reals(6 * m.nbody)
    if x.pairs or written:
        x.pull, x.push = memory.scratch_reals(m.nv), memory.scratch_reals(m.nv)
    return 0


cdef double springs_rounding(const Springs* x) noexcept nogil:
    # the size of terms that cancel in their forces where these are small
    cdef const vt_table* t
    cdef double size = 0.0, value, slope, curve
    cdef int k, i
    for k in range(x.pairs):
        if x.pair[k].kind == SPRING:
            size += fabs(x.pair[k].factor * x.pair[k].rest)
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
    cdef int k
    cdef Vec3 a, b
    for k in range(x.pairs):
        a = end_at(step, x.pair[k].body_a, x.pair[k].point_a, &x.ends[k].arm_a)
        b = end_at(step, x.pair[k].body_b, x.pair[k].point_b, &x.ends[k].arm_b)
        x.ends[k].d = sub(a, b)


cdef inline Vec3 end_move(const LinearTimeStep* step, int body, Vec3 arm) noexcept nogil:
    # from node 1 to node 2
    if body < 0:
        return zero3()
    return add(step.trial[body].move, mul(step.trial[body].M, arm))


cdef inline Vec3 end_arm(const LinearTimeStep* step, int body, Vec3 arm) noexcept nogil:
    # at node 2
    return arm if body < 0 else turned(&step.trial[body], arm)


cdef inline Vec3 pair_mean(const LinearTimeStep* step, const vt_load* e, const PairEnds* x) noexcept nogil:
    return axpy(0.5, sub(end_move(step, e.body_a, x.arm_a), end_move(step, e.body_b, x.arm_b)), x.d)


cdef void pairs_pull(const LinearTimeStep* step, Springs* x) noexcept nogil:
    # the forces of a trial, and pull += what they do at node 1
    cdef int k
    for k in range(x.pairs):
        x.ends[k].f = pair_force(&x.pair[k], pair_mean(step, &x.pair[k], &x.ends[k]), zero3())
    pairs_apply(step, x, step.node, False, x.pull)


cdef void pairs_push(const LinearTimeStep* step, Springs* x, const Node* node2) noexcept nogil:
    # push += what they do at node 2
    pairs_apply(step, x, node2, True, x.push)


cdef void pairs_apply(const LinearTimeStep* step, Springs* x, const Node* node, bint second, double* out) noexcept nogil:
    # out += their generalised forces at a node
    cdef const vt_load* e
    cdef Solve* s = step.solve
    cdef Vec3 a, b, f
    cdef int k
    if not x.pairs:
        return
    memset(x.wrench, 0, 6 * step.m.nbody * sizeof(double))
    for k in range(x.pairs):
        e = &x.pair[k]
        a, b, f = x.ends[k].arm_a, x.ends[k].arm_b, x.ends[k].f
        if second:
            a, b = end_arm(step, e.body_a, a), end_arm(step, e.body_b, b)
        add_to_body(x.wrench, e.body_a, cross(a, f), f)
        add_to_body(x.wrench, e.body_b, cross(f, b), neg(f))
    for k in range(step.m.nbody):
        s[k].n, s[k].f = load3(x.wrench + 6 * k), load3(x.wrench + 6 * k + 3)
    lt_hand_in(step.m, node, s, x.rows)
    vt_add_row(step.m.nv, 1.0, x.rows, out)


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


cdef void pair_rows(const LinearTimeStep* step, const vt_load* e, const PairEnds* x, bint second,
                    double* rows) noexcept nogil:
    # rows (3, nv): the change of d at a node by displacements there
    cdef int j
    cdef Vec3 unit, a = x.arm_a, b = x.arm_b
    if second:
        a, b = end_arm(step, e.body_a, a), end_arm(step, e.body_b, b)
    memset(rows, 0, 3 * step.m.nv * sizeof(double))
    for j in range(3):
        unit = vec3(1.0 if j == 0 else 0.0, 1.0 if j == 1 else 0.0, 1.0 if j == 2 else 0.0)
        end_row(step, e.body_a, cross(a, unit), unit, second, rows + j * step.m.nv)
        end_row(step, e.body_b, cross(unit, b), neg(unit), second, rows + j * step.m.nv)


cdef void pairs_couple(const LinearTimeStep* step, Springs* x, double* C, double* R) noexcept nogil:
    # C, R (3 pairs, nv) of -dr/dy = J - C^T R, R by displacements at node 2: where K = -df/dd they are
    # dd/dq at node 1, and (h/4) K dd/dq at node 2
    cdef double K[9]
    cdef int k, n = 3 * step.m.nv
    memset(R, 0, x.pairs * n * sizeof(double))
    for k in range(x.pairs):
        pair_rows(step, &x.pair[k], &x.ends[k], False, C + k * n)
        pair_rows(step, &x.pair[k], &x.ends[k], True, x.rows)
        pair_tangent(&x.pair[k], pair_mean(step, &x.pair[k], &x.ends[k]), zero3(), 0.25 * step.h, 0.0, K)
        add_changes(step.m, K, x.rows, R + k * n)


# ---- written in Python -------------------------------------------------------------------------------
#
# V is taken at q_m = q1 (+) y/2, halfway between the nodes in each joint's sense. Where a joint turns by w, with z = w/2 and
# t = tan(|w|/4) w/|w|, a displacement of node 1 or 2 alone moves the middle by (1/2) (1 -+ t^). A force Q at q_m acts at
# them as (1/2) (Q +- t x Q); a force f on a free joint, along which the middle moves straight, as (1/2) exp(+-z) f.

cdef void halfway_force(const vt_body* b, const vt_real* half, double sense, vt_real* Q) noexcept nogil:
    # twice what Q (nv,) at q_m is at node 1, or with the sense -1 at node 2; half = y/2
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
