# One case per joint kind: pose, retraction and its inverse. Everything else of a one-coordinate
# joint follows from its axis being local z.

cdef inline Mat3 constant_rotation(const double* E) noexcept nogil:
    cdef Mat3 r
    r.x = constant3(E)
    r.y = constant3(E + 3)
    r.z = constant3(E + 6)
    return r


cdef inline Mat3 turned_z(Mat3 R, vt_real sine, vt_real cosine) noexcept nogil:
    # R Rz(angle)
    cdef Mat3 r
    r.x = axpy(sine, R.y, scale(cosine, R.x))
    r.y = sub(scale(cosine, R.y), scale(sine, R.x))
    r.z = R.z
    return r


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


cdef inline void joint_integrate(const vt_body* b, const vt_real* q, const vt_real* d,
                                 vt_real* q2) noexcept nogil:
    # q2 = q (+) d; d is a body displacement
    joint_advance(b, q, vt_set1(1.0), d, q2)


cdef inline void joint_advance(const vt_body* b, const vt_real* q, vt_real share, const vt_real* d,
                               vt_real* q2) noexcept nogil:
    # q2 = q (+) share d
    cdef Quat turn
    cdef Vec3 shift
    if b.kind == BALL:
        turn = exp_quat(scale(share, load3(d + b.iv)))
        store_quat(q2 + b.iq, quat_normalised(quat_mul(load_quat(q + b.iq), turn)))
    elif b.kind == FREE:
        exp_se3(scale(share, load3(d + b.iv + 3)), scale(share, load3(d + b.iv)), &turn, &shift)
        shift = mul(quat_matrix(load_quat(q + b.iq + 3)), shift)
        store3(q2 + b.iq, add(load3(q + b.iq), shift))
        store_quat(q2 + b.iq + 3, quat_normalised(quat_mul(load_quat(q + b.iq + 3), turn)))
    else:
        q2[b.iq] = q[b.iq] + share * d[b.iv]


cdef inline Quat quat_between(Quat a, Quat b) noexcept nogil:
    # a^-1 b
    return quat_mul(quat(neg(quat_vec(a)), a.w), b)


cdef inline void joint_difference(const vt_body* b, const vt_real* q, const vt_real* q2,
                                  vt_real* d) noexcept nogil:
    # the d with q (+) d = q2, turns by the shorter way
    cdef Vec3 w, v
    cdef vt_real g
    if b.kind == BALL:
        store3(d + b.iv, log_quat(quat_short(quat_between(load_quat(q + b.iq), load_quat(q2 + b.iq))), &g))
    elif b.kind == FREE:
        v = tmul(quat_matrix(load_quat(q + b.iq + 3)), sub(load3(q2 + b.iq), load3(q + b.iq)))
        log_se3(quat_between(load_quat(q + b.iq + 3), load_quat(q2 + b.iq + 3)), v, &w, &v)
        store3(d + b.iv, v)
        store3(d + b.iv + 3, w)
    else:
        d[b.iv] = q2[b.iq] - q[b.iq]


cdef void advance(const vt_model* m, const vt_real* q, vt_real share, const vt_real* d, vt_real* q2) noexcept nogil:
    # q2 = q (+) share d
    cdef int i
    if m.nbig == 0:
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


cdef void exponential_rate(const vt_model* m, const vt_real* u, const vt_real* v, vt_real* du) noexcept nogil:
    # rate of the coordinates u of q = q0 (+) u where the body velocity is v: dlog_{-u} v
    cdef int i
    cdef const vt_body* b
    cdef Vec3 w, l
    for i in range(m.nbody):
        b = &m.body[i]
        if b.kind == BALL:
            store3(du + b.iv, dlog(neg(load3(u + b.iv)), load3(v + b.iv)))
        elif b.kind == FREE:
            dlog_se3(neg(load3(u + b.iv + 3)), neg(load3(u + b.iv)), load3(v + b.iv + 3),
                     load3(v + b.iv), &w, &l)
            store3(du + b.iv, l)
            store3(du + b.iv + 3, w)
        else:
            du[b.iv] = v[b.iv]
