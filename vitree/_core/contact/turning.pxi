# Torsional and rolling friction: rows of the relative rotation of two bodies in a step, about the normal and about both
# tangents of a contact. With the relative rotation vector rho of the step, a row and the torque of its impulse are
#     w = length axis.rho/h,    length axis lam,    length = mu_turn/mu,
# so that the cone |lam_t|^2/mu^2 + (torque about n)^2/mu_spin^2 + |torque across n|^2/mu_roll^2 <= lam_n^2 of all friction
# of a contact is a ball of the radius mu lam_n in its rows. One lane.
#
# Arrays of impulses and of directions have the vectors of turning behind those of all contacts: torques in world axes, and
# directions by rows.


cdef inline double* turning_of(const Touching* x, double* list, int c) noexcept nogil:
    # of a contact
    return list + 3 * (x.contacts + c)


cdef inline Vec3 turn_axis(const vt_contact* e, const Touch* at, int j, double* length) noexcept nogil:
    # of a row, counted from those of turning on
    if e.spin > 0.0:
        if j == 0:
            length[0] = e.spin
            return at.n
        j -= 1
    length[0] = e.roll
    return at.t2 if j else at.t1


cdef inline void forget_turning(Touching* x, int c) noexcept nogil:
    store3(turning_of(x, x.lam, c), zero3())
    store3(turning_of(x, x.way, c), zero3())
    store3(turning_of(x, x.guess, c), zero3())


cdef void begin_turning(Touching* x, int c) noexcept nogil:
    # of a contact that did not act so far; the impulses of an impact
    cdef double* told = x.told_turn + TURNED * c
    cdef int j
    store3(turning_of(x, x.lam, c), zero3())
    store3(turning_of(x, x.way, c), zero3())
    if x.leading:
        memset(told, 0, TURNED * sizeof(double))
    for j in range(3 if x.opened else 0):
        told[j] += turning_of(x, x.impact_impulses, c)[j]


cdef Vec3 world_turn(ModelStepper self, int k, const double* lam) noexcept nogil:
    # the impulse of the torque of a member, in world axes
    cdef const vt_contact* e = &self.touch[self.contact.member[k]]
    cdef Vec3 found = zero3(), axis
    cdef double length
    cdef int j
    for j in range(3, e.dim):
        axis = turn_axis(e, &self.contact.here[self.contact.member[k]], j - 3, &length)
        found = axpy(length * lam[j], axis, found)
    return found


cdef Vec3 turning_velocity(ModelStepper self, int k, const double* w) noexcept nogil:
    # the relative angular velocity that friction of a member opposes, of its rows
    cdef const vt_contact* e = &self.touch[self.contact.member[k]]
    cdef Vec3 found = zero3(), axis
    cdef double length
    cdef int j
    for j in range(3, e.dim):
        axis = turn_axis(e, &self.contact.here[self.contact.member[k]], j - 3, &length)
        found = axpy(w[j - 3] / length, axis, found)
    return found


cdef void guess_turning(ModelStepper self, int k, double* lam) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef int c = x.member[k], j
    cdef const vt_contact* e = &self.touch[c]
    cdef Vec3 axis
    cdef double length
    for j in range(3, e.dim):
        axis = turn_axis(e, &x.here[c], j - 3, &length)
        lam[j] = dot(load3(turning_of(x, x.guess, c)), axis) / length


cdef void lead_turning(ModelStepper self, int k) noexcept nogil:
    # half of the friction of a member against the direction of the last step, as in `bound_friction`
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef int c = x.member[k], j
    cdef const vt_contact* e = &self.touch[c]
    cdef Vec3 way = load3(x.way + 3 * c), turn = load3(turning_of(x, x.way, c)), axis
    cdef double* lead = y.lead + LEADS * k
    cdef double length
    if x.own_slip[c] or not dot(way, way) + dot(turn, turn) > 0.0:
        return
    y.mu[k] *= 0.5
    lead[0], lead[1] = -y.mu[k] * dot(way, x.here[c].t1), -y.mu[k] * dot(way, x.here[c].t2)
    for j in range(3, e.dim):
        axis = turn_axis(e, &x.here[c], j - 3, &length)
        lead[j - 1] = -y.mu[k] * dot(turn, axis)


cdef void keep_turning(ModelStepper self, int k) noexcept nogil:
    # of a member that acted: the torque, and the direction in which it slid and turned
    cdef Touching* x = &self.contact
    cdef int c = x.member[k], o = x.cones.row[k], j
    cdef const vt_contact* e = &self.touch[c]
    cdef double* told = x.told_turn + TURNED * c
    cdef Vec3 way = axpy(x.w[o + 1], x.here[c].t1, scale(x.w[o + 2], x.here[c].t2)), turn = zero3(), axis
    cdef double length, size
    store3(x.told + TOLD * c + 3, way)
    store3(turning_of(x, x.lam, c), world_turn(self, k, x.cones.lam + o))
    for j in range(3):
        told[j] += turning_of(x, x.lam, c)[j]
    store3(told + 3, turning_velocity(self, k, x.w + o + 3))
    for j in range(3, e.dim):
        axis = turn_axis(e, &x.here[c], j - 3, &length)
        turn = axpy(x.w[o + j], axis, turn)
    size = vt_sqrt(dot(way, way) + dot(turn, turn))
    if size > SLIDING:
        store3(x.way + 3 * c, scale(1.0 / size, way))
        store3(turning_of(x, x.way, c), scale(1.0 / size, turn))


cdef void measure_turning(ModelStepper self, int k) noexcept nogil:
    # the rows of the rotation of a relative to b in the step
    cdef Touching* x = &self.contact
    cdef int c = x.member[k], j
    cdef const vt_contact* e = &self.touch[c]
    cdef double inverse = 1.0 / self.lane.now.h, length
    cdef Vec3 rho = zero3(), axis
    if e.body_a >= 0:
        rho = turn_between(&x.pose1[e.body_a].R, &x.pose2[e.body_a].R)
    if e.body_b >= 0:
        rho = sub(rho, turn_between(&x.pose1[e.body_b].R, &x.pose2[e.body_b].R))
    for j in range(3, e.dim):
        axis = turn_axis(e, &x.here[c], j - 3, &length)
        x.w[x.cones.row[k] + j] = inverse * length * dot(axis, rho)


cdef void turning_rows(ModelStepper self, const vt_contact* e, const Touch* before, const Pose* pose, bint end,
                       TouchRow* to) noexcept nogil:
    # couples about the axes at node 1; end: the derivatives of the rotation by displacements at node 2
    cdef Touching* x = &self.contact
    cdef Vec3 axis
    cdef double length
    cdef int j
    for j in range(3, e.dim):
        axis = turn_axis(e, before, j - 3, &length)
        axis = scale(length, axis)
        to[j].a, to[j].b, to[j].size = to.a, to.b, 6
        if e.body_a >= 0:
            couple_row(x.pose1, pose, e.body_a, axis, end, to[j].on_a)
        if e.body_b >= 0:
            couple_row(x.pose1, pose, e.body_b, neg(axis), end, to[j].on_b)


cdef inline void couple_row(const Pose* before, const Pose* pose, int body, Vec3 axis, bint end,
                            double* row) noexcept nogil:
    if end:
        axis = dlog(neg(turn_between(&before[body].R, &pose[body].R)), axis)
    put_wrench(row, zero3(), zero3(), axis)


cdef void turning_rates(ModelStepper s, int k, double* out) noexcept nogil:
    # J v of the rows of a member for the current twists of the bodies
    cdef const vt_contact* e = &s.touch[s.contact.member[k]]
    cdef const double* twist = s.lane.bodies.twist
    cdef Vec3 w = zero3(), axis
    cdef double length
    cdef int j
    if e.body_a >= 0:
        w = load3(twist + 6 * e.body_a)
    if e.body_b >= 0:
        w = sub(w, load3(twist + 6 * e.body_b))
    for j in range(3, e.dim):
        axis = turn_axis(e, &s.contact.here[s.contact.member[k]], j - 3, &length)
        out[j] = length * dot(axis, w)
