# The center of mass and the momentum about it (Orin, Goswami & Lee 2013). Rows are (angular, linear).

cdef struct Whole:          # all trees together
    double mass
    Vec3 P                  # linear momentum
    Vec3 u                  # velocity of the center of mass


cdef inline Vec3 tree_point(const Tree* t, const MapJob* job, int root) noexcept nogil:
    # in the world
    return t.pose[job.middle[root]].o


cdef inline Whole sum_up(const vt_model* m, const MapJob* job, Tree* t, int asked) noexcept nogil:
    # leaves to root: what each body carries; then where the points of the trees are from the center of mass
    cdef Whole all
    cdef Vec3 first = zero3(), at, to_com
    cdef const vt_body* b
    cdef int i
    all.mass = 0.0
    all.P = zero3()
    at = tree_point(t, job, 0) if m.nbody else zero3()
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        if b.parent >= 0:
            add_carried(&t.x[b.parent], &t.x[i], asked)
            continue
        t.r[i] = sub(tree_point(t, job, i), at)
        all.mass += t.x[i].mass
        first = add(first, axpy(t.x[i].mass, t.r[i], t.x[i].h))
        if asked & LINEAR:
            all.P = add(all.P, t.x[i].P)
    to_com = scale(1.0 / all.mass, first)
    for i in range(m.nbody):
        t.r[i] = sub(t.r[i], to_com) if m.body[i].parent < 0 else t.r[m.body[i].parent]
    all.u = scale(1.0 / all.mass, all.P)
    return all


cdef inline void sum_momenta(const vt_model* m, const MapJob* job, bint angular, char* room) noexcept nogil:
    # of single bodies, about the origin of the first one with inertia, then about the center of mass
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    cdef VelocityBody* moved = <VelocityBody*>piece(&room, m.nbody * sizeof(VelocityBody))
    cdef const vt_body* b
    cdef Vec3 at, c, f, n = zero3(), force = zero3(), first = zero3()
    cdef double mass = 0.0
    cdef int i
    forward_kinematics(m, job.q, pose)
    velocities(m, job.v, pose, moved)
    at = pose[job.middle[0]].o if m.nbody else zero3()
    for i in range(m.nbody):
        b = &m.body[i]
        c = mul(pose[i].R, constant3(b.com))
        f = scale(b.mass, add(moved[i].v, cross(moved[i].w, c)))
        force = add(force, f)
        mass += b.mass
        if angular:
            c = add(c, sub(pose[i].o, at))
            first = axpy(b.mass, c, first)
            n = add(n, add(cross(c, f), mul(pose[i].R, symmul(constant_sym(b.Ic), tmul(pose[i].R, moved[i].w)))))
    if angular:
        store3(job.out, sub(n, cross(scale(1.0 / mass, first), force)))
        store3(job.out + 3, force)
    else:
        store3(job.out, scale(1.0 / mass, force))


cdef void map_com_velocity(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    sum_momenta(m, job, False, room)


cdef void map_centroidal_momentum(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    sum_momenta(m, job, True, room)


cdef void map_com(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # first moments about the origins of bodies, in their own axes, from the leaves to the roots
    cdef double* mass = <double*>piece(&room, m.nbody * sizeof(double))
    cdef Vec3* h = <Vec3*>piece(&room, m.nbody * sizeof(Vec3))
    cdef const vt_body* b
    cdef Mat3 R
    cdef Vec3 p, first = zero3()
    cdef double all = 0.0, sine, cosine
    cdef int i
    for i in range(m.nbody):
        mass[i], h[i] = m.body[i].mass, constant3(m.body[i].h)
        all += mass[i]
    for i in range(m.nbody - 1, -1, -1):
        b, p = &m.body[i], h[i]
        if b.kind == REVOLUTE:
            vt_sincos(job.q[b.iq], &sine, &cosine)
            R = constant_rotation(b.E)
            h[i] = mul(R, vec3(cosine * p.x - sine * p.y, sine * p.x + cosine * p.y, p.z))
            p = constant3(b.p)
        else:
            joint_pose(b, job.q, &R, &p)
            h[i] = mul(R, h[i])
        if b.parent >= 0:
            mass[b.parent] += mass[i]
            h[b.parent] = add(h[b.parent], axpy(mass[i], p, h[i]))
        else:
            first = add(first, axpy(mass[i], p, h[i]))
    store3(job.out, scale(1.0 / all, first))


cdef void map_com_jacobian(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # columns (m v + w x h)/mass, with what a body carries about its own origin
    cdef Pose* pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    cdef double* mass = <double*>piece(&room, m.nbody * sizeof(double))
    cdef Vec3* h = <Vec3*>piece(&room, m.nbody * sizeof(Vec3))
    cdef const vt_body* b
    cdef Vec3 w, v, f
    cdef double all = 0.0, share
    cdef int i, k
    forward_kinematics(m, job.q, pose)
    for i in range(m.nbody):
        b = &m.body[i]
        mass[i], h[i] = b.mass, mul(pose[i].R, constant3(b.h))
        all += b.mass
    share = 1.0 / all
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        for k in range(joint_nv(b)):
            if joint_rotates(b):
                f = scale(share, cross(pose[i].R.z, h[i]))
            else:
                joint_column(b, pose[i].R, k, &w, &v)
                f = scale(share, axpy(mass[i], v, cross(w, h[i])))
            job.out[b.iv + k], job.out[m.nv + b.iv + k], job.out[2 * m.nv + b.iv + k] = f.x, f.y, f.z
        if b.parent >= 0:
            mass[b.parent] += mass[i]
            h[b.parent] = add(h[b.parent], axpy(mass[i], pose[i].t, h[i]))


cdef struct Hung:           # a body with all that it carries, about its own origin
    double mass             # [kg]
    Vec3 h                  # [kg m]
    Sym3 J                  # [kg m^2]


cdef inline void hang(Hung* up, const Hung* x, Vec3 t) noexcept nogil:
    # on the parent, from whose origin it is by t: J + 2 (g.t) 1 - g t^T - t g^T, g = h + m t/2
    cdef Vec3 g = axpy(0.5 * x.mass, t, x.h)
    cdef double xx = 2.0 * g.x * t.x, yy = 2.0 * g.y * t.y, zz = 2.0 * g.z * t.z
    up.mass += x.mass
    up.h = add(up.h, axpy(x.mass, t, x.h))
    up.J.xx += x.J.xx + (yy + zz)
    up.J.yy += x.J.yy + (xx + zz)
    up.J.zz += x.J.zz + (xx + yy)
    up.J.xy += x.J.xy - (g.x * t.y + g.y * t.x)
    up.J.xz += x.J.xz - (g.x * t.z + g.z * t.x)
    up.J.yz += x.J.yz - (g.y * t.z + g.z * t.y)


cdef inline bint roots_have_inertia(const vt_model* m, const MapJob* job) noexcept nogil:
    cdef int i
    for i in range(m.nbody):
        if m.body[i].parent < 0 and job.middle[i] != i:
            return False
    return True


cdef void map_centroidal_matrix(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # by what each body carries about its own origin, at r from the center of mass: f = m v + w x h, n = J w + h x v + r x f.
    # Joints before the first body with inertia may be far from it, and then the point of the tree keeps more digits
    cdef Pose* pose
    cdef Hung* x
    cdef Vec3* arm
    cdef const vt_body* b
    cdef Vec3 at, com, h, w, v, r, f, n, first = zero3()
    cdef double all = 0.0
    cdef vt_axes axes
    cdef int i, k
    if not roots_have_inertia(m, job):
        matrix_about_points(m, job, room)
        return
    pose = <Pose*>piece(&room, m.nbody * sizeof(Pose))
    x = <Hung*>piece(&room, m.nbody * sizeof(Hung))
    arm = <Vec3*>piece(&room, m.nbody * sizeof(Vec3))
    for i in range(m.nbody):
        b = &m.body[i]
        pose_body(m, i, job.q, &axes, i - 1, pose)
        arm[i] = add(arm[b.parent], pose[i].t) if b.parent >= 0 else sub(pose[i].o, pose[0].o)
        h = constant3(b.h)
        x[i].mass = b.mass
        vt_axes_times(&axes, &h.x, &x[i].h.x)
        x[i].J = turned_inertia(&axes, &pose[i].R, constant_sym(b.Io))
        all += b.mass
        first = add(first, axpy(b.mass, arm[i], x[i].h))
    com = scale(1.0 / all, first)
    for i in range(m.nbody - 1, -1, -1):
        b, r = &m.body[i], sub(arm[i], com)
        if joint_rotates(b):
            w = pose[i].R.z
            f = cross(w, x[i].h)
            store_column(job.out + b.iv, m.nv, add(symmul(x[i].J, w), cross(r, f)), f)
        else:
            for k in range(joint_nv(b)):
                joint_column(b, pose[i].R, k, &w, &v)
                f = axpy(x[i].mass, v, cross(w, x[i].h))
                n = add(symmul(x[i].J, w), cross(x[i].h, v))
                store_column(job.out + b.iv + k, m.nv, add(n, cross(r, f)), f)
        if b.parent >= 0:
            hang(&x[b.parent], &x[i], pose[i].t)


cdef void matrix_about_points(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    cdef Tree t = tree_memory(m, &room)
    cdef Whole all
    cdef Vec3 n, f, r
    cdef int i, k
    placed_tree(m, job, &t, INERTIA)
    all = sum_up(m, job, &t, INERTIA)
    for i in range(m.nbody):
        r = t.r[i]
        for k in range(m.body[i].iv, m.body[i].iv + joint_nv(&m.body[i])):
            momentum_column(&t.x[i], &t.S[k], &n, &f)
            store_column(job.out + k, m.nv, add(n, cross(r, f)), f)


cdef void map_centroidal_matrix_rate(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # with r from the center of mass to the point of the tree: d(n + r x f)/dt = dn + r x df - u x f
    cdef Tree t = tree_memory(m, &room)
    cdef Whole all
    cdef Column dS
    cdef Vec3 n, f, dn, df, r
    cdef int i, k
    placed_tree(m, job, &t, LINEAR | INERTIA | RATE)
    all = sum_up(m, job, &t, LINEAR | INERTIA | RATE)
    for i in range(m.nbody):
        r = t.r[i]
        for k in range(m.body[i].iv, m.body[i].iv + joint_nv(&m.body[i])):
            momentum_column(&t.x[i], &t.S[k], &n, &f)
            dS = column_rate(&t.twist[i], &t.S[k])
            momentum_rate(&t.x[i], &t.S[k], &dS, &dn, &df)
            store_column(job.out + k, m.nv, sub(add(dn, cross(r, df)), cross(all.u, f)), df)


cdef inline Column crossed_force(const Column* S, Vec3 n, Vec3 f) noexcept nogil:
    # how a wrench (n, f) changes that moves with the twist S
    cdef Column r
    r.w = add(cross(S.w, n), cross(S.v, f))
    r.v = cross(S.w, f)
    return r


cdef inline void store_about_com(double* out, int nv, const Column* x, Vec3 r, Vec3 moved) noexcept nogil:
    # of a wrench about the point of a tree; moved: how its arm r from the center of mass changes, times all force
    store_column(out, nv, sub(add(x.w, cross(r, x.v)), moved), x.v)


cdef void map_centroidal_derivatives(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # (4, 6, nv): of the momentum by q, of its rate by q, by v and by a.
    # A displacement along the column S of a joint moves all that it carries as a rigid body, except that the velocity V
    # and acceleration A of the joint's parent stay. With W = S x V, I, dI/dt, H and F of what the joint carries,
    #     dH = S x* H - I W,     dF = S x* F - I (S x A - W x V) - dI/dt W - W x* H,
    # and a velocity along S, of a joint whose own body has the twist U, leads to dF = dI/dt S + I (U + V) x S + S x* H.
    cdef Tree t = tree_memory(m, &room)
    cdef Column* acceleration = <Column*>piece(&room, m.nbody * sizeof(Column))
    cdef Column* F = <Column*>piece(&room, m.nbody * sizeof(Column))
    cdef Whole all
    cdef Column still, dS, W, x
    cdef const Column* V
    cdef const Column* A
    cdef const Column* S
    cdef Vec3 n, f, force = zero3(), r, com
    cdef double* out = job.out
    cdef int i, k, up
    still.w = still.v = zero3()
    placed_tree(m, job, &t, LINEAR | ANGULAR | INERTIA | RATE)
    for i in range(m.nbody):
        up = m.body[i].parent
        acceleration[i] = acceleration[up] if up >= 0 else still
        for k in range(m.body[i].iv, m.body[i].iv + joint_nv(&m.body[i])):
            dS = column_rate(&t.twist[i], &t.S[k])
            acceleration[i].w = add(acceleration[i].w, axpy(job.a[k], t.S[k].w, scale(job.v[k], dS.w)))
            acceleration[i].v = add(acceleration[i].v, axpy(job.a[k], t.S[k].v, scale(job.v[k], dS.v)))
        momentum_rate(&t.x[i], &t.twist[i], &acceleration[i], &F[i].w, &F[i].v)
    all = sum_up(m, job, &t, LINEAR | ANGULAR | INERTIA | RATE)
    for i in range(m.nbody - 1, -1, -1):
        up = m.body[i].parent
        if up >= 0:
            F[up].w, F[up].v = add(F[up].w, F[i].w), add(F[up].v, F[i].v)
        else:
            force = add(force, F[i].v)
    for i in range(m.nbody):
        up, r = m.body[i].parent, t.r[i]
        V = &t.twist[up] if up >= 0 else &still
        A = &acceleration[up] if up >= 0 else &still
        for k in range(m.body[i].iv, m.body[i].iv + joint_nv(&m.body[i])):
            S = &t.S[k]
            momentum_column(&t.x[i], S, &n, &f)
            com = scale(1.0 / all.mass, f)
            store_column(out + 18 * m.nv + k, m.nv, add(n, cross(r, f)), f)
            # by the velocity
            dS = column_rate(&t.twist[i], S)
            x = column_rate(V, S)
            dS.w, dS.v = add(dS.w, x.w), add(dS.v, x.v)
            momentum_rate(&t.x[i], S, &dS, &n, &f)
            x = crossed_force(S, t.x[i].L, t.x[i].P)
            n, f = add(n, x.w), add(f, x.v)
            store_column(out + 12 * m.nv + k, m.nv, add(n, cross(r, f)), f)
            # by the displacement
            W = column_rate(S, V)
            momentum_column(&t.x[i], &W, &n, &f)
            x.w, x.v = sub(x.w, n), sub(x.v, f)
            store_about_com(out + k, m.nv, &x, r, cross(com, all.P))
            dS, x = column_rate(S, A), column_rate(&W, V)
            dS.w, dS.v = sub(dS.w, x.w), sub(dS.v, x.v)
            momentum_rate(&t.x[i], &W, &dS, &n, &f)
            x = crossed_force(&W, t.x[i].L, t.x[i].P)
            n, f = add(n, x.w), add(f, x.v)
            x = crossed_force(S, F[i].w, F[i].v)
            x.w, x.v = sub(x.w, n), sub(x.v, f)
            store_about_com(out + 6 * m.nv + k, m.nv, &x, r, cross(com, force))


cdef void map_centroidal_inertia(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # about the center of mass: of a tree, J about its point, shifted
    cdef Tree t = tree_memory(m, &room)
    cdef Whole all
    cdef Sym3 J = zero_sym()
    cdef Vec3 r
    cdef int i
    placed_tree(m, job, &t, INERTIA)
    all = sum_up(m, job, &t, INERTIA)
    for i in range(m.nbody):
        if m.body[i].parent < 0:
            r = t.r[i]
            # m (r.r 1 - r r^T) + 2 h.r 1 - h r^T - r h^T
            J = addsym(J, addsym(t.x[i].J, point_inertia(t.x[i].mass, r)))
            J = addsym(J, plus_transpose(plus_diagonal(outer(-1.0, t.x[i].h, r, zero33()), dot(t.x[i].h, r))))
    put_matrix(full(J), job.out, 3)


cdef void map_centroidal_momentum_rate(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # by the wrenches that move the bodies without gravity, at the roots; (6,) and the acceleration of the COM (3,)
    cdef RneaBody* x = <RneaBody*>piece(&room, m.nbody * sizeof(RneaBody))
    cdef Vec3* c = <Vec3*>piece(&room, m.nbody * sizeof(Vec3))
    cdef double* mass = <double*>piece(&room, m.nbody * sizeof(double))
    cdef const vt_body* b
    cdef Vec3 com = zero3(), n = zero3(), force = zero3(), f
    cdef double all = 0.0
    cdef int i
    rnea_motion(m, NO_GRAVITY, job.q, job.v, job.a, x)
    for i in range(m.nbody):
        mass[i] = m.body[i].mass
        c[i] = constant3(m.body[i].h)
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        # the first moment and the wrench about the parent's origin, in its axes
        c[i] = axpy(mass[i], x[i].p, mul(x[i].R, c[i]))
        f = mul(x[i].R, x[i].f)
        if b.parent >= 0:
            mass[b.parent] += mass[i]
            c[b.parent] = add(c[b.parent], c[i])
            hand_down(mul(x[i].R, x[i].n), f, x[i].p, &x[b.parent].n, &x[b.parent].f)
        else:
            all += mass[i]
            com = add(com, c[i])
            force = add(force, f)
    com = scale(1.0 / all, com)
    for i in range(m.nbody):
        if m.body[i].parent < 0:
            n = add(n, add(mul(x[i].R, x[i].n), cross(sub(x[i].p, com), mul(x[i].R, x[i].f))))
    store3(job.out, n)
    store3(job.out + 3, force)


cdef void map_com_acceleration(const vt_model* m, const MapJob* job, char* room) noexcept nogil:
    # the force on all bodies over their mass
    cdef double rate[6]
    cdef double mass = 0.0
    cdef MapJob whole = job[0]
    cdef int i
    whole.out = rate
    map_centroidal_momentum_rate(m, &whole, room)
    for i in range(m.nbody):
        mass += m.body[i].mass
    store3(job.out, scale(1.0 / mass, load3(rate + 3)))
