# The bodies of one state as lanes (body_lanes.pxi). Arrays are those of a kernel of one lane: structs of doubles, in
# the order of the structs here, so that `part` finds a field and vt_gather reads several consecutive ones.

cdef inline int blocks_of(int count) noexcept nogil:
    return (count + VT_WIDTH - 1) // VT_WIDTH


cdef inline int block_at(int block, int count) noexcept nogil:
    # start of a block of lanes: the last one repeats some of the previous bodies
    return min(block * VT_WIDTH, count - VT_WIDTH)


cdef inline Py_ssize_t part(const void* whole, const void* field) noexcept nogil:
    # the number of doubles before a field
    return <const vt_real*>field - <const vt_real*>whole


cdef inline vt_real* inside(void* whole, const void* field) noexcept nogil:
    # the numbers of a struct from a field on
    return <vt_real*>whole + part(whole, field)


cdef void half_turns_in_lanes(const vt_model* m, const double* y, double* trial) noexcept nogil:
    cdef Trial z
    cdef int block, k, i
    cdef Py_ssize_t trials = sizeof(Trial) // sizeof(vt_real)
    cdef vt_real half
    for block in range(blocks_of(m.nbody)):
        i = block_at(block, m.nbody)
        half = vt_set1(0.0)
        for k in range(VT_WIDTH):
            vt_put(&half, k, y[m.body[i + k].iv])
        vt_sincos(0.5 * half, &z.sine, &z.cosine)
        vt_scatter(inside(&z, &z.sine), trial + i * trials + part(&z, &z.sine), trials, 2)


cdef void momenta_in_lanes(const vt_model* m, const double* node, double* trial, bint split) noexcept nogil:
    cdef Node x
    cdef Trial z
    cdef Sym3 Ic
    cdef vt_real mass
    cdef int block, k, i
    cdef Py_ssize_t trials = sizeof(Trial) // sizeof(vt_real), nodes = sizeof(Node) // sizeof(vt_real)
    cdef Py_ssize_t bodies = sizeof(vt_body) // sizeof(double)
    cdef double* to
    cdef const double* at
    for block in range(blocks_of(m.nbody)):
        i = block_at(block, m.nbody)
        to = trial + i * trials
        at = node + i * nodes
        # D, M and move
        vt_gather(to, trials, inside(&z, &z.D), 16)
        vt_gather(&m.body[i].mass, bodies, &mass, 1)
        if split:
            # R, t and c
            vt_gather(at, nodes, inside(&x, &x.R), 15)
            vt_gather(m.body[i].Ic, bodies, <vt_real*>&Ic, 6)
        else:
            # c and I
            vt_gather(at + part(&x, &x.c), nodes, inside(&x, &x.c), 9)
        lt_momentum(&x, mass, Ic, split, &z)
        # w, p, f, g, the functions of the angle, N and F
        vt_scatter(inside(&z, &z.w), to + part(&z, &z.w), trials, 22)
        for k in range(VT_WIDTH):
            if not m.body[i + k].inert:
                # no signed zeros
                memset(to + k * trials + part(&z, &z.f), 0, 3 * sizeof(double))
                memset(to + k * trials + part(&z, &z.N), 0, 6 * sizeof(double))


cdef void turn_gains_in_lanes(int first, int end, const double* node, const double* trial, const double* gains,
                             double* solve) noexcept nogil:
    cdef Node x
    cdef Trial z
    cdef Gains g
    cdef Solve s
    cdef int block, i
    cdef Py_ssize_t trials = sizeof(Trial) // sizeof(vt_real), nodes = sizeof(Node) // sizeof(vt_real)
    cdef Py_ssize_t sets = sizeof(Gains) // sizeof(vt_real), solves = sizeof(Solve) // sizeof(vt_real)
    for block in range(blocks_of(end - first)):
        i = first + block_at(block, end - first)
        vt_gather(node + i * nodes, nodes, inside(&x, &x.R), 9)
        vt_gather(trial + i * trials + part(&z, &z.M), trials, inside(&z, &z.M), 9)
        vt_gather(gains + i * sets, sets, inside(&g, &g.Un), 12)
        lt_turn_gain(x.R, z.M, &g, &s)
        vt_scatter(inside(&s, &s.Un), solve + i * solves + part(&s, &s.Un), solves, 15)


cdef void middles_in_lanes(const vt_model* m, double* body) noexcept nogil:
    cdef MidBody s
    cdef Sym3 Ic
    cdef Vec3 com
    cdef vt_real mass
    cdef int block, i
    cdef Py_ssize_t mids = sizeof(MidBody) // sizeof(vt_real), bodies = sizeof(vt_body) // sizeof(double)
    cdef double* at
    for block in range(blocks_of(m.nbody)):
        i = block_at(block, m.nbody)
        at = body + i * mids
        # mass and com
        vt_gather(&m.body[i].mass, bodies, &mass, 1)
        vt_gather(m.body[i].com, bodies, <vt_real*>&com, 3)
        vt_gather(m.body[i].Ic, bodies, <vt_real*>&Ic, 6)
        vt_gather(at, mids, inside(&s, &s.R), 9)
        vt_gather(at + part(&s, &s.w), mids, inside(&s, &s.w), 6)
        mid_momentum(mass, com, Ic, constant3(m.g), &s)
        # c and I; n, f, gn and gf
        vt_scatter(inside(&s, &s.c), at + part(&s, &s.c), mids, 9)
        vt_scatter(inside(&s, &s.n), at + part(&s, &s.n), mids, 12)


offered.lanes, offered.half_turns, offered.momenta = VT_WIDTH, half_turns_in_lanes, momenta_in_lanes
offered.turn_gains, offered.middles = turn_gains_in_lanes, middles_in_lanes
offered.layout = (sizeof(Node) + 100 * sizeof(Trial) + 10000 * (sizeof(Gains) + 100 * sizeof(Solve))
                  + 1000 * sizeof(MidBody)) // sizeof(vt_real) + sizeof(vt_body)


def bodies_in_lanes():
    """The address of this module's functions for those of one lane, for ``take_bodies_of``."""
    return <size_t>&offered
