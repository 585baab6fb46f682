# Jacobians of frames, their rates, velocities and accelerations. Rows are (angular, linear).
#
# A column of a joint, at a point p, is (w, v + w x (p - o)), with o the origin of the joint's body. It changes as w and
# v turn with the body, o moves with it, and p moves: with the frame, or not at all ("spatial": the world's origin). In
# the frame's own axes R it is R^T of the column, which changes by R^T (rate - w_F x column).

cdef struct PathBody:       # of the bodies that carry a frame
    Vec3 w                  # world axes
    Vec3 u                  # velocity of its origin
    Vec3 d                  # from its origin to the point

cdef struct Path:
    Pose* pose              # (nbody,) of those of the path
    PathBody* moved         # (nbody,) of the same
    int* body               # (count,) from the root
    int count
    Mat3 R                  # the frame's axes
    Vec3 u                  # velocity of the point
    Vec3 w                  # angular velocity of the frame


cdef void follow_path(const vt_model* m, const MapJob* job, const double* v, Path* x, char** room) noexcept nogil:
    # v: NULL if nothing moves
    cdef int n = 0, at = -1, i = job.body, k
    cdef vt_axes axes
    cdef const vt_body* b
    cdef PathBody* s
    cdef const PathBody* up
    cdef Vec3 r
    x.pose = <Pose*>piece(room, m.nbody * sizeof(Pose))
    x.moved = <PathBody*>piece(room, m.nbody * sizeof(PathBody))
    x.body = <int*>piece(room, m.nbody * sizeof(int)) + m.nbody
    while i >= 0:
        n += 1
        x.body -= 1
        x.body[0] = i
        i = m.body[i].parent
    x.count = n
    for n in range(x.count):
        i = x.body[n]
        pose_body(m, i, job.q, &axes, at, x.pose)
        at = i
        if v == NULL:
            continue
        b, s = &m.body[i], &x.moved[i]
        s.w = zero3()
        s.u = zero3()
        if b.parent >= 0:
            up = &x.moved[b.parent]
            carry(up.w, up.u, x.pose[i].t, &s.w, &s.u)
        add_joint_velocity(b, x.pose[i].R, v, &s.w, &s.u)
    x.u = zero3()
    x.w = zero3()
    x.R = identity3()
    if x.count == 0:
        return
    if job.axes == LOCAL_AXES:
        x.R = mul3(x.pose[at].R, take_matrix(job.frame, 4))
    if v != NULL:
        x.w = x.moved[at].w
    if job.axes == SPATIAL_AXES:
        r = neg(x.pose[at].o)
    else:
        r = mul(x.pose[at].R, vec3(job.frame[3], job.frame[7], job.frame[11]))
        if v != NULL:
            x.u = add(x.moved[at].u, cross(x.w, r))
    # leaf to root, so that places far from the world's origin lose no digits
    for n in range(x.count - 1, -1, -1):
        x.moved[x.body[n]].d = r
        r = add(r, x.pose[x.body[n]].t)


cdef inline Column path_column(const vt_body* b, const Path* x, int i, int k, Column* rate) noexcept nogil:
    # of the k-th coordinate of body i in world axes; rate: NULL, or how it changes
    cdef Column S
    cdef Vec3 w, v, d = x.moved[i].d, dw
    joint_column(b, x.pose[i].R, k, &w, &v)
    S.w = w
    S.v = add(zero3(), cross(w, d)) if joint_rotates(b) else add(v, cross(w, d))   # no signed zeros
    if rate != NULL:
        dw = cross(x.moved[i].w, w)
        rate.w = dw
        rate.v = add(cross(dw, d), cross(w, sub(x.u, x.moved[i].u)))
        if not joint_rotates(b):
            rate.v = add(rate.v, cross(x.moved[i].w, v))
    return S


cdef inline Column in_axes(const Path* x, const MapJob* job, Column S) noexcept nogil:
    # in the axes that are asked for
    if job.axes == LOCAL_AXES:
        S.w = tmul(x.R, S.w)
        S.v = tmul(x.R, S.v)
    return S


cdef void map_frame_jacobian(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    cdef Path x
    cdef Column S
    cdef int n, k, i
    memset(job.out, 0, 6 * m.nv * sizeof(double))
    follow_path(m, job, NULL, &x, &room)
    for n in range(x.count):
        i = x.body[n]
        for k in range(joint_nv(&m.body[i])):
            S = in_axes(&x, job, path_column(&m.body[i], &x, i, k, NULL))
            store_column(job.out + m.body[i].iv + k, m.nv, S.w, S.v)


cdef inline Column turning(const Path* x, const MapJob* job, Column S, Column dS) noexcept nogil:
    # the rate of a column, in the axes that are asked for
    if job.axes == LOCAL_AXES:
        dS.w = sub(dS.w, cross(x.w, S.w))
        dS.v = sub(dS.v, cross(x.w, S.v))
    return in_axes(x, job, dS)


cdef void map_frame_jacobian_rate(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    cdef Path x
    cdef Column S, dS
    cdef int n, k, i
    memset(job.out, 0, 6 * m.nv * sizeof(double))
    follow_path(m, job, job.v, &x, &room)
    for n in range(x.count):
        i = x.body[n]
        for k in range(joint_nv(&m.body[i])):
            S = path_column(&m.body[i], &x, i, k, &dS)
            dS = turning(&x, job, S, dS)
            store_column(job.out + m.body[i].iv + k, m.nv, dS.w, dS.v)


cdef void map_frame_velocity(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # the point of the frame, or that of its body which is at the world's origin
    cdef Path x
    cdef Column V
    follow_path(m, job, job.v, &x, &room)
    V.w, V.v = x.w, x.u
    if job.axes == SPATIAL_AXES and x.count:
        V.v = sub(x.moved[job.body].u, cross(x.w, x.pose[job.body].o))
    V = in_axes(&x, job, V)
    store3(job.out, V.w)
    store3(job.out + 3, V.v)


cdef void map_frame_acceleration(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # J a + dJ/dt v
    cdef Path x
    cdef Column S, dS, V, A
    cdef int n, k, i, iv
    follow_path(m, job, job.v, &x, &room)
    V.w = V.v = A.w = A.v = zero3()
    for n in range(x.count):
        i = x.body[n]
        for k in range(joint_nv(&m.body[i])):
            iv = m.body[i].iv + k
            S = path_column(&m.body[i], &x, i, k, &dS)
            A.w = axpy(job.a[iv], S.w, axpy(job.v[iv], dS.w, A.w))
            A.v = axpy(job.a[iv], S.v, axpy(job.v[iv], dS.v, A.v))
            V.w = axpy(job.v[iv], S.w, V.w)
            V.v = axpy(job.v[iv], S.v, V.v)
    A = turning(&x, job, V, A)
    store3(job.out, A.w)
    store3(job.out + 3, A.v)
