# Derivatives of inverse and forward dynamics (Carpentier & Mansard 2018; Singh, Russell & Wensing 2022), by
# displacements of the body where a joint has several coordinates, as q (+) d has them.
#
# World axes, each body's own origin as reference. Of a joint with columns S and parent's motion (w', dw', a') at the
# body's origin, seen by an observer that moves as the parent's point does there:
#     Q = w' x S             what a displacement along S adds to the velocity of all outboard, as they turn with it
#     A = dw' x S + a' x S + w' x Q       and to their acceleration
#     C = Q + (w, slide) x S              what a rate along S adds to the acceleration
# A body that moves so is pushed by I A + D Q, or by I C + D S, where I is its inertia and
#     D (a, b) = (N a, -2 P x a),  N = w^ J - J w^ - (J w)^ - 2 h^ u^,  P = m u + w x h
# with u the velocity of its origin for the observer. I and D of all outboard bodies are sums. With k a column of a body,
# and j one of the same body or of one that it hangs on:
#     dtau_k/dq_j = X2_k.Q_j + X1_k.A_j,   dtau_k/dv_j = X2_k.S_j + X1_k.C_j,   X1 = I S,  X2 = D^T S
#     dtau_j/dq_k = S_j.Y1_k,              dtau_j/dv_k = S_j.Y2_k,              Y1 = I A + D Q + S x* F,  Y2 = I C + D S
# F is the wrench that moves all outboard. D takes angular velocities alone, so Q and S stand for their angular parts
# there. To go down to the parent is a shift of wrenches, and another observer, by whom D changes.

cdef enum:
    COLUMN = 21         # numbers of an outboard column, in rows: X1 (force, torque), X2, Y1 (force, torque), Y2 (both)
    X2_ROW = 6
    Y1_ROW = 9
    Y2_ROW = 15
    STRIP = 4           # how many vectors of columns are solved for at once

cdef struct SlopeBody:
    CrbaBody all        # inertia of all that is outboard
    Mat3 N
    Vec3 P
    Vec3 n              # wrench that moves it
    Vec3 f
    Vec3 slide          # velocity that the joint gives to the body's origin

cdef struct Change:     # what a displacement along a column, and a rate, add to motions
    Vec3 w              # S
    Vec3 v
    Vec3 Qw
    Vec3 Aw
    Vec3 Av
    Vec3 Cw
    Vec3 Cv


cdef void slope_motion(const vt_model* m, const double* gravity, const vt_real* q, const vt_real* v, const vt_real* a,
                       AbaBody* x) noexcept nogil:
    # root to leaves: poses, velocities and accelerations as `aba` leaves them
    cdef int i
    cdef const vt_body* b
    cdef AbaBody* s
    cdef Vec3 g = gravity_from(m, gravity)
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        aba_place(b, q, v, x, s)
        aba_carry(b, s, g, x, &s.dw, &s.a)
        if not joint_multi(b):
            joint_add(b, s.R.z, a[b.iv], &s.dw, &s.a)
        else:
            add_joint_velocity(b, s.R, a, &s.dw, &s.a)


cdef inline Mat3 minus_hats(Mat3 A, Vec3 a, Vec3 b) noexcept nogil:
    # A - 2 a^ b^, where a^ b^ = b a^T - a.b 1
    return plus_diagonal(outer(vt_set1(-2.0), b, a, A), 2.0 * dot(a, b))


cdef inline void rigid_slopes(const vt_body* b, const vt_real* v, const AbaBody* x, SlopeBody* s, int i) noexcept nogil:
    # of one body: inertia, D, and the wrench that moves it
    cdef Vec3 w = x.w, Jw, turn
    cdef Mat3 A
    s.all.mass = mass_of(b)
    s.all.h = mul(x.R, moment_of(b))
    s.all.J = rotate_sym(x.R, inertia_of(b))
    s.all.last = i
    s.all.count = 1
    turn = zero3()
    s.slide = zero3()
    if joint_slides(b):
        add_joint_velocity(b, x.R, v, &turn, &s.slide)
    # w^ J - J w^ is w^ J and its transpose
    Jw = symmul(s.all.J, w)
    A = cross_mat(w, full(s.all.J))
    s.N = sub3(add3(A, transpose(A)), hat(Jw))
    s.P = cross(w, s.all.h)
    # n = J dw + w x J w + h x a, f = m a + dw x h + w x (w x h)
    s.n = add(add(symmul(s.all.J, x.dw), cross(w, Jw)), cross(s.all.h, x.a))
    s.f = add(scale(s.all.mass, x.a), add(cross(x.dw, s.all.h), cross(w, s.P)))
    if joint_slides(b):
        s.N = minus_hats(s.N, s.all.h, s.slide)
        s.P = axpy(s.all.mass, s.slide, s.P)


cdef inline void hand_down_slopes(SlopeBody* up, const SlopeBody* s, Vec3 t, Vec3 u) noexcept nogil:
    # up += what is outboard, for the parent's observer, who sees that of the body move with u
    cdef Vec3 P = axpy(s.all.mass, u, s.P)
    hand_down_rigid(&up.all, &s.all, t)
    up.N = minus_hats(minus_hats(add3(up.N, s.N), s.all.h, u), t, P)
    up.P = add(up.P, P)
    hand_down(s.n, s.f, t, &up.n, &up.f)


cdef inline void column_change(const vt_body* b, const AbaBody* s, const SlopeBody* y, int l, Vec3 w, Vec3 dw, Vec3 a,
                               Change* z) noexcept nogil:
    # of the l-th column; w, dw, a: of the parent, at the body's origin
    cdef Vec3 Qv
    joint_column(b, s.R, l, &z.w, &z.v)
    z.Qw = cross(w, z.w)
    z.Aw = add(cross(dw, z.w), cross(w, z.Qw))
    z.Av = cross(a, z.w)
    z.Cw = add(z.Qw, cross(s.w, z.w))
    z.Cv = zero3()
    if joint_slides(b):
        Qv = cross(w, z.v)
        z.Av = add(z.Av, add(cross(dw, z.v), cross(w, Qv)))
        z.Cv = add(Qv, add(cross(s.w, z.v), cross(y.slide, z.w)))


cdef inline void outboard_column(const SlopeBody* s, const Change* z, vt_real* to, int stride) noexcept nogil:
    # X1, X2, Y1 and Y2 of a column
    cdef const CrbaBody* I = &s.all
    cdef Vec3 n = add(symmul(I.J, z.w), cross(I.h, z.v))
    cdef Vec3 f = add(cross(z.w, I.h), scale(I.mass, z.v))
    store_column(to, stride, f, n)
    n = axpy(vt_set1(2.0), cross(s.P, z.v), tmul(s.N, z.w))
    to[X2_ROW * stride] = n.x
    to[(X2_ROW + 1) * stride] = n.y
    to[(X2_ROW + 2) * stride] = n.z
    n = add(add(symmul(I.J, z.Aw), cross(I.h, z.Av)), add(mul(s.N, z.Qw), add(cross(z.w, s.n), cross(z.v, s.f))))
    f = add(cross(z.Aw, I.h), add(scale(I.mass, z.Av), cross(z.w, s.f)))
    store_column(to + Y1_ROW * stride, stride, axpy(vt_set1(-2.0), cross(s.P, z.Qw), f), n)
    n = add(add(symmul(I.J, z.Cw), cross(I.h, z.Cv)), mul(s.N, z.w))
    f = add(cross(z.Cw, I.h), scale(I.mass, z.Cv))
    store_column(to + Y2_ROW * stride, stride, axpy(vt_set1(-2.0), cross(s.P, z.w), f), n)


cdef inline void column_entries(const vt_body* b, const Change* z, int j, int own, int first, int until,
                                const vt_real* column, int nv, int stride, vt_real* by_q, vt_real* by_v,
                                vt_real* by_a) noexcept nogil:
    # derivatives that couple column j of body b with the columns from first to until; those from `own` on are of bodies
    # outboard of it. by_a may be NULL
    cdef vt_real c[9]
    cdef int k, n = until - first, beyond = max(first, own)
    cdef const vt_real* at = column + first
    # X1.A + X2.Q and X1.C + X2.S, down the column
    store3(c, z.Av)
    store3(c + 3, z.Aw)
    store3(c + 6, z.Qw)
    vt_sums(9, n, nv, c, at, stride, by_q + first * stride + j)
    store3(c, z.Cv)
    store3(c + 3, z.Cw)
    store3(c + 6, z.w)
    if joint_slides(b):
        vt_sums(9, n, nv, c, at, stride, by_v + first * stride + j)
    else:
        vt_sums(6, n, nv, c + 3, at + 3 * nv, stride, by_v + first * stride + j)
    # Y1.S and Y2.S along the row
    store3(c, z.v)
    store3(c + 3, z.w)
    at = column + beyond
    if not joint_slides(b):
        vt_sums(3, until - beyond, nv, c + 3, at + (Y1_ROW + 3) * nv, 1, by_q + j * stride + beyond)
        vt_sums(3, until - beyond, nv, c + 3, at + (Y2_ROW + 3) * nv, 1, by_v + j * stride + beyond)
    else:
        vt_sums(6, until - beyond, nv, c, at + Y1_ROW * nv, 1, by_q + j * stride + beyond)
        vt_sums(6, until - beyond, nv, c, at + Y2_ROW * nv, 1, by_v + j * stride + beyond)
    # X1.S both ways
    if by_a != NULL:
        at = column + first
        if not joint_slides(b):
            vt_sums(3, n, nv, c + 3, at + 3 * nv, 1, by_a + j * stride + first)
        else:
            vt_sums(6, n, nv, c, at, 1, by_a + j * stride + first)
        for k in range(first, until):
            by_a[k * stride + j] = by_a[j * stride + k]


cdef inline void columns_down(int n, int nv, Vec3 t, Vec3 twice, vt_real* column) noexcept nogil:
    # columns of a body as its parent has them: torques += t x forces, and X2 += 2 u x force of X1
    vt_crosses(n, nv, &twice.x, column, column + X2_ROW * nv)
    vt_crosses(n, nv, &t.x, column, column + 3 * nv)
    vt_crosses(n, nv, &t.x, column + Y1_ROW * nv, column + (Y1_ROW + 3) * nv)
    vt_crosses(n, nv, &t.x, column + Y2_ROW * nv, column + (Y2_ROW + 3) * nv)


cdef void inverse_slopes(const vt_model* m, const double* gravity, const vt_real* v, const AbaBody* x, SlopeBody* body,
                         vt_real* column, int stride, vt_real* by_q, vt_real* by_v, vt_real* by_a) noexcept nogil:
    # derivatives of tau of inverse dynamics, (nv, nv) in rows of `stride`, by_a is the mass matrix, or NULL. x: motions
    # of an `aba` or a `slope_motion`; column: memory for (COLUMN, nv), and three numbers more
    cdef int i, k, l, a, first, until, nv = m.nv
    cdef const vt_body* b
    cdef const AbaBody* s
    cdef const AbaBody* up
    cdef SlopeBody* y
    cdef Change z
    cdef Vec3 w, dw, acc, u
    for i in range(nv * stride):
        by_q[i] = vt_set1(0.0)
        by_v[i] = vt_set1(0.0)
    if by_a != NULL:
        for i in range(nv * stride):
            by_a[i] = vt_set1(0.0)
    for i in range(m.nbody):
        rigid_slopes(&m.body[i], v, &x[i], &body[i], i)
    for i in range(m.nbody - 1, -1, -1):
        b = &m.body[i]
        s = &x[i]
        y = &body[i]
        # the parent's motion at this body's origin
        w = zero3()
        dw = zero3()
        acc = neg(constant3(gravity))
        if b.parent >= 0:
            up = &x[b.parent]
            w = up.w
            dw = up.dw
            acc = add(up.a, add(cross(dw, s.t), cross(w, cross(w, s.t))))
        for l in range(joint_nv(b)):
            column_change(b, s, y, l, w, dw, acc, &z)
            outboard_column(y, &z, column + b.iv + l, nv)
        u = zero3()
        if b.parent >= 0:
            u = add(body[b.parent].slide, cross(w, s.t))
        a = i
        while next_outboard(m, i, &y.all, &a, &first, &until):
            for l in range(joint_nv(b)):
                column_change(b, s, y, l, w, dw, acc, &z)
                column_entries(b, &z, b.iv + l, b.iv + joint_nv(b), first, until, column, nv, stride, by_q, by_v, by_a)
            if b.parent >= 0:
                columns_down(until - first, nv, s.t, scale(vt_set1(2.0), u), column + first)
        if b.parent >= 0:
            hand_down_slopes(&body[b.parent], y, s.t, u)
    if by_a != NULL and m.rotors:
        for k in range(nv):
            by_a[k * stride + k] = by_a[k * stride + k] + vt_set1(m.armature[k])


# ---- columns of the inverse of the mass matrix --------------------------------------------------------------

cdef struct Pivot:      # of a coordinate, as if a joint of several were as many joints, one after another
    Vec3 w              # S
    Vec3 v
    Vec3 Un             # I S, of the inertia that is left by the coordinates outboard
    Vec3 Uf
    vt_real Dinv

cdef struct Columns:    # of several columns at once: a wrench (n, f), or an acceleration (dw, a)
    vt_columns nx
    vt_columns ny
    vt_columns nz
    vt_columns fx
    vt_columns fy
    vt_columns fz


cdef void aba_pivots(const vt_model* m, AbaBody* x, Pivot* pivot) noexcept nogil:
    # of the inertias that an `aba` leaves
    cdef int i, l
    cdef const vt_body* b
    cdef AbaBody* s
    cdef Pivot* p
    for i in range(m.nbody):
        b = &m.body[i]
        s = &x[i]
        if not joint_multi(b):
            p = &pivot[b.iv]
            joint_column(b, s.R, 0, &p.w, &p.v)
            p.Un, p.Uf, p.Dinv = s.Un, s.Uf, s.Dinv
            continue
        for l in range(joint_nv(b) - 1, -1, -1):
            p = &pivot[b.iv + l]
            joint_column(b, s.R, l, &p.w, &p.v)
            p.Un = add(symmul(s.I.J, p.w), mul(s.I.H, p.v))
            p.Uf = add(tmul(s.I.H, p.w), symmul(s.I.M, p.v))
            p.Dinv = vt_set1(1.0) / (dot(p.w, p.Un) + dot(p.v, p.Uf))
            s.I.J = minus_outer(s.I.J, p.Dinv, p.Un)
            s.I.M = minus_outer(s.I.M, p.Dinv, p.Uf)
            s.I.H = outer(-p.Dinv, p.Un, p.Uf, s.I.H)


cdef inline void put_columns(Columns* to, Columns g) noexcept nogil:
    # one after another: compilers copy structs in pieces that cannot be read as vectors at once
    to.nx = g.nx
    to.ny = g.ny
    to.nz = g.nz
    to.fx = g.fx
    to.fy = g.fy
    to.fz = g.fz


cdef inline Columns no_columns() noexcept nogil:
    cdef Columns g
    g.nx = vt_nothing()
    g.ny = g.nx
    g.nz = g.nx
    g.fx = g.nx
    g.fy = g.nx
    g.fz = g.nx
    return g


cdef inline void strip_relations(const vt_model* m, int end, int first, int until, bint unit, char* related) noexcept nogil:
    # of the bodies before `end`: whether one of the columns from first to until is of them, or outboard, or, but of the
    # unit matrix, upstream. Other rows of these columns are zero
    cdef int i
    cdef const vt_body* b
    for i in range(end):
        b = &m.body[i]
        related[i] = b.iv < until and b.iv + b.nv > first
        if not unit and b.parent >= 0 and related[b.parent]:
            related[i] = True
    for i in range(end - 1, -1, -1):
        if related[i] and m.body[i].parent >= 0:
            related[m.body[i].parent] = True


cdef inline void strip_up(const vt_model* m, const AbaBody* x, const Pivot* pivot, int end, int count, int stride,
                          const char* related, vt_real* rows, Columns* y) noexcept nogil:
    # leaves to root, of the bodies before `end`: u = tau - S^T (n, f), in place of tau; the parent feels (n, f) + U D^-1 u
    cdef int i, c, l
    cdef const vt_body* b
    cdef const Pivot* p
    cdef Vec3 t
    cdef Columns g
    cdef Columns* up
    cdef vt_columns u
    cdef vt_real* at
    for i in range(end - 1, -1, -1):
        if not related[i]:
            continue
        b = &m.body[i]
        t = x[i].t
        for c in range(count):
            up = &y[i * STRIP + c]
            g.nx, g.ny, g.nz, g.fx, g.fy, g.fz = up.nx, up.ny, up.nz, up.fx, up.fy, up.fz
            for l in range(joint_nv(b) - 1, -1, -1):
                p = &pivot[b.iv + l]
                at = rows + (b.iv + l) * stride + c * VT_COLUMNS
                u = vt_take(at) - (p.w.x * g.nx + p.w.y * g.ny + p.w.z * g.nz)
                if joint_slides(b):
                    u = u - (p.v.x * g.fx + p.v.y * g.fy + p.v.z * g.fz)
                vt_give(u, at)
                u = p.Dinv * u
                g.nx = g.nx + p.Un.x * u
                g.ny = g.ny + p.Un.y * u
                g.nz = g.nz + p.Un.z * u
                g.fx = g.fx + p.Uf.x * u
                g.fy = g.fy + p.Uf.y * u
                g.fz = g.fz + p.Uf.z * u
            if b.parent >= 0:
                up = &y[b.parent * STRIP + c]
                up.nx = up.nx + (g.nx + (t.y * g.fz - t.z * g.fy))
                up.ny = up.ny + (g.ny + (t.z * g.fx - t.x * g.fz))
                up.nz = up.nz + (g.nz + (t.x * g.fy - t.y * g.fx))
                up.fx = up.fx + g.fx
                up.fy = up.fy + g.fy
                up.fz = up.fz + g.fz


cdef inline void strip_down(const vt_model* m, const AbaBody* x, const Pivot* pivot, int end, int count, int stride,
                            vt_real* rows, Columns* y) noexcept nogil:
    # root to leaves: D^-1 (u - U^T (dw, a)) in place of u, and (dw, a) += S times it
    cdef int i, c, l
    cdef const vt_body* b
    cdef const Pivot* p
    cdef Vec3 t
    cdef Columns g
    cdef const Columns* up
    cdef vt_columns r
    cdef vt_real* at
    for i in range(end):
        b = &m.body[i]
        t = x[i].t
        for c in range(count):
            g = no_columns()
            if b.parent >= 0:
                up = &y[b.parent * STRIP + c]
                g.nx = up.nx
                g.ny = up.ny
                g.nz = up.nz
                g.fx = up.fx + (g.ny * t.z - g.nz * t.y)
                g.fy = up.fy + (g.nz * t.x - g.nx * t.z)
                g.fz = up.fz + (g.nx * t.y - g.ny * t.x)
            for l in range(joint_nv(b)):
                p = &pivot[b.iv + l]
                at = rows + (b.iv + l) * stride + c * VT_COLUMNS
                r = vt_take(at) - (p.Un.x * g.nx + p.Un.y * g.ny + p.Un.z * g.nz)
                r = p.Dinv * (r - (p.Uf.x * g.fx + p.Uf.y * g.fy + p.Uf.z * g.fz))
                vt_give(r, at)
                g.nx = g.nx + p.w.x * r
                g.ny = g.ny + p.w.y * r
                g.nz = g.nz + p.w.z * r
                if joint_slides(b):
                    g.fx = g.fx + p.v.x * r
                    g.fy = g.fy + p.v.y * r
                    g.fz = g.fz + p.v.z * r
            put_columns(&y[i * STRIP + c], g)


cdef inline int whole_columns(int nv) noexcept nogil:
    # the stride of a matrix that `aba_columns` takes
    return (nv + VT_COLUMNS - 1) // VT_COLUMNS * VT_COLUMNS


cdef struct SlopeWork:  # memory of the derivatives of forward dynamics
    AbaBody* x
    SlopeBody* body
    Pivot* pivot
    Columns* y          # (nbody, STRIP)
    char* related       # (nbody,)
    vt_real* column     # (COLUMN, nv), and three numbers more
    vt_real* acc        # (nv,)
    vt_real* by_q       # (nv, whole_columns(nv)) each
    vt_real* by_v
    vt_real* inverse


cdef void aba_columns(const vt_model* m, const SlopeWork* w, bint unit, int stride, vt_real* rows) noexcept nogil:
    # rows (nv, stride) = M^-1 rows, of stride a multiple of VT_COLUMNS, a strip of columns at a time; unit: of the unit
    # matrix, which is in them, above the diagonal alone. Entries of coordinates are zero where neither's body hangs on
    # the other's. w.x: of an `aba`, w.pivot its pivots
    cdef int i, c, first = 0, count, end = m.nbody
    if unit:
        end = 0
    while first < stride:
        count = min(STRIP, (stride - first) // VT_COLUMNS)
        while end < m.nbody and m.body[end].iv < first + count * VT_COLUMNS:
            end += 1
        for i in range(end):
            for c in range(count):
                put_columns(&w.y[i * STRIP + c], no_columns())
        strip_relations(m, end, first, first + count * VT_COLUMNS, unit, w.related)
        strip_up(m, w.x, w.pivot, end, count, stride, w.related, rows + first, w.y)
        strip_down(m, w.x, w.pivot, end, count, stride, rows + first, w.y)
        first += count * VT_COLUMNS


cdef void inverse_mass(const vt_model* m, const SlopeWork* w, vt_real* out) noexcept nogil:
    # out (nv, nv) = M^-1, zeros where a joint is locked. w.x: of an `aba`, w.pivot its pivots
    cdef int i, k, nv = m.nv, stride = whole_columns(nv)
    for i in range(nv * stride):
        w.inverse[i] = vt_set1(0.0)
    for i in range(nv):
        w.inverse[i * stride + i] = vt_set1(1.0)
    aba_columns(m, w, True, stride, w.inverse)
    for i in range(nv):
        for k in range(i, nv):
            out[i * nv + k] = w.inverse[i * stride + k]
            out[k * nv + i] = w.inverse[i * stride + k]


cdef void mass_inverse(const vt_model* m, const vt_real* q, const vt_real* none, const SlopeWork* w,
                       vt_real* out) noexcept nogil:
    # the same from q; none: (nv,) zeros
    aba_motion(m, q, none, NULL, w.x)
    aba_inertias(m, NULL, none, 0, m.nbody, w.x)
    aba_pivots(m, w.x, w.pivot)
    inverse_mass(m, w, out)


cdef void forward_slopes(const vt_model* m, const double* gravity, const vt_real* q, const vt_real* v,
                         const vt_real* tau, const SlopeWork* w, vt_real* by_q, vt_real* by_v,
                         vt_real* by_tau) noexcept nogil:
    # derivatives (nv, nv) of the accelerations of `aba`: -M^-1 dtau/dq and -M^-1 dtau/dv of inverse dynamics, and M^-1
    cdef int i, k, nv = m.nv, stride = whole_columns(nv)
    aba(m, gravity, q, v, tau, NULL, w.acc, w.x)
    inverse_slopes(m, gravity, v, w.x, w.body, w.column, stride, w.by_q, w.by_v, NULL)
    aba_pivots(m, w.x, w.pivot)
    aba_columns(m, w, False, stride, w.by_q)
    aba_columns(m, w, False, stride, w.by_v)
    for i in range(nv):
        for k in range(nv):
            by_q[i * nv + k] = 0.0 - w.by_q[i * stride + k]
            by_v[i * nv + k] = 0.0 - w.by_v[i * stride + k]
    inverse_mass(m, w, by_tau)
