# Gears, factor_a q_a + factor_b q_b = value, within the recursion of forward dynamics. Joints that are tied by gears
# form a train: they move in proportion to one rate s. A train is open from its joints on, and closes at the body at
# which the paths of all of them meet. With the acceleration a of a body, the wrench on its subtree and the equations of
# the open trains are
#     I a + bias + sum K s    and    K^T a + D s = rest,   D positive definite.
# The rate of a train is eliminated where the train closes. In the outward sweep it is computed at that body, before the
# joints of its subtree. The missing force of a joint of a train is the force of its gears.

cdef int trains_make(GearTrainWork* x, Memory memory, const GearTrainPlan* p, int nv) except -1:
    x.Kn = <Vec3*>memory.scratch((p.shares + p.count) * sizeof(Vec3))
    x.Kf = <Vec3*>memory.scratch((p.shares + p.count) * sizeof(Vec3))
    x.along, x.lack = memory.scratch_reals(p.shares), memory.scratch_reals(nv)
    x.rest, x.rate = memory.scratch_reals(p.count), memory.scratch_reals(p.count)
    x.D = memory.scratch_reals(p.count * p.count)
    return 0


cdef inline void train_along(GearTrainWork* x, int first, int end, const vt_body* b, Vec3 z) noexcept nogil:
    # S^T K of all shares of a body's joint
    cdef int k
    for k in range(first, end):
        x.along[k] = joint_pairing(b, z, x.Kn[k], x.Kf[k])


cdef inline void train_pass(const GearTrainPlan* p, GearTrainWork* x, const vt_body* b, int first, int end,
                            const AbaBody* s) noexcept nogil:
    # through an eliminated joint: K - U D^-1 S^T K, to the parent
    cdef int j, k, at
    cdef double r
    cdef Vec3 n, f
    train_along(x, first, end, b, s.R.z)
    for k in range(first, end):
        at = p.share[k].train
        r = s.Dinv * x.along[k]
        for j in range(first, k + 1):
            x.D[p.share[j].train * p.count + at] -= r * x.along[j]
        n = axpy(-r, s.Un, x.Kn[k])
        f = axpy(-r, s.Uf, x.Kf[k])
        x.rest[at] -= r * s.u + dot(n, s.zw) + dot(f, s.za)
        hand_down(n, f, s.t, &x.Kn[p.share[k].to], &x.Kf[p.share[k].to])


cdef inline void train_join(const GearTrainPlan* p, GearTrainWork* x, const vt_model* m, int i, const double* tau,
                            AbaBody* body) noexcept nogil:
    # a joint of a train: it moves by its factor times s, and the whole inertia is passed to the parent
    cdef const vt_body* b = &m.body[i]
    cdef AbaBody* s = &body[i]
    cdef AbaBody* up
    cdef int k, at, own = p.own[i], train = p.share[own].train, first = p.first[i], end = p.first[i + 1]
    cdef double g = p.share[own].factor
    cdef Vec3 n, f
    joint_inertia_column(b, s.R.z, &s.I, &s.Un, &s.Uf)
    s.u = joint_remainder(b, s.R.z, tau[b.iv], s.I.bn, s.I.bf)
    train_along(x, first, end, b, s.R.z)
    x.D[train * p.count + train] += g * (
        x.along[own] + g * (joint_pairing(b, s.R.z, s.Un, s.Uf) + m.armature[b.iv]))
    x.rest[train] += g * s.u
    for k in range(first, end):
        at = p.share[k].train
        n = x.Kn[k]
        f = x.Kf[k]
        x.D[min(at, train) * p.count + max(at, train)] += g * x.along[k]
        if k == own:
            n = axpy(g, s.Un, n)
            f = axpy(g, s.Uf, f)
        x.rest[at] -= dot(n, s.zw) + dot(f, s.za)
        hand_down(n, f, s.t, &x.Kn[p.share[k].to], &x.Kf[p.share[k].to])
    if b.parent >= 0:
        up = &body[b.parent]
        n = add(s.I.bn, add(symmul(s.I.J, s.zw), mul(s.I.H, s.za)))
        f = add(s.I.bf, add(tmul(s.I.H, s.zw), symmul(s.I.M, s.za)))
        hand_down_inertia(&up.I, s.t, s.I.J, s.I.H, s.I.M)
        hand_down(n, f, s.t, &up.I.bn, &up.I.bf)


cdef inline void train_without(const GearTrainPlan* p, GearTrainWork* x, int c, int at, int place, double l) noexcept nogil:
    # another train takes the role of the eliminated one, c
    x.rest[at] -= l * x.rest[c]
    x.Kn[place] = axpy(-l, x.Kn[p.shares + c], x.Kn[place])
    x.Kf[place] = axpy(-l, x.Kf[p.shares + c], x.Kf[place])


cdef inline void train_close(const GearTrainPlan* p, GearTrainWork* x, int first, int end, int open_first, int open_end,
                             Articulated* I) noexcept nogil:
    # eliminate the trains that close at a body, whose shares are those from open_first on; I: NULL at the world
    cdef int c, k, j, at
    cdef double r, l
    cdef double* D
    cdef Vec3 n, f
    for c in range(first, end):
        D = x.D + c * p.count
        r = D[c] = 1.0 / D[c]
        for k in range(c + 1, end):
            if D[k] != 0.0:
                l = r * D[k]
                for j in range(k, end):
                    x.D[k * p.count + j] -= l * D[j]
                for j in range(open_first, open_end):
                    x.D[k * p.count + p.share[j].train] -= l * D[p.share[j].train]
                train_without(p, x, c, k, p.shares + k, l)
        for k in range(open_first, open_end):
            at = p.share[k].train
            if D[at] != 0.0:
                l = r * D[at]
                for j in range(k, open_end):
                    x.D[at * p.count + p.share[j].train] -= l * D[p.share[j].train]
                train_without(p, x, c, at, k, l)
        if I != NULL:
            n = x.Kn[p.shares + c]
            f = x.Kf[p.shares + c]
            I.J = minus_outer(I.J, r, n)
            I.M = minus_outer(I.M, r, f)
            I.H = outer(-r, n, f, I.H)
            r = r * x.rest[c]
            I.bn = axpy(r, n, I.bn)
            I.bf = axpy(r, f, I.bf)


cdef inline void train_rates(const GearTrainPlan* p, GearTrainWork* x, int first, int end, int open_first, int open_end,
                             Vec3 dw, Vec3 a) noexcept nogil:
    # of the trains that close at a body with this acceleration
    cdef int c, k
    cdef double s
    cdef const double* D
    for c in range(end - 1, first - 1, -1):
        D = x.D + c * p.count
        s = x.rest[c] - dot(x.Kn[p.shares + c], dw) - dot(x.Kf[p.shares + c], a)
        for k in range(c + 1, end):
            s -= D[k] * x.rate[k]
        for k in range(open_first, open_end):
            s -= D[p.share[k].train] * x.rate[p.share[k].train]
        x.rate[c] = D[c] * s


cdef inline void train_accelerate(const GearTrainPlan* p, GearTrainWork* x, const vt_model* m, int i, const double* gravity,
                                  double u, double* acc, AbaBody* body) noexcept nogil:
    # a joint of a train, whose parent is done, and its missing force: S^T (I a + bias + sum K s) + armature r - tau =
    # U.a + armature r - u, with its acceleration r
    cdef const vt_body* b = &m.body[i]
    cdef AbaBody* s = &body[i]
    cdef double r = p.share[p.own[i]].factor * x.rate[p.share[p.own[i]].train]
    aba_carry(b, s, gravity_from(m, gravity), body, &s.dw, &s.a)
    joint_add(b, s.R.z, r, &s.dw, &s.a)
    acc[b.iv] = r
    x.lack[b.iv] = dot(s.Un, s.dw) + dot(s.Uf, s.a) - u
    if m.rotors:
        x.lack[b.iv] += m.armature[b.iv] * r


cdef void aba_of_trains(const GearTrainPlan* p, GearTrainWork* x, const vt_model* m, const double* gravity, const double* q,
                        const double* v, const double* tau, const double* wrench, double* acc, double* mu,
                        AbaBody* body) noexcept nogil:
    # aba, and the multipliers of the gears
    cdef int i, k, j, c, end = m.nbody, world = p.close[m.nbody]
    cdef AbaBody* s
    cdef double u
    cdef const TrainGear* gear
    aba_motion(m, q, v, wrench, body)
    memset(x.Kn, 0, (p.shares + p.count) * sizeof(Vec3))
    memset(x.Kf, 0, (p.shares + p.count) * sizeof(Vec3))
    memset(x.D, 0, p.count * p.count * sizeof(double))
    memset(x.rest, 0, p.count * sizeof(double))
    for k in range(p.stops):
        i = p.stop[k]
        c = m.nbody - 1 - i
        if end > i + 1:
            aba_inertias(m, NULL, tau, i + 1, end, body)
        end = i
        train_close(p, x, p.close[c], p.close[c + 1], p.first[i], p.first[i + 1], &body[i].I)
        if p.own[i] >= 0:
            train_join(p, x, m, i, tau, body)
        else:
            aba_inertias(m, NULL, tau, i, i + 1, body)
            train_pass(p, x, &m.body[i], p.first[i], p.first[i + 1], &body[i])
    aba_inertias(m, NULL, tau, 0, end, body)
    train_close(p, x, world, p.count, 0, 0, NULL)
    train_rates(p, x, world, p.count, 0, 0, zero3(), neg(constant3(gravity)))
    end = 0
    for k in range(p.stops - 1, -1, -1):
        i = p.stop[k]
        s = &body[i]
        c = m.nbody - 1 - i
        u = s.u
        for j in range(p.first[i], p.first[i + 1]):
            u -= x.along[j] * x.rate[p.share[j].train]
        if p.own[i] < 0:
            s.u = u
            aba_accelerations(m, gravity, tau, end, i + 1, acc, body)
        else:
            if end < i:
                aba_accelerations(m, gravity, tau, end, i, acc, body)
            train_accelerate(p, x, m, i, gravity, u, acc, body)
        end = i + 1
        train_rates(p, x, p.close[c], p.close[c + 1], p.first[i], p.first[i + 1], s.dw, s.a)
    aba_accelerations(m, gravity, tau, end, m.nbody, acc, body)
    for k in range(p.gears):
        gear = &p.gear[k]
        mu[gear.gear] = gear.share * x.lack[gear.iv]
        x.lack[gear.other] -= gear.factor * mu[gear.gear]
