# The bodies of one state as lanes (abreast.pxi). Arrays are those of a kernel of one lane: structs of doubles, in the
# order of the structs here.

cdef inline Vec3 gather3(const double* a, Py_ssize_t stride) noexcept nogil:
    return vec3(vt_gather(a, stride), vt_gather(a + 1, stride), vt_gather(a + 2, stride))


cdef inline void scatter3(Vec3 a, double* to, Py_ssize_t stride) noexcept nogil:
    vt_scatter(a.x, to, stride)
    vt_scatter(a.y, to + 1, stride)
    vt_scatter(a.z, to + 2, stride)


cdef inline Mat3 gather33(const double* a, Py_ssize_t stride) noexcept nogil:
    cdef Mat3 r
    r.x = gather3(a, stride)
    r.y = gather3(a + 3, stride)
    r.z = gather3(a + 6, stride)
    return r


cdef inline Sym3 gather_sym(const double* a, Py_ssize_t stride) noexcept nogil:
    cdef Sym3 r
    r.xx = vt_gather(a, stride)
    r.xy = vt_gather(a + 1, stride)
    r.xz = vt_gather(a + 2, stride)
    r.yy = vt_gather(a + 3, stride)
    r.yz = vt_gather(a + 4, stride)
    r.zz = vt_gather(a + 5, stride)
    return r


cdef inline int blocks_of(int count) noexcept nogil:
    return (count + VT_WIDTH - 1) // VT_WIDTH


cdef inline int block_at(int block, int count) noexcept nogil:
    # where a block of lanes begins: the last one takes some of the bodies before once more
    return min(block * VT_WIDTH, count - VT_WIDTH)


cdef inline double* part(double* a, const void* whole, const void* of) noexcept nogil:
    # where an array of structs of doubles has that part of its first one
    return a + (<const vt_real*>of - <const vt_real*>whole)


cdef void half_turns_abreast(const vt_model* m, const double* y, double* trial) noexcept nogil:
    cdef Trial z
    cdef int block, k, i
    cdef Py_ssize_t stride = sizeof(Trial) // sizeof(vt_real)
    cdef vt_real half
    for block in range(blocks_of(m.nbody)):
        i = block_at(block, m.nbody)
        half = vt_set1(0.0)
        for k in range(VT_WIDTH):
            vt_put(&half, k, y[m.body[i + k].iv])
        vt_sincos(0.5 * half, &z.sine, &z.cosine)
        vt_scatter(z.sine, part(trial, &z, &z.sine) + i * stride, stride)
        vt_scatter(z.cosine, part(trial, &z, &z.cosine) + i * stride, stride)


cdef void momenta_abreast(const vt_model* m, const double* node, double* trial, bint split) noexcept nogil:
    cdef Node x
    cdef Trial z
    cdef Sym3 Ic = zero_sym()
    cdef vt_real mass
    cdef int block, k, i
    cdef Py_ssize_t stride = sizeof(Trial) // sizeof(vt_real), pace = sizeof(Node) // sizeof(vt_real)
    cdef Py_ssize_t apart = sizeof(vt_body) // sizeof(double)
    cdef double* to
    cdef double* at
    for block in range(blocks_of(m.nbody)):
        i = block_at(block, m.nbody)
        to = trial + i * stride
        at = <double*>node + i * pace
        z.D = quat(gather3(to, stride), vt_gather(to + 3, stride))
        z.M = gather33(part(to, &z, &z.M), stride)
        z.move = gather3(part(to, &z, &z.move), stride)
        x.c = gather3(part(at, &x, &x.c), pace)
        mass = vt_gather(&m.body[i].mass, apart)
        if split:
            x.R = gather33(part(at, &x, &x.R), pace)
            Ic = gather_sym(m.body[i].Ic, apart)
        else:
            x.I = gather_sym(part(at, &x, &x.I), pace)
        lt_momentum(&x, mass, Ic, split, &z)
        scatter3(z.w, part(to, &z, &z.w), stride)
        scatter3(z.p, part(to, &z, &z.p), stride)
        scatter3(z.f, part(to, &z, &z.f), stride)
        scatter3(z.g, part(to, &z, &z.g), stride)
        vt_scatter(z.g0, part(to, &z, &z.g0), stride)
        vt_scatter(z.gamma, part(to, &z, &z.gamma), stride)
        if not split:
            vt_scatter(z.kappa, part(to, &z, &z.kappa), stride)
            vt_scatter(z.kappa1, part(to, &z, &z.kappa1), stride)
        scatter3(z.N, part(to, &z, &z.N), stride)
        scatter3(z.F, part(to, &z, &z.F), stride)
        for k in range(VT_WIDTH):
            if not m.body[i + k].inert:
                # no signs of zeros
                memset(part(to, &z, &z.f) + k * stride, 0, 3 * sizeof(double))
                memset(part(to, &z, &z.N) + k * stride, 0, 6 * sizeof(double))


offered.lanes, offered.half_turns, offered.momenta = VT_WIDTH, half_turns_abreast, momenta_abreast


def bodies_abreast():
    """The address of what this module does for those of one lane: ``take_bodies_of`` takes it."""
    return <size_t>&offered
