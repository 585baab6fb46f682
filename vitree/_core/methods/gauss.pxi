# The stages of a step by Gauss collocation as lanes (Ober-Bloebaum & Saake 2015; Hall & Leok 2015). The stepper, of one
# lane, stores arrays [quantity][stage]; these kernels process them in blocks of their number of lanes. Stages beyond
# the last are copies of it. Every lane has the bits of one lane alone, so results do not depend on it.
#
# Coordinates of the stages: those of joints of one coordinate; of a free joint its place x and linear momentum in the
# parent's axes E at rest; of ball and free joints the turn R(t) = Rm ch(z(t)) about the middle of the step, with
#     ch(z) = quaternion (z/2, 1 - k)/(1 + k), k = |z|^2/16;  B(z) = (1 - k) 1 + z^/2 + z z^T/8;  w = D z', D^-1 = B
# and the momentum N in the parent's axes, of a free joint J = N + x x P about the parent's place of the joint.
#
# A tree with a free joint at its root floats: its coordinate is the centre of mass X = x + R h/m of the tree, h the first
# moment about the root's origin and m the mass of the tree. L = |P|^2/(2 m) + m g.X + L', with P = m X' and L' of the
# velocities relative to U = P/m, so that uniform motion and gravity do not reach the other coordinates. Momenta of the
# stages are those of L'; N is about X. A force f at x is f of X and the generalized inertial force of -f/m of all bodies.

cdef struct GaussBody:      # a sweep, the body's axes and origin
    Mat3 R                  # in the parent's axes
    Vec3 p
    Vec3 w
    Vec3 u
    Vec3 g
    Vec3 h                  # of the subtree: first moment, and momentum
    Vec3 n
    Vec3 f

cdef struct GaussInertia:   # data of the factors
    Mat3 R
    Articulated I

cdef struct GaussFactor:    # M^-1 of one coordinate
    Vec3 z
    Vec3 t
    Vec3 Un                 # U D^-1 as a wrench about the parent's origin
    Vec3 Uf
    vt_real Dinv
    vt_real u
    Vec3 n                  # leaves to root a momentum, root to leaves a twist
    Vec3 f

cdef struct GaussMulti:     # the same of several
    Mat3 R
    Mat3 E                  # axes of the linear part
    Mat3 H
    Sym3 J                  # inverses: of J, or of J - H M^-1 H^T of a free joint
    Sym3 M

cdef struct GaussTurn:      # of several coordinates: where the chart begins and ends, and its middle
    double z0[3]
    double z1[3]
    double middle[4]

cdef enum:
    PAIRS = 3               # passes that are combined to the next correction
    OTHERS = PAIRS - 1
    MOST_BLOCKS = 8

cdef struct Mixing:         # Anderson's method: corrections d and residuals r = M d of passes; V came to its point by u
    int count               # of pairs: changes of d and r from pass to pass, and of V + d, orthogonal in M
    int next                # to be replaced
    bint known              # there is a previous pass
    double size[PAIRS]      # d.r
    vt_real* d              # (PAIRS, n) with n = (nv, lanes)
    vt_real* r
    vt_real* s
    vt_real* last_d         # (n,) of the previous pass
    vt_real* last_r
    vt_real* u

cdef struct GaussStep:
    const vt_model* m
    const double* below     # (nbody,) [kg] mass of the subtree
    const int* root         # (nbody,) the free joint at the root of the body's tree, or -1
    const double* relative  # (nv,) 0 of the linear coordinates of these joints, whose P is that of the whole; or 1
    bint moments            # whether places and first moments of floating trees are needed, for forces on them
    int floating            # number of these joints, and (floating,) their bodies
    const int* floats
    const double* start     # (nbody, 3) R h/m of these joints at the start of the step
    int lines               # number of coordinates along lines, and (lines,) their indices
    const int* line_q
    const int* line_v
    int stages
    int lanes               # of the arrays
    double h
    const double* hb        # (stages,) h b_j
    const double* hd        # (stages,) h d_j
    const vt_real* hA       # (stages, lanes): h a_ij at [j][i]
    const vt_real* E        # (2 stages, lanes): what extrapolates the stages of the step before the last and of the last
    bint far                # both are used
    const vt_real* share    # (lanes,) 1 - d_i/b_i
    const double* q         # (nq,) and (nv,) at the start of the step, and at its end
    const double* p
    double* q2
    double* p2
    const double* tau       # (nv,) joint forces of the whole step, or NULL
    const vt_real* V_last   # (2 nv, lanes) of the previous step, and of the one before
    const vt_real* F_last
    vt_real* Q              # (nq, lanes)
    vt_real* V              # (nv, lanes)
    vt_real* F              # (nv, lanes) dL/dq and forces
    vt_real* P              # (nv, lanes)
    vt_real* Pi             # (nv, lanes) dL/dv at (Q, V)
    vt_real* r              # (nv, lanes) P - Pi
    vt_real* dV             # (nv, lanes)
    vt_real* Z              # (3 nmulti, lanes), and its rate
    vt_real* C
    vt_real* f              # (3 nmulti, lanes) forces and momenta in the chart, and the rate of N or J
    vt_real* mu
    vt_real* n
    vt_real* extra          # (nv, lanes) terms of the factors beside the inertias, or NULL
    vt_real* norm           # (2, lanes) r.dV and P.V
    Mixing mixing
    GaussTurn* turn         # (nmulti,)
    GaussBody* body         # (blocks, nbody)
    GaussInertia* inertia   # (nbody,)
    GaussFactor* factor     # (blocks, nbody)
    GaussMulti* multi       # (blocks, nmulti)
    vt_real* room           # (blocks, nq + 2 nv)

ctypedef void (*GaussKernel)(GaussStep* step) noexcept nogil
ctypedef void (*GaussRounds)(GaussStep* step, int rounds) noexcept nogil

cdef struct GaussKernels:   # functions of a module for the stepper
    int lanes
    size_t layout           # of the structs that both modules know
    GaussKernel extrapolate
    GaussRounds place
    GaussKernel sweep
    GaussKernel share
    GaussRounds balance
    GaussKernel factor
    GaussKernel solve
    GaussKernel correct
    GaussKernel combine

cdef GaussKernels gauss_offered


cdef inline int gauss_blocks(const GaussStep* step) noexcept nogil:
    return step.lanes // VT_WIDTH


cdef inline const vt_real* gauss_take(const vt_real* rows, int n, int blocks, vt_real* room) noexcept nogil:
    # blocks of n quantities, one after the other
    cdef int k, block
    if blocks == 1:
        return rows
    for k in range(n):
        for block in range(blocks):
            room[block * n + k] = rows[k * blocks + block]
    return room


cdef inline vt_real gauss_mix(const GaussStep* step, const vt_real* A, const vt_real* x, int block) noexcept nogil:
    # sum over j of A_ij x_j in the stages i of a block; x: (lanes,) of a quantity
    return gauss_mixed(step.stages, gauss_blocks(step), A + block, <const double*>x)


cdef inline vt_real gauss_mixed(int stages, int blocks, const vt_real* A, const double* x) noexcept nogil:
    cdef int j
    cdef vt_real r = A[0] * vt_set1(x[0]) + A[blocks] * vt_set1(x[1])
    if stages > 2:
        r = r + A[2 * blocks] * vt_set1(x[2])
    if stages > 3:
        r = r + A[3 * blocks] * vt_set1(x[3])
    for j in range(4, stages):
        r = r + A[j * blocks] * vt_set1(x[j])
    return r


cdef inline double gauss_sum(const GaussStep* step, const double* weight, const vt_real* x) noexcept nogil:
    # sum over j of w_j x_j
    cdef int j
    cdef const double* from_stage = <const double*>x
    cdef double r = weight[0] * from_stage[0]
    for j in range(1, step.stages):
        r += weight[j] * from_stage[j]
    return r


cdef inline Vec3 gauss_sum3(const GaussStep* step, const double* weight, const vt_real* x) noexcept nogil:
    # the same of three quantities, in all lanes
    cdef int blocks = gauss_blocks(step)
    return vec3(vt_set1(gauss_sum(step, weight, x)), vt_set1(gauss_sum(step, weight, x + blocks)),
                vt_set1(gauss_sum(step, weight, x + 2 * blocks)))


cdef inline Vec3 gauss_mix3(const GaussStep* step, const vt_real* A, const vt_real* x, int block) noexcept nogil:
    cdef int blocks = gauss_blocks(step)
    return vec3(gauss_mix(step, A, x, block), gauss_mix(step, A, x + blocks, block),
                gauss_mix(step, A, x + 2 * blocks, block))


cdef inline Vec3 gauss_load3(const vt_real* rows, int blocks) noexcept nogil:
    return vec3(rows[0], rows[blocks], rows[2 * blocks])


cdef inline void gauss_store3(vt_real* rows, int blocks, Vec3 a) noexcept nogil:
    rows[0] = a.x
    rows[blocks] = a.y
    rows[2 * blocks] = a.z


cdef inline void gauss_keep3(double* to, Vec3 a) noexcept nogil:
    # of what is the same in all lanes
    to[0], to[1], to[2] = vt_get(a.x, 0), vt_get(a.y, 0), vt_get(a.z, 0)


cdef inline void gauss_keep4(double* to, Quat a) noexcept nogil:
    to[0], to[1], to[2], to[3] = vt_get(a.x, 0), vt_get(a.y, 0), vt_get(a.z, 0), vt_get(a.w, 0)


cdef inline Quat gauss_quat(const double* a) noexcept nogil:
    # the same in all lanes
    return quat(constant3(a), vt_set1(a[3]))


# ---- the chart -----------------------------------------------------------------------------------

cdef inline Quat chart_turn(Vec3 z) noexcept nogil:
    # ch(z)
    cdef vt_real k = 0.0625 * dot(z, z), s = vt_set1(1.0) / (1.0 + k)
    return quat(scale(0.5 * s, z), (1.0 - k) * s)


cdef inline Vec3 chart_rate(Vec3 z, Vec3 w) noexcept nogil:
    # B(z) w
    return axpy(0.125 * dot(z, w), z, axpy(vt_set1(0.5), cross(z, w), scale(1.0 - 0.0625 * dot(z, z), w)))


cdef inline Vec3 chart_momentum(Vec3 z, Vec3 m) noexcept nogil:
    # B(z)^T m
    return axpy(0.125 * dot(z, m), z, axpy(vt_set1(-0.5), cross(z, m), scale(1.0 - 0.0625 * dot(z, z), m)))


cdef inline Vec3 chart_pull(Vec3 z, Vec3 a) noexcept nogil:
    # D(z)^T a = B(z) a/(1 + k)^2
    cdef vt_real s = 1.0 + 0.0625 * dot(z, z)
    return scale(vt_set1(1.0) / (s * s), chart_rate(z, a))


cdef inline Vec3 chart_slope(Vec3 z, Vec3 m, Vec3 w) noexcept nogil:
    # grad_z m.B(z) w
    cdef Vec3 a = axpy(0.125 * dot(z, w), m, axpy(0.125 * dot(z, m), w, scale(vt_set1(0.5), cross(w, m))))
    return axpy(-0.125 * dot(m, w), z, a)


cdef inline int turn_at(const vt_body* b) noexcept nogil:
    # start of the coordinates of rotation among several
    return 3 if joint_floats(b) else 0


cdef inline int straight(const vt_body* b) noexcept nogil:
    # number of coordinates along lines
    return turn_at(b) if joint_multi(b) else 1


# ---- configurations and momenta of the stages ------------------------------------------------------

cdef void gauss_extrapolate(GaussStep* step) noexcept nogil:
    # V_i = sum E_ij V_j of the steps before, and the same of F
    cdef int i, k, block, blocks = gauss_blocks(step), before = step.m.nv * blocks
    cdef const vt_real* E = step.E + step.stages * blocks
    cdef vt_real V, F
    for i in range(step.m.nv):
        k = i * blocks
        for block in range(blocks):
            V = gauss_mix(step, E, step.V_last + k, block)
            F = gauss_mix(step, E, step.F_last + k, block)
            if step.far:
                V = V + gauss_mix(step, step.E, step.V_last + before + k, block)
                F = F + gauss_mix(step, step.E, step.F_last + before + k, block)
            step.V[k + block] = V
            step.F[k + block] = F


cdef void gauss_place(GaussStep* step, int rounds) noexcept nogil:
    # Q_i = q0 + h sum a_ij V_j, and of several coordinates q1 = q0 + h sum b_j V_j
    cdef int i
    gauss_lines(step, step.line_q, step.q, step.V, step.Q)
    for i in range(step.m.nbody if step.m.nmulti else 0):
        if joint_multi(&step.m.body[i]):
            gauss_ends(step, &step.m.body[i], step.m.body[i].iq, step.q, step.V, step.q2)
            gauss_turn(step, &step.m.body[i], rounds)


cdef inline void gauss_ends(const GaussStep* step, const vt_body* b, int at, const double* start, const vt_real* rate,
                            double* end) noexcept nogil:
    # start + h sum b_j rate_j of the coordinates along lines of a joint that has several, from the entry `at`
    cdef int k
    for k in range(turn_at(b)):
        end[at + k] = start[at + k] + gauss_sum(step, step.hb, rate + (b.iv + k) * gauss_blocks(step))


cdef void gauss_lines(const GaussStep* step, const int* at, const double* start, const vt_real* rate,
                      vt_real* out) noexcept nogil:
    # start + h sum a_ij rate_j of the coordinates along lines, at[k] of them in start and out
    cdef const vt_real* A = step.hA
    cdef const int* iv = step.line_v
    cdef int k, block, lines = step.lines, stages = step.stages, blocks = gauss_blocks(step)
    for k in range(lines):
        for block in range(blocks):
            out[at[k] * blocks + block] = vt_set1(start[at[k]]) + gauss_mixed(stages, blocks, A + block,
                                                                             <const double*>(rate + iv[k] * blocks))


cdef void gauss_turn(GaussStep* step, const vt_body* b, int rounds) noexcept nogil:
    # z_i = h sum (a_ij - d_j) B(z_j) w_j, z_0 = -h sum d_j B w, z_1 = z_0 + h sum b_j B w;  R_i = R0 ch(z_0)^-1 ch(z_i)
    cdef int k, block, blocks = gauss_blocks(step)
    cdef int iq = b.iq + turn_at(b), iv = b.iv + turn_at(b)
    cdef GaussTurn* turn = &step.turn[b.multi]
    cdef vt_real* Z = step.Z + 3 * b.multi * blocks
    cdef vt_real* C = step.C + 3 * b.multi * blocks
    cdef vt_real* at
    cdef Vec3 z0, z1
    cdef Quat middle, x
    for k in range(rounds):
        for block in range(blocks):
            gauss_store3(C + block, blocks, chart_rate(gauss_load3(Z + block, blocks),
                                                       gauss_load3(step.V + iv * blocks + block, blocks)))
        z0 = neg(gauss_sum3(step, step.hd, C))
        for block in range(blocks):
            gauss_store3(Z + block, blocks, add(z0, gauss_mix3(step, step.hA, C, block)))
    z1 = add(z0, gauss_sum3(step, step.hb, C))
    x = chart_turn(z0)
    middle = quat_mul(gauss_quat(step.q + iq), quat(neg(quat_vec(x)), x.w))
    for block in range(blocks):
        x = quat_mul(middle, chart_turn(gauss_load3(Z + block, blocks)))
        at = step.Q + iq * blocks + block
        gauss_store3(at, blocks, quat_vec(x))
        at[3 * blocks] = x.w
    gauss_keep3(turn.z0, z0)
    gauss_keep3(turn.z1, z1)
    gauss_keep4(turn.middle, middle)
    gauss_keep4(step.q2 + iq, quat_normalised(quat_mul(middle, chart_turn(z1))))


cdef void gauss_balance(GaussStep* step, int rounds) noexcept nogil:
    # P_i = p0 + h sum a_ij F_j, and of several coordinates p1 = p0 + h sum b_j F_j
    cdef int i
    gauss_lines(step, step.line_v, step.p, step.F, step.P)
    for i in range(step.m.nbody if step.m.nmulti else 0):
        if joint_multi(&step.m.body[i]):
            gauss_ends(step, &step.m.body[i], step.m.body[i].iv, step.p, step.F, step.p2)
            gauss_balance_turn(step, &step.m.body[i], rounds)


cdef void gauss_balance_turn(GaussStep* step, const vt_body* b, int rounds) noexcept nogil:
    # N1 = N0 + h sum b_i n_i, n = R F (free, not floating: J, n = R F + x x F_x);  f = D^T G - grad_z mu.B w, G = F (free,
    # not floating: F - R^T (x' x P_x));
    # mu_i = mu_0 + h sum a_ij f_j + (1 - d_i/b_i) eps, eps = mu_1 - mu_0 - h sum b f;  P_i = B(z_i)^T mu_i
    cdef int k, block, blocks = gauss_blocks(step)
    cdef int iq = b.iq + turn_at(b), iv = b.iv + turn_at(b)
    cdef bint placed = joint_floats(b) and b.parent >= 0
    cdef GaussTurn* turn = &step.turn[b.multi]
    cdef vt_real* Z = step.Z + 3 * b.multi * blocks
    cdef vt_real* f = step.f + 3 * b.multi * blocks
    cdef vt_real* mu = step.mu + 3 * b.multi * blocks
    cdef vt_real* n = step.n + 3 * b.multi * blocks
    cdef const vt_real* at
    cdef Mat3 R
    cdef Vec3 z, w, F, G, turned_by, N0, N1, mu0, mu1, eps
    for block in range(blocks):
        # G, which needs no mu, is kept where P will be
        at = step.Q + iq * blocks + block
        R = quat_matrix(quat(gauss_load3(at, blocks), at[3 * blocks]))
        F = gauss_load3(step.F + iv * blocks + block, blocks)
        G = F
        turned_by = mul(R, F)
        if placed:
            turned_by = add(turned_by, cross(gauss_load3(step.Q + b.iq * blocks + block, blocks),
                                             gauss_load3(step.F + b.iv * blocks + block, blocks)))
            G = sub(G, tmul(R, cross(gauss_load3(step.V + b.iv * blocks + block, blocks),
                                     gauss_load3(step.P + b.iv * blocks + block, blocks))))
        gauss_store3(n + block, blocks, turned_by)
        gauss_store3(step.P + iv * blocks + block, blocks, chart_pull(gauss_load3(Z + block, blocks), G))
    N0 = constant3(step.p + iv)
    N1 = add(N0, gauss_sum3(step, step.hb, n))
    gauss_keep3(step.p2 + iv, N1)
    if placed:
        N0 = sub(N0, cross(constant3(step.q + b.iq), constant3(step.p + b.iv)))
        N1 = sub(N1, cross(constant3(step.q2 + b.iq), constant3(step.p2 + b.iv)))
    mu0 = chart_pull(constant3(turn.z0), tmul(quat_matrix(gauss_quat(step.q + iq)), N0))
    mu1 = chart_pull(constant3(turn.z1), tmul(quat_matrix(gauss_quat(step.q2 + iq)), N1))
    for k in range(rounds):
        for block in range(blocks):
            z = gauss_load3(Z + block, blocks)
            w = gauss_load3(step.V + iv * blocks + block, blocks)
            gauss_store3(f + block, blocks, sub(gauss_load3(step.P + iv * blocks + block, blocks),
                                                chart_slope(z, gauss_load3(mu + block, blocks), w)))
        eps = sub(sub(mu1, mu0), gauss_sum3(step, step.hb, f))
        for block in range(blocks):
            gauss_store3(mu + block, blocks, axpy(step.share[block], eps,
                                                  add(mu0, gauss_mix3(step, step.hA, f, block))))
    for block in range(blocks):
        gauss_store3(step.P + iv * blocks + block, blocks,
                     chart_momentum(gauss_load3(Z + block, blocks), gauss_load3(mu + block, blocks)))


# ---- F = dL/dq and Pi = dL/dv --------------------------------------------------------------------

cdef void gauss_sweep(GaussStep* step) noexcept nogil:
    # of all stages, and in F damping, friction and the joint forces of the whole step. Blocks are interleaved: each
    # body waits for the one before
    cdef const vt_model* m = step.m
    cdef int i, block, blocks = gauss_blocks(step)
    cdef const vt_real* q = gauss_take(step.Q, m.nq, blocks, step.room)
    cdef const vt_real* v = gauss_take(step.V, m.nv, blocks, step.room + blocks * m.nq)
    for i in range(m.nbody):
        for block in range(blocks):
            gauss_sweep_out(step, i, block, q + block * m.nq, v + block * m.nv)
    for i in range(m.nbody - 1, -1, -1):
        for block in range(blocks):
            gauss_sweep_in(step, i, block, q + block * m.nq, v + block * m.nv)
    if step.moments:
        for i in range(step.floating):
            gauss_place_root(step, step.floats[i])


cdef inline void gauss_place_root(GaussStep* step, int i) noexcept nogil:
    # x_i = X0 + h sum a_ij P_j/m - R_i h_i/m
    cdef const vt_body* b = &step.m.body[i]
    cdef const GaussBody* s
    cdef int block, blocks = gauss_blocks(step)
    cdef vt_real one = vt_set1(1.0 / step.below[i])
    cdef Mat3 E = constant_rotation(b.E)
    cdef Vec3 X0 = add(constant3(step.q + b.iq), constant3(step.start + 3 * i)), moment
    for block in range(blocks):
        s = &step.body[block * step.m.nbody + i]
        moment = sub(gauss_mix3(step, step.hA, step.P + b.iv * blocks, block), tmul(E, mul(s.R, s.h)))
        gauss_store3(step.Q + b.iq * blocks + block, blocks, axpy(one, moment, X0))


cdef void gauss_share(GaussStep* step) noexcept nogil:
    # for floating trees, F += S^T (h x g, m g) with g = -f/m, where f is the force at x that the sweep and the loads
    # left in F
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef GaussBody* s
    cdef int i, block, blocks = gauss_blocks(step)
    for i in range(m.nbody):
        if step.root[i] < 0:
            continue
        b = &m.body[i]
        for block in range(blocks):
            s = &step.body[block * m.nbody + i]
            if b.parent < 0:
                s.g = scale(vt_set1(1.0 / step.below[i]),
                            sub(gauss_weight(m, b, vt_set1(step.below[i])),
                                gauss_load3(step.F + b.iv * blocks + block, blocks)))
                s.g = tmul(s.R, mul(constant_rotation(b.E), s.g))
            else:
                s.g = tmul(s.R, step.body[block * m.nbody + b.parent].g)
            gauss_add_field(b, s, vt_set1(step.below[i]), step.F + b.iv * blocks + block, blocks)


cdef inline Vec3 gauss_weight(const vt_model* m, const vt_body* b, vt_real total) noexcept nogil:
    # m g of a floating tree, in the axes E of its root
    return scale(total, tmul(constant_rotation(b.E), constant3(m.g)))


cdef inline void gauss_add_field(const vt_body* b, const GaussBody* s, vt_real total, vt_real* to,
                                 int blocks) noexcept nogil:
    # to += S^T (h x g, m g), except for the linear coordinates of a root
    if not joint_multi(b):
        if b.kind != PRISMATIC:
            to[0] = to[0] + (s.h.x * s.g.y - s.h.y * s.g.x)
        if b.kind != REVOLUTE:
            to[0] = to[0] + slide_share(b) * (total * s.g.z)
        return
    if joint_floats(b) and b.parent >= 0:
        gauss_add3(to, blocks, tmul(constant_rotation(b.E), mul(s.R, scale(total, s.g))))
    gauss_add3(to + turn_at(b) * blocks, blocks, cross(s.h, s.g))


cdef inline void gauss_add3(vt_real* rows, int blocks, Vec3 a) noexcept nogil:
    gauss_store3(rows, blocks, add(gauss_load3(rows, blocks), a))


cdef void gauss_gather(const vt_model* m, const double* below, const vt_real* q, GaussBody* body) noexcept nogil:
    # poses, and first moments h of the subtrees
    cdef const vt_body* b
    cdef GaussBody* s
    cdef GaussBody* up
    cdef int i
    for i in range(m.nbody):
        b = &m.body[i]
        joint_pose(b, q, &body[i].R, &body[i].p)
        body[i].h = moment_of(b)
    for i in range(m.nbody - 1, -1, -1):
        s = &body[i]
        if m.body[i].parent >= 0:
            up = &body[m.body[i].parent]
            up.h = add(up.h, axpy(vt_set1(below[i]), s.p, mul(s.R, s.h)))


cdef inline void gauss_sweep_out(const GaussStep* step, int i, int block, const vt_real* q,
                                 const vt_real* v) noexcept nogil:
    # root to leaves: twist and gravity; h = m c, n = I w + h x u, f = w x h + m u
    cdef const vt_body* b = &step.m.body[i]
    cdef GaussBody* body = step.body + block * step.m.nbody
    cdef GaussBody* s = &body[i]
    cdef GaussBody* up
    cdef Vec3 w, u, whole
    cdef int blocks = gauss_blocks(step)
    joint_pose(b, q, &s.R, &s.p)
    if b.parent < 0:
        w = zero3()
        u = zero3()
        if step.root[i] < 0:
            s.g = tmul(s.R, constant3(step.m.g))
    else:
        up = &body[b.parent]
        w = tmul(s.R, up.w)
        u = tmul(s.R, add(up.u, cross(up.w, s.p)))
        if step.root[i] < 0:
            s.g = tmul(s.R, up.g)
    if joint_multi(b):
        whole = zero3()
        if joint_floats(b) and b.parent < 0:
            whole = scale(vt_set1(1.0 / step.below[i]), gauss_load3(step.P + b.iv * blocks + block, blocks))
        gauss_add_motion(b, q, v, whole, &w, &u)
    else:
        joint_add_own(b, v[b.iv], &w, &u)
    s.w = w
    s.u = u
    s.h = moment_of(b)
    s.n = add(symmul(inertia_of(b), w), cross(s.h, u))
    s.f = add(cross(w, s.h), scale(mass_of(b), u))


cdef inline void gauss_sweep_in(const GaussStep* step, int i, int block, const vt_real* q,
                                const vt_real* v) noexcept nogil:
    # leaves to root, of the subtree: F = S^T (h x g - w_p x n - u_p x f, m g - w_p x f), Pi = S^T (n, f). Along the axis
    # of one coordinate the twist before the joint, (w_p, u_p), may be that behind it. Floating trees have g = 0, and h
    # only where it is asked for
    cdef const vt_model* m = step.m
    cdef const vt_body* b = &m.body[i]
    cdef GaussBody* body = step.body + block * m.nbody
    cdef GaussBody* s = &body[i]
    cdef GaussBody* up
    cdef int blocks = gauss_blocks(step)
    cdef vt_real* F = step.F + block
    cdef vt_real* Pi = step.Pi + block
    cdef vt_real total = vt_set1(step.below[i]), force
    cdef bint falls = step.root[i] >= 0
    if joint_multi(b):
        gauss_project(step, b, s, total, falls, q, v, F, Pi, blocks)
    else:
        force = vt_set1(0.0)
        if b.kind != PRISMATIC:
            if not falls:
                force = s.h.x * s.g.y - s.h.y * s.g.x
            force = force - (s.w.x * s.n.y - s.w.y * s.n.x) - (s.u.x * s.f.y - s.u.y * s.f.x)
        if b.kind != REVOLUTE:
            if not falls:
                force = force + slide_share(b) * (total * s.g.z)
            force = force - slide_share(b) * (s.w.x * s.f.y - s.w.y * s.f.x)
        if m.damped:
            force = force - vt_set1(m.damping[b.iv]) * v[b.iv]
        if m.rubbing:
            force = force - friction_coefficient(m, b.iv, v[b.iv]) * v[b.iv]
        if step.tau != NULL:
            force = force + vt_set1(step.tau[b.iv])
        F[b.iv * blocks] = force
        force = s.n.z if b.kind == REVOLUTE else s.f.z if b.kind == PRISMATIC else s.n.z + b.pitch * s.f.z
        if m.rotors:
            force = force + vt_set1(m.armature[b.iv]) * v[b.iv]
        Pi[b.iv * blocks] = force
    if b.parent >= 0:
        up = &body[b.parent]
        hand_down(mul(s.R, s.n), mul(s.R, s.f), s.p, &up.n, &up.f)
        if step.moments or not falls:
            up.h = add(up.h, axpy(total, s.p, mul(s.R, s.h)))


cdef inline vt_real slide_share(const vt_body* b) noexcept nogil:
    # displacement of one coordinate along its axis
    return vt_set1(1.0 if b.kind == PRISMATIC else b.pitch)


cdef inline void joint_add_own(const vt_body* b, vt_real rate, Vec3* w, Vec3* u) noexcept nogil:
    # (w, u) += S rate of one coordinate, the body's axes
    if b.kind != PRISMATIC:
        w.z = w.z + rate
    if b.kind != REVOLUTE:
        u.z = u.z + slide_share(b) * rate


cdef inline Mat3 gauss_turned(const vt_body* b, const vt_real* q) noexcept nogil:
    # the rotation of several coordinates
    return quat_matrix(load_quat(q + b.iq + turn_at(b)))


cdef inline void gauss_add_motion(const vt_body* b, const vt_real* q, const vt_real* v, Vec3 whole, Vec3* w,
                                  Vec3* u) noexcept nogil:
    # the same for several: a free joint moves along the parent's axes at rest, if it floats relative to the whole
    w[0] = add(w[0], load3(v + b.iv + turn_at(b)))
    if joint_floats(b):
        u[0] = add(u[0], tmul(gauss_turned(b, q), sub(load3(v + b.iv), whole)))


cdef inline Vec3 gauss_joint_force(const GaussStep* step, int iv, Vec3 rate) noexcept nogil:
    # of three coordinates, in the body's axes: tau - damping v
    cdef Vec3 f = zero3()
    if step.tau != NULL:
        f = constant3(step.tau + iv)
    if step.m.damped:
        f = sub(f, vec3(vt_set1(step.m.damping[iv]) * rate.x, vt_set1(step.m.damping[iv + 1]) * rate.y,
                        vt_set1(step.m.damping[iv + 2]) * rate.z))
    return f


cdef inline void gauss_project(const GaussStep* step, const vt_body* b, const GaussBody* s, vt_real total, bint falls,
                               const vt_real* q, const vt_real* v, vt_real* F, vt_real* Pi, int blocks) noexcept nogil:
    # F and Pi of several coordinates
    cdef int iv = b.iv + turn_at(b)
    cdef Vec3 w = sub(s.w, load3(v + iv)), u = s.u, x, force
    cdef Mat3 R
    if joint_floats(b):
        R = gauss_turned(b, q)
        x = tmul(R, load3(v + b.iv))
        gauss_store3(Pi + b.iv * blocks, blocks, mul(R, s.f))
        if b.parent < 0:
            force = gauss_joint_force(step, b.iv, x)
            gauss_store3(F + b.iv * blocks, blocks, add(mul(R, force), gauss_weight(step.m, b, total)))
            gauss_store3(F + iv * blocks, blocks, gauss_joint_force(step, iv, load3(v + iv)))
            gauss_store3(Pi + iv * blocks, blocks, s.n)
            return
        u = sub(u, x)
        force = neg(cross(w, s.f))
        if not falls:
            force = add(force, scale(total, s.g))
        force = add(force, gauss_joint_force(step, b.iv, x))
        gauss_store3(F + b.iv * blocks, blocks, mul(R, force))
    force = neg(add(cross(w, s.n), cross(u, s.f)))
    if not falls:
        force = add(force, cross(s.h, s.g))
    gauss_store3(F + iv * blocks, blocks, add(force, gauss_joint_force(step, iv, load3(v + iv))))
    gauss_store3(Pi + iv * blocks, blocks, s.n)


cdef inline Mat3 gauss_axes(const vt_body* b, const Mat3* up) noexcept nogil:
    # of the linear part of a free joint, in the world
    cdef Mat3 E = constant_rotation(b.E)
    return E if up == NULL else mul3(up[0], E)


# ---- the mass matrices ---------------------------------------------------------------------------

cdef void gauss_factor(GaussStep* step) noexcept nogil:
    # M(Q_i), plus `extra`
    cdef int block, blocks = gauss_blocks(step)
    cdef const vt_real* q = gauss_take(step.Q, step.m.nq, blocks, step.room)
    for block in range(blocks):
        gauss_factor_block(step, q + block * step.m.nq, block, blocks)


cdef inline void gauss_factor_block(GaussStep* step, const vt_real* q, int block, int blocks) noexcept nogil:
    # articulated inertias (Featherstone 2008, table 7.1)
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef GaussInertia* s
    cdef GaussFactor* x
    cdef vt_real D, r
    cdef Vec3 n, f
    cdef Sym3 J, M
    cdef Mat3 H
    cdef int i
    for i in range(m.nbody):
        b = &m.body[i]
        s = &step.inertia[i]
        x = &step.factor[block * m.nbody + i]
        place_body(b, q, &step.inertia[b.parent].R if b.parent >= 0 else NULL, &s.R, &x.t)
        s.I.J = rotate_sym(s.R, inertia_of(b))
        s.I.H = hat(mul(s.R, moment_of(b)))
        s.I.M = diagonal(mass_of(b))
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &step.inertia[i]
        x = &step.factor[block * m.nbody + i]
        if joint_multi(b):
            gauss_factor_multi(step, i, &step.multi[block * m.nmulti + b.multi], x.t)
            continue
        # U = I S, D = S^T U + armature; the parent gets I - U D^-1 U^T
        x.z = s.R.z
        joint_inertia_column(b, x.z, &s.I, &n, &f)
        D = joint_pairing(b, x.z, n, f) + vt_set1(m.armature[b.iv])
        if step.extra != NULL:
            D = D + step.extra[b.iv * blocks + block]
        r = vt_set1(1.0) / D
        if b.locked:
            r = vt_set1(0.0)
        x.Dinv = r
        if b.parent >= 0:
            x.Uf = scale(r, f)
            x.Un = add(scale(r, n), cross(x.t, x.Uf))
            J = minus_outer(s.I.J, r, n)
            M = minus_outer(s.I.M, r, f)
            H = outer(-r, n, f, s.I.H)
            hand_down_inertia(&step.inertia[b.parent].I, x.t, J, H, M)


cdef inline void gauss_factor_multi(GaussStep* step, int i, GaussMulti* x, Vec3 t) noexcept nogil:
    # the parent gets M - H^T J^-1 H from a ball, nothing from a free joint
    cdef const vt_body* b = &step.m.body[i]
    cdef GaussInertia* s = &step.inertia[i]
    x.R = s.R
    x.H = s.I.H
    if joint_floats(b):
        x.E = gauss_axes(b, &step.inertia[b.parent].R if b.parent >= 0 else NULL)
        x.M = sym_inverse(s.I.M)
        x.J = sym_inverse(subsym(s.I.J, congruence(x.H, x.M)))
        return
    x.J = sym_inverse(s.I.J)
    if b.parent >= 0:
        hand_down_inertia(&step.inertia[b.parent].I, t, zero_sym(), zero33(),
                          subsym(s.I.M, congruence(transpose(x.H), x.J)))


cdef void gauss_solve(GaussStep* step) noexcept nogil:
    # V = M^-1 P, and for floating trees U = P/m in addition
    cdef int i, k, at, block, blocks = gauss_blocks(step), nv = step.m.nv
    cdef vt_real* p = step.room
    cdef vt_real* out = step.room + blocks * nv
    for k in range(nv):
        for block in range(blocks):
            p[block * nv + k] = vt_set1(step.relative[k]) * step.P[k * blocks + block]
    gauss_respond(step, p, out)
    for k in range(nv):
        for block in range(blocks):
            step.V[k * blocks + block] = out[block * nv + k]
    for i in range(step.floating):
        for k in range(3):
            for block in range(blocks):
                at = (step.m.body[step.floats[i]].iv + k) * blocks + block
                step.V[at] = step.V[at] + vt_set1(1.0 / step.below[step.floats[i]]) * step.P[at]


cdef void gauss_correct(GaussStep* step) noexcept nogil:
    # r = P - Pi, dV = M^-1 r, V += dV; norm: r.dV and P.V. For floating trees P' = 0 is the relative momentum
    cdef const vt_model* m = step.m
    cdef int i, k, at, block, blocks = gauss_blocks(step), nv = step.m.nv
    cdef vt_real* r = step.r if blocks == 1 else step.room
    cdef vt_real* out = step.dV if blocks == 1 else step.room + blocks * nv
    cdef vt_real change, size
    for i in range(m.nbody if m.nlocked else 0):
        if m.body[i].locked:
            for block in range(blocks):
                at = m.body[i].iv * blocks + block
                step.P[at] = step.Pi[at]
    for k in range(nv):
        for block in range(blocks):
            at = k * blocks + block
            step.r[at] = vt_set1(step.relative[k]) * step.P[at] - step.Pi[at]
            r[block * nv + k] = step.r[at]
    gauss_respond(step, r, out)
    for block in range(blocks):
        change = vt_set1(0.0)
        size = vt_set1(0.0)
        for k in range(nv):
            at = k * blocks + block
            step.dV[at] = out[block * nv + k]
            change = change + step.r[at] * step.dV[at]
            step.V[at] = step.V[at] + step.dV[at]
            size = size + vt_set1(step.relative[k]) * step.P[at] * step.V[at]
        step.norm[block] = change
        step.norm[blocks + block] = size


cdef inline double gauss_total(int lanes, const vt_real* x) noexcept nogil:
    # the sum over lanes, in their order
    cdef int i
    cdef const double* of_lane = <const double*>x
    cdef double total = of_lane[0]
    for i in range(1, lanes):
        total += of_lane[i]
    return total


cdef void gauss_combine(GaussStep* step) noexcept nogil:
    # V, with dV added, becomes the combination of the recent passes with the smallest correction in the norm of M
    # (Anderson 1965; Walker & Ni 2011)
    cdef Mixing* x = &step.mixing
    cdef int i, j, k, coordinate, count = 0, blocks = gauss_blocks(step), n = step.m.nv * blocks
    cdef const vt_real* d = step.dV
    cdef const vt_real* r = step.r
    cdef vt_real* new_d = x.d + x.next * n
    cdef vt_real* new_r = x.r + x.next * n
    cdef vt_real* new_s = x.s + x.next * n
    cdef const vt_real* at_d[OTHERS]
    cdef const vt_real* at_r[OTHERS]
    cdef const vt_real* at_s[OTHERS]
    cdef double size[OTHERS]
    cdef double share[PAIRS]
    cdef vt_real total[MOST_BLOCKS * PAIRS]
    cdef vt_real part[PAIRS]
    cdef vt_real norm[MOST_BLOCKS]
    cdef double least, enough
    cdef vt_real a, b, c
    if not x.known:
        for k in range(n):
            x.last_d[k], x.last_r[k], x.u[k] = d[k], r[k], d[k]
        x.known = True
        return
    # the other pairs; r itself, with a share of zero, in place of those that there are not
    for j in range(OTHERS):
        at_d[j] = at_r[j] = at_s[j] = r
        size[j] = INFINITY
    for j in range(x.count):
        if j != x.next and x.size[j] > 0.0:
            at_d[count], at_r[count], at_s[count], size[count] = x.d + j * n, x.r + j * n, x.s + j * n, x.size[j]
            count += 1
    # the change since the previous pass ..
    for i in range(blocks):
        for j in range(PAIRS):
            part[j] = vt_set1(0.0)
        for coordinate in range(step.m.nv):
            k = coordinate * blocks + i
            a = d[k] - x.last_d[k]
            b = r[k] - x.last_r[k]
            new_d[k], new_r[k], new_s[k] = a, b, x.u[k] + a
            for j in range(OTHERS):
                part[j] = part[j] + at_r[j][k] * a
            part[OTHERS] = part[OTHERS] + a * b
        for j in range(PAIRS):
            total[j * blocks + i] = part[j]
    for j in range(PAIRS):
        share[j] = gauss_total(step.lanes, total + j * blocks)
    least = 1e-10 * share[OTHERS]
    for j in range(OTHERS):
        share[j] = -share[j] / size[j]
    # .. becomes orthogonal to the others in M
    for i in range(blocks):
        for j in range(PAIRS):
            part[j] = vt_set1(0.0)
        c = vt_set1(0.0)
        for coordinate in range(step.m.nv):
            k = coordinate * blocks + i
            a, b = new_d[k], new_r[k]
            for j in range(OTHERS):
                a = a + share[j] * at_d[j][k]
                b = b + share[j] * at_r[j][k]
                new_s[k] = new_s[k] + share[j] * at_s[j][k]
                part[j] = part[j] + at_d[j][k] * r[k]
            new_d[k], new_r[k] = a, b
            part[OTHERS] = part[OTHERS] + a * r[k]
            c = c + a * b
        for j in range(PAIRS):
            total[j * blocks + i] = part[j]
        norm[i] = c
    for j in range(PAIRS):
        share[j] = -gauss_total(step.lanes, total + j * blocks)
    for j in range(OTHERS):
        share[j] /= size[j]
    enough = gauss_total(step.lanes, norm)
    x.size[x.next] = 0.0
    if enough > least:
        x.size[x.next] = enough
        share[OTHERS] /= enough
        x.count = max(x.count, x.next + 1)
        x.next = (x.next + 1) % PAIRS
    else:
        share[OTHERS] = 0.0
    for k in range(n):
        c = share[OTHERS] * new_s[k]
        for j in range(OTHERS):
            c = c + share[j] * at_s[j][k]
        x.last_d[k], x.last_r[k], x.u[k] = d[k], r[k], d[k] + c
        step.V[k] = step.V[k] + c


cdef inline void gauss_respond(GaussStep* step, const vt_real* p, vt_real* out) noexcept nogil:
    # out = M^-1 p of all blocks by the factors
    cdef const vt_model* m = step.m
    cdef int i, block, blocks = gauss_blocks(step)
    for i in range(m.nbody * blocks):
        step.factor[i].n = zero3()
        step.factor[i].f = zero3()
    for i in range(m.nbody - 1, -1, -1):
        for block in range(blocks):
            gauss_respond_in(&m.body[i], step.factor + block * m.nbody, i, step.multi + block * m.nmulti,
                             p + block * m.nv)
    for i in range(m.nbody):
        for block in range(blocks):
            gauss_respond_out(&m.body[i], step.factor + block * m.nbody, i, step.multi + block * m.nmulti,
                              p + block * m.nv, out + block * m.nv)


cdef inline void gauss_respond_in(const vt_body* b, GaussFactor* x, int i, const GaussMulti* multi,
                                  const vt_real* p) noexcept nogil:
    # leaves to root: u = p - S^T (n, f), and the parent gets (n, f) + U D^-1 u
    cdef GaussFactor* s = &x[i]
    cdef GaussFactor* up
    cdef Vec3 n, f
    if joint_multi(b):
        if b.parent >= 0:
            gauss_respond_multi(b, &multi[b.multi], p, s.n, s.f, &n, &f)
            hand_down(n, f, s.t, &x[b.parent].n, &x[b.parent].f)
        return
    s.u = joint_remainder(b, s.z, p[b.iv], s.n, s.f)
    if b.parent >= 0:
        up = &x[b.parent]
        hand_down(s.n, s.f, s.t, &up.n, &up.f)
        up.n = axpy(s.u, s.Un, up.n)
        up.f = axpy(s.u, s.Uf, up.f)


cdef inline void gauss_respond_out(const vt_body* b, GaussFactor* x, int i, const GaussMulti* multi, const vt_real* p,
                                   vt_real* out) noexcept nogil:
    # root to leaves: D^-1 u - (U D^-1)^T a with the parent's twist a
    cdef GaussFactor* s = &x[i]
    cdef GaussFactor* up = &x[b.parent] if b.parent >= 0 else NULL
    cdef Vec3 n, f
    cdef vt_real r
    if up == NULL:
        n = zero3()
        f = zero3()
    else:
        carry(up.n, up.f, s.t, &n, &f)
    if joint_multi(b):
        gauss_move_multi(b, &multi[b.multi], p, s.n, s.f, &n, &f, out)
    else:
        r = s.Dinv * s.u
        if up != NULL:
            r = r - (dot(s.Un, up.n) + dot(s.Uf, up.f))
        out[b.iv] = r
        joint_add(b, s.z, r, &n, &f)
    s.n = n
    s.f = f


cdef inline void gauss_respond_multi(const vt_body* b, const GaussMulti* x, const vt_real* p, Vec3 bn, Vec3 bf,
                                     Vec3* n, Vec3* f) noexcept nogil:
    # of several coordinates: the contribution to the parent
    n[0] = mul(x.R, load3(p + b.iv + turn_at(b)))
    if joint_floats(b):
        f[0] = mul(x.E, load3(p + b.iv))
    else:
        f[0] = add(bf, tmul(x.H, symmul(x.J, sub(n[0], bn))))


cdef inline void gauss_move_multi(const vt_body* b, const GaussMulti* x, const vt_real* p, Vec3 bn, Vec3 bf, Vec3* w,
                                  Vec3* v, vt_real* out) noexcept nogil:
    # the parent's twist becomes the body's
    cdef Vec3 n = sub(mul(x.R, load3(p + b.iv + turn_at(b))), bn), f, u, d
    if joint_floats(b):
        f = sub(mul(x.E, load3(p + b.iv)), bf)
        u = symmul(x.J, sub(n, mul(x.H, symmul(x.M, f))))
        d = symmul(x.M, sub(f, tmul(x.H, u)))
        store3(out + b.iv, tmul(x.E, sub(d, v[0])))
        v[0] = d
    else:
        u = symmul(x.J, sub(n, mul(x.H, v[0])))
    store3(out + b.iv + turn_at(b), tmul(x.R, sub(u, w[0])))
    w[0] = u


cdef void gauss_end(GaussStep* step) noexcept nogil:
    # of one coordinate: q1 = q0 + h sum b_j V_j, p1 = p0 + h sum b_j F_j
    cdef const vt_body* b
    cdef int i, blocks = gauss_blocks(step)
    for i in range(step.m.nbody):
        b = &step.m.body[i]
        if not joint_multi(b):
            step.q2[b.iq] = step.q[b.iq] + gauss_sum(step, step.hb, step.V + b.iv * blocks)
            step.p2[b.iv] = step.p[b.iv] + gauss_sum(step, step.hb, step.F + b.iv * blocks)


gauss_offered.lanes, gauss_offered.extrapolate, gauss_offered.place = VT_WIDTH, gauss_extrapolate, gauss_place
gauss_offered.sweep, gauss_offered.share, gauss_offered.balance = gauss_sweep, gauss_share, gauss_balance
gauss_offered.factor, gauss_offered.solve, gauss_offered.correct = gauss_factor, gauss_solve, gauss_correct
gauss_offered.combine = gauss_combine
gauss_offered.layout = (sizeof(GaussBody) + 100 * sizeof(GaussInertia) + 10000 * (sizeof(GaussFactor)
                        + 100 * sizeof(GaussMulti))) // sizeof(vt_real) + sizeof(vt_body) + sizeof(GaussStep)


def stages_in_lanes():
    """The address of this module's functions for the stages of a step, for ``make_gauss`` of gauss/gauss.pxi."""
    return <size_t>&gauss_offered
