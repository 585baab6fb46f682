# The derivative of the force Dh^T lam of constraints with respect to the configuration, by body displacements. A column
# of displacements rotates with those before it on the path to the root; a wrench with the points and directions of its
# body.

cdef struct Swept:              # a coordinate's twist, about the point of body a on which the constraint acts
    Vec3 w
    Vec3 u
    int at                      # the coordinate
    int body
    bint moves_a
    bint moves_b


cdef inline int swept_by(const vt_model* m, const Pose* pose, int body, Vec3 about, Swept* to) noexcept nogil:
    # the coordinates that move a body, from the body to the root; their number
    cdef int i = body, k, count = 0
    cdef Vec3 v
    while i >= 0:
        for k in range(joint_nv(&m.body[i])):
            joint_column(&m.body[i], pose[i].R, k, &to[count].w, &v)
            to[count].u = add(v, cross(to[count].w, sub(about, pose[i].o)))
            to[count].at, to[count].body = m.body[i].iv + k, i
            to[count].moves_a = to[count].moves_b = False
            count += 1
        i = m.body[i].parent
    return count


cdef inline bint moves_with(const vt_model* m, int i, int body) noexcept nogil:
    # whether joint i moves a body
    while body > i:
        body = m.body[body].parent
    return body == i


cdef inline vt_real turned_pairing(const Swept* i, const Swept* k, Vec3 n, Vec3 f) noexcept nogil:
    # (ad_{S_i} S_k)^T of a wrench
    return dot(cross(i.w, k.w), n) + dot(sub(cross(i.w, k.u), cross(k.w, i.u)), f)


cdef void body_hold_slopes(const vt_model* m, const vt_constraint* e, const Pose* pose, vt_real lam, Swept* s,
                           vt_real* K) noexcept nogil:
    # K += lam d(row)/dq of a constraint between bodies. With x = a - b and the wrenches about a: POINTS d at a, with the
    # couple d x x where d turns with a, and -d at b; AXES the couples +-(d x x); DISTANCE as POINTS with d = x/|x|
    cdef Mat3 Ra, Rb
    cdef Vec3 arm_a, arm_b, a, b, x, d, na, fa, nb, fb, wa, va, wb, vb, dd, dx, dna, dfa, dnb, dfb
    cdef vt_real length, inverse = vt_set1(0.0)
    cdef int i, k, count, n = m.nv
    cdef const Swept* p
    cdef vt_real sum
    place(pose, e.body_a, e.point_a, &Ra, &arm_a, &a)
    place(pose, e.body_b, e.point_b, &Rb, &arm_b, &b)
    x, d, na, fa, fb = sub(a, b), constant3(e.direction), zero3(), zero3(), zero3()
    if e.kind == AXES:
        d, x = mul(Ra, d), mul(Rb, constant3(e.other))
        na = cross(d, x)
        nb = neg(na)
    else:
        if e.kind == DISTANCE:
            length = vt_sqrt(dot(x, x))
            inverse = vt_set1(1.0) / length
            d = scale(inverse, x)
        elif e.local:
            d = mul(Ra, d)
            na = cross(d, x)
        fa, fb, nb = d, neg(d), cross(x, d)
    count = swept_by(m, pose, e.body_a, a, s)
    for i in range(count):
        s[i].moves_a, s[i].moves_b = True, moves_with(m, s[i].body, e.body_b)
    k = count + swept_by(m, pose, e.body_b, a, s + count)
    i = count
    while i < k:
        if not moves_with(m, s[i].body, e.body_a):
            s[count] = s[i]
            s[count].moves_b = True
            count += 1
        i += 1
    for i in range(count):
        wa = s[i].w if s[i].moves_a else zero3()
        va = s[i].u if s[i].moves_a else zero3()
        wb = s[i].w if s[i].moves_b else zero3()
        # of b, x before a
        vb = sub(s[i].u, cross(s[i].w, sub(a, b))) if s[i].moves_b else zero3()
        dna, dfa, dfb = zero3(), zero3(), zero3()
        if e.kind == AXES:
            dna = add(cross(cross(wa, d), x), cross(d, cross(wb, x)))
            dnb = neg(dna)
        else:
            dx, dd = sub(va, vb), zero3()
            if e.kind == DISTANCE:
                dd = scale(inverse, axpy(-dot(d, dx), d, dx))
            elif e.local:
                dd = cross(wa, d)
                dna = add(cross(dd, x), cross(d, dx))
            dna = add(dna, cross(va, d))
            dfa, dfb = dd, neg(dd)
            dnb = sub(cross(x, dd), cross(vb, d))
        for k in range(count):
            p = &s[k]
            sum = vt_set1(0.0)
            if p.moves_a:
                sum = sum + dot(p.w, dna) + dot(p.u, dfa)
            if p.moves_b:
                sum = sum + dot(p.w, dnb) + dot(p.u, dfb)
            if moves_with(m, s[i].body, p.body):
                if p.moves_a:
                    sum = sum + turned_pairing(&s[i], p, na, fa)
                if p.moves_b:
                    sum = sum + turned_pairing(&s[i], p, nb, fb)
            K[p.at * n + s[i].at] = K[p.at * n + s[i].at] + lam * sum


cdef void constraint_slopes(const vt_model* m, const vt_constraint* list, int count, const vt_real* q, Pose* pose,
                            const vt_real* lam, Swept* s, vt_real* K) noexcept nogil:
    # K (nv, nv) = d(Dh^T lam)/dq, without constraints written in Python, which the caller adds. s: 2 nv of them
    cdef int c, k
    cdef vt_real value, slope, curve
    forward_kinematics(m, q, pose)
    for k in range(m.nv * m.nv):
        K[k] = vt_set1(0.0)
    for c in range(count):
        if list[c].kind == PROFILE:
            table_values(&list[c].table, q[list[c].iq_b], &value, &slope, &curve)
            k = list[c].iv_b * (m.nv + 1)
            K[k] = K[k] - lam[c] * curve
        elif list[c].kind != COUPLING and list[c].kind != USER:
            body_hold_slopes(m, &list[c], pose, lam[c], s, K)
