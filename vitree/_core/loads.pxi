# External loads that are compiled.

cdef inline void load_wrench(const vt_load* load, Mat3 R, Vec3* n, Vec3* f) noexcept nogil:
    # torque about the body's origin and force, world axes
    n[0] = constant3(load.torque)
    f[0] = constant3(load.force)
    if load.local:
        n[0] = mul(R, n[0])
        f[0] = mul(R, f[0])
    n[0] = add(n[0], cross(mul(R, constant3(load.point)), f[0]))


cdef void wrenches(const vt_model* m, const Pose* pose, const vt_load* load, int nload,
                   vt_real* out) noexcept nogil:
    # out: (nbody, 6), (torque, force) on each body about its origin, world axes
    cdef int i
    cdef Vec3 n, f
    cdef vt_real* o
    for i in range(6 * m.nbody):
        out[i] = vt_set1(0.0)
    for i in range(nload):
        load_wrench(&load[i], pose[load[i].body].R, &n, &f)
        o = out + 6 * load[i].body
        store3(o, add(load3(o), n))
        store3(o + 3, add(load3(o + 3), f))
