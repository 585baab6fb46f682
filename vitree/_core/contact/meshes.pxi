# Losses of couplings, by Pelchen, Schweiger & Otter 2002. A joint that gives the coupling the power to move the load L there
# needs L/e1, one that the load drives gets e2 L, and at rest any torque between them holds: dry friction beside L, whose
# bounds follow the multiplier of the same step. The passes over a step find it by secants of all of them (Anderson 1965).

cdef inline bint loses(const vt_contact* e) noexcept nogil:
    return e.kind == RUBS and e.mesh >= 0


cdef inline void bound_loss(const vt_contact* e, double load, double* mu, double* lead) noexcept nogil:
    # |beta - lead| <= mu: from (1 - 1/e1) L to (1 - e2) L
    lead[0] = 0.5 * load * (2.0 - e.returns - 1.0 / e.efficiency)
    mu[0] = 0.5 * fabs(load) * (1.0 / e.efficiency - e.returns)


cdef void find_losses(ModelStepper self) noexcept nogil:
    # bounds of losses by the multipliers of the trial
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef vt_contact* e
    cdef int k
    for k in range(x.count):
        e = &self.touch[x.member[k]]
        if not loses(e):
            continue
        e.found = self.lane.held.lam[e.mesh]
        if self.lane.progress.opening:
            e.found += self.lane.held.tangent[e.mesh]
        e.found *= e.factor
        bound_loss(e, e.found, &y.mu[k], &y.lead[LEADS * k])


cdef void assume_losses(ModelStepper self) noexcept nogil:
    # bounds for the next correction: x + r - (dX + dR) c, where |r - dR c| is least, with x what was assumed to be
    # transmitted, r how much more was found, and differences of both over the last passes
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef vt_contact* e
    cdef double N[SECANTS * SECANTS]
    cdef double c[SECANTS]
    cdef double load, size = 0.0
    cdef int k, i, j, l, n, some = 0, at = -1
    for k in range(x.count):
        e = &self.touch[x.member[k]]
        if not loses(e):
            continue
        at = k
        if e.passes > 1:
            for i in range(SECANTS - 1, 0, -1):
                e.dx[i], e.dr[i] = e.dx[i - 1], e.dr[i - 1]
            e.dx[0], e.dr[0] = e.assumed - e.before, (e.found - e.assumed) - e.rest
        some += 1
    if some == 0:
        return
    n = min(self.touch[x.member[at]].passes - 1, min(some, SECANTS)) if self.touch[x.member[at]].passes > 1 else 0
    memset(N, 0, sizeof(N))
    memset(c, 0, sizeof(c))
    for k in range(x.count):
        e = &self.touch[x.member[k]]
        if not loses(e):
            continue
        for i in range(n):
            c[i] += e.dr[i] * (e.found - e.assumed)
            for j in range(n):
                N[SECANTS * i + j] += e.dr[i] * e.dr[j]
    # by elimination; differences that others repeat are left out
    for i in range(n):
        size = N[(SECANTS + 1) * i]
        for j in range(i):
            size = max(size, N[(SECANTS + 1) * j])
        if not N[(SECANTS + 1) * i] > 1e-14 * size:
            for j in range(n):
                N[SECANTS * i + j] = N[SECANTS * j + i] = 0.0
            N[(SECANTS + 1) * i], c[i] = 1.0, 0.0
            continue
        for j in range(i + 1, n):
            load = N[SECANTS * j + i] / N[(SECANTS + 1) * i]
            for l in range(i, n):
                N[SECANTS * j + l] -= load * N[SECANTS * i + l]
            c[j] -= load * c[i]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            c[i] -= N[SECANTS * i + j] * c[j]
        c[i] /= N[(SECANTS + 1) * i]
    for k in range(x.count):
        e = &self.touch[x.member[k]]
        if not loses(e):
            continue
        load = e.found
        for i in range(n):
            load -= c[i] * (e.dx[i] + e.dr[i])
        e.before, e.rest = e.assumed, e.found - e.assumed
        e.assumed = load
        e.passes += 1
        bound_loss(e, load, &y.mu[k], &y.lead[LEADS * k])
