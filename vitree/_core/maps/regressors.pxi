# Regressors: forces, wrenches and energies as linear functions of the inertial parameters of bodies (Atkeson, An &
# Hollerbach 1986). Those of a body are, in the axes of a frame on it and about the frame's origin,
#     m, h = m c (three), and the inertia xx, xy, xz, yy, yz, zz.

cdef enum:
    WRENCH_ROW = 12         # numbers of a row of ten, for vectors of four

cdef struct Seen:           # how the frame of a body moves, in its own axes
    Mat3 R                  # in the world
    Vec3 o
    Vec3 w
    Vec3 dw
    Vec3 a                  # of the origin, less gravity


cdef inline void inertia_entries(Vec3 a, Vec3 b, double* to) noexcept nogil:
    # a . (I b) by the six numbers of I
    to[0] = a.x * b.x
    to[1] = a.x * b.y + a.y * b.x
    to[2] = a.x * b.z + a.z * b.x
    to[3] = a.y * b.y
    to[4] = a.y * b.z + a.z * b.y
    to[5] = a.z * b.z


cdef inline void wrench_rows(const Seen* x, double* to, int stride) noexcept nogil:
    # (6, 10): n = I dw + w x I w + h x a, f = m a + dw x h + w x (w x h); own axes
    cdef Vec3 w = x.w, dw = x.dw, a = x.a
    cdef double* n = to + 4
    cdef double xy = w.x * w.y, xz = w.x * w.z, yz = w.y * w.z
    memset(to, 0, 3 * stride * sizeof(double))
    put_matrix(hat(neg(a)), to + 1, stride)
    n[0], n[1], n[2], n[3], n[4], n[5] = dw.x, dw.y - xz, dw.z + xy, -yz, w.y * w.y - w.z * w.z, yz
    n += stride
    n[0], n[1], n[2], n[3], n[4], n[5] = xz, dw.x + yz, w.z * w.z - w.x * w.x, dw.y, dw.z - xy, -xz
    n += stride
    n[0], n[1], n[2], n[3], n[4], n[5] = -xy, w.x * w.x - w.y * w.y, dw.x - yz, xy, dw.y + xz, dw.z
    to += 3 * stride
    memset(to, 0, 3 * stride * sizeof(double))
    to[0], to[stride], to[2 * stride] = a.x, a.y, a.z
    put_matrix(add3(hat(dw), cross_mat(w, hat(w))), to + 1, stride)


cdef inline void see(const Pose* pose, const RneaBody* b, Mat3 E, Vec3 p, Seen* x) noexcept nogil:
    # by the motion of the body, which is in its own core axes
    x.R = mul3(pose.R, E)
    x.o = add(pose.o, mul(pose.R, p))
    x.w = tmul(E, b.w)
    x.dw = tmul(E, b.dw)
    x.a = tmul(E, add(b.a, add(cross(b.dw, p), cross(b.w, cross(b.w, p)))))


cdef inline void poses_of(const vt_model* m, const RneaBody* b, Pose* pose) noexcept nogil:
    # in the world, by the bodies' poses in their parents' axes
    cdef int i, up
    for i in range(m.nbody):
        up = m.body[i].parent
        if up < 0:
            pose[i].R = b[i].R
            pose[i].o = b[i].p
        else:
            pose[i].R = mul3(pose[up].R, b[i].R)
            pose[i].o = add(pose[up].o, mul(pose[up].R, b[i].p))


cdef void map_torque_regressor(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # (nv, 10 nbody): a column of a joint that carries a body, times the wrench that moves this one. Wrenches are turned
    # into world axes, about the origin of the body; a mass and its first moment alone have forces
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    cdef RneaBody* body = <RneaBody*>piece(&room, m.nbody * sizeof(RneaBody))
    cdef Seen x
    cdef const vt_body* b
    cdef Vec3 w, v, r
    cdef double own[6 * WRENCH_ROW]
    cdef double world[6 * WRENCH_ROW]
    cdef double c[6]
    cdef double total = 0.0
    cdef double* to
    cdef int i, k, at, width = PARAMETERS * m.nbody
    memset(job.out, 0, m.nv * width * sizeof(double))
    memset(own, 0, sizeof(own))
    memset(world, 0, sizeof(world))
    rnea_motion(m, m.g, job.q, job.v, job.a, body)
    poses_of(m, body, pose)
    for i in range(m.nbody):
        see(&pose[i], &body[i], constant_rotation(job.places[i].E), constant3(job.places[i].p), &x)
        wrench_rows(&x, own, WRENCH_ROW)
        for k in range(3):
            # of R, row by row: torques, and forces, which a mass and its first moment alone have
            c[0], c[1], c[2] = (&x.R.x.x)[k], (&x.R.y.x)[k], (&x.R.z.x)[k]
            vt_sums(3, WRENCH_ROW, WRENCH_ROW, c, own, 1, world + WRENCH_ROW * k)
            vt_sums(3, 4, WRENCH_ROW, c, own + 3 * WRENCH_ROW, 1, world + WRENCH_ROW * (k + 3))
        at = i
        while at >= 0:
            b = &m.body[at]
            r = sub(x.o, pose[at].o)
            for k in range(joint_nv(b)):
                joint_column(b, pose[at].R, k, &w, &v)
                store3(c, w)
                store3(c + 3, add(v, cross(w, r)))
                to = job.out + (b.iv + k) * width + PARAMETERS * i
                vt_sums(6, PARAMETERS, WRENCH_ROW, c, world, 1, to)
                total += (to[0] + to[1] + to[2] + to[3]) + (to[4] + to[5] + to[6]) + (to[7] + to[8] + to[9])
            at = b.parent
    job.total[0] = total


cdef void map_body_regressor(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # (6, 10): the wrench (torque, force) that moves a body that is fixed to a frame, in the frame
    cdef RneaBody* body = <RneaBody*>piece(&room, m.nbody * sizeof(RneaBody))
    cdef RneaBody still
    cdef Pose pose
    cdef Seen x
    cdef Mat3 E = take_matrix(job.frame, 4)
    cdef Vec3 p = vec3(job.frame[3], job.frame[7], job.frame[11])
    cdef int k
    pose.R = identity3()
    pose.o = zero3()
    if job.body < 0:
        still.w = still.dw = zero3()
        still.a = neg(constant3(m.g))
        see(&pose, &still, E, p, &x)
    else:
        rnea_motion(m, m.g, job.q, job.v, job.a, body)
        see(&pose, &body[job.body], E, p, &x)
    wrench_rows(&x, job.out, PARAMETERS)


cdef void map_kinetic_regressor(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # m u.u/2 + h.(u x w) + w.I w/2, with the twists of bodies in their own axes
    cdef Column* twist = <Column*>piece(&room, m.nbody * sizeof(Column))
    cdef const vt_body* b
    cdef Column V
    cdef Mat3 R, E, own = identity3()
    cdef Vec3 p, w, u
    cdef double* to
    cdef int i
    for i in range(m.nbody):
        b = &m.body[i]
        V.w = V.v = zero3()
        joint_pose(b, job.q, &R, &p)
        if b.parent >= 0:
            V = twist[b.parent]
            V.v = tmul(R, add(V.v, cross(V.w, p)))
            V.w = tmul(R, V.w)
        add_joint_velocity(b, own, job.v, &V.w, &V.v)
        twist[i] = V
        to = job.out + PARAMETERS * i
        E = constant_rotation(job.places[i].E)
        u = tmul(E, add(V.v, cross(V.w, constant3(job.places[i].p))))
        w = tmul(E, V.w)
        to[0] = 0.5 * dot(u, u)
        store3(to + 1, cross(u, w))
        inertia_entries(scale(0.5, w), w, to + 4)


cdef void map_potential_regressor(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # -g.(m p + R h), with gravity in the bodies' own axes
    cdef Column* up = <Column*>piece(&room, m.nbody * sizeof(Column))   # -g, and -g.o in v.x
    cdef const vt_body* b
    cdef Mat3 R
    cdef Vec3 p, g
    cdef double rise
    cdef double* to
    cdef int i
    memset(job.out, 0, PARAMETERS * m.nbody * sizeof(double))
    for i in range(m.nbody):
        b = &m.body[i]
        joint_pose(b, job.q, &R, &p)
        g, rise = neg(constant3(m.g)), 0.0
        if b.parent >= 0:
            g, rise = up[b.parent].w, up[b.parent].v.x
        rise += dot(g, p)
        g = tmul(R, g)
        up[i].w, up[i].v.x = g, rise
        to = job.out + PARAMETERS * i
        to[0] = rise + dot(g, constant3(job.places[i].p))
        store3(to + 1, tmul(constant_rotation(job.places[i].E), g))
