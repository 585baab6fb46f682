# Impacts: the contacts that rebound at a node, and the velocities at nodes, which include a part of the impulses of
# contacts that remain closed. One lane.

cdef enum:
    IMPACTS = 1000          # most impulses of an impact, the last half of them inelastic

#: An elastic contact is closed below this gap [m]
cdef double CLOSED_GAP = 1e-12
#: Contacts with less restitution are stopped where they close, and rebound at the next node. The rebound of the others
#: makes up for their penetration within two steps
cdef double BOUNCY = 0.5
#: Where impacts are located, contacts that close within this fraction of a step are applied at once; below this gap [m]
#: some may
cdef double AT_ONCE = 1e-6
cdef double NEARBY = 1e-6
#: An impact causes another if it changes the closing speed of its gap by more than this fraction
cdef double MOVED = 1e-9
#: A pair closes if it does so faster than this fraction of the velocities
cdef double CLOSING = 1e-12
#: The part of the last impulse that persisting contacts contribute at a node; contacts that need so much more close
#: anew
cdef double END_IMPULSE_SLACK = 0.1
#: An impact gains energy if the gain exceeds this fraction of its terms
cdef double GAINED = 1e-12


cdef inline double end_impulse_share(double behind, bint first) noexcept nogil:
    # the largest part of their last impulses that persisting contacts may contribute: from a start they gave 1 - behind
    # of a step's
    return (behind + END_IMPULSE_SLACK) / (1.0 - behind if first and behind < 1.0 else 1.0)


cdef inline double expected_share(double behind, double share) noexcept nogil:
    # the part that they are expected to contribute
    return share * behind / (behind + END_IMPULSE_SLACK)


cdef inline bint stops(const vt_contact* e) noexcept nogil:
    # whether it is stopped where it closes before it rebounds
    return e.restitution < BOUNCY and e.stiffness == INFINITY


cdef int make_impacts(ModelStepper self) except -1:
    cdef const vt_model* m = self.shared.m
    cdef int i
    self.answers_by_factors = self.shared.count == 0 and m.nlocked == 0
    for i in range(m.nbody):
        # joints of several coordinates within a tree are processed in another order there
        if joint_multi(&m.body[i]) and m.body[i].parent >= 0:
            self.answers_by_factors = False
    return 0


cdef int open_touches(ModelStepper self, bint* pushed, bint* free) noexcept nogil:
    # contacts at node 1. pushed: some acted in the last step, and are in the solve; free: a step without contacts was
    # taken
    cdef Touching* x = &self.contact
    cdef int c, k
    place_start(self, self.lane.state.q)
    x.count, x.opened, x.solved, x.worst, x.fresh, x.cut, x.joins = 0, False, False, -1, False, 0, 0
    for k in range(x.asked_count):
        c = x.asked[k]
        memcpy(x.guess + 3 * c, x.lam + 3 * c, 3 * sizeof(double))
        if x.turns:
            memcpy(turning_of(x, x.guess, c), turning_of(x, x.lam, c), 3 * sizeof(double))
        x.arrives[c] = x.own_slip[c] = 0
        admit(self, c)
        if x.within[c] == INSIDE or self.elastic or self.events:
            face(self, c)
        pushed[0] = pushed[0] or x.within[c] == INSIDE
    x.closing = others_close(self)
    return meet(self, free) if self.elastic or self.events else OK


# ---- velocities at nodes: p is that before the node's impulses, half of which closed contacts have still to apply --


cdef int post_contact_velocity(ModelStepper self, const double* q, double* v, double share) noexcept nogil:
    # v of the contacts within, with their impulses in guess: those that close are stopped by at most a given part of
    # these, with friction against their slip. A contact that needs more closes anew, and its friction is open
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef ContactProblem* z = &x.hit
    cdef double gave, gives, expected = expected_share(self.post_contact.behind, share)
    cdef int k, status
    place_start(self, q)
    place_left_facets(self)
    status = gather_at_rest(self, q)
    if status != OK:
        return status
    for k in range(y.n):
        along_ports(self, &x.W1[k], v, &y.b[k])
    for k in range(y.count):
        if self.touch[x.member[k]].kind == AT_SPEED:
            y.b[y.row[k]] += self.touch[x.member[k]].bound
        if y.law[k] == RUB:
            # the part that the previous step applied at its node 2
            y.mu[k] = (1.0 - self.method.node_share(self)) * self.touch[x.member[k]].friction * (
                fabs(x.guess[3 * x.member[k] + 1]))
            if self.touch[x.member[k]].mesh >= 0:
                # of a coupling's loss it has the size that it had
                y.mu[k] = fabs(x.guess[3 * x.member[k]]) * expected
    gave = pushes(y, y.lam)
    for k in range(y.n):
        y.lam[k] *= expected
    solve_at_rest(self)
    gives = pushes(y, y.lam)
    if gives != 0.0 and not gives < share * gave:
        status = room_at_node(self)
        if status != OK:
            return status
        form_at_node(self)
        choose_frictionless(self)
        cone_solve(z, AT_NODE * largest(z.b, z.n), ENOUGH_AT_NODE * largest(z.b, z.n))
        take_frictionless(self)
    push_by(self, v)
    return OK


cdef void place_left_facets(ModelStepper self) noexcept nogil:
    # contacts within whose facets the end of the step has replaced by others: by those that its records have
    cdef Touching* x = &self.contact
    cdef Facet f
    cdef int c, k
    for k in range(x.asked_count if x.slots else 0):
        c = x.asked[k]
        if x.within[c] == INSIDE and self.touch[c].slot >= 0 and x.facet[self.touch[c].slot].kind == NO_FACET:
            read_facet(x.facet_told + FACET_ROW * self.touch[c].slot + 7, &f)
            touch_at(&self.touch[c], x.at1, x.pose1, NULL, &f, &x.here[c])


cdef int impact_rebound(ModelStepper self, double* v) noexcept nogil:
    # v of the state after the impact of contacts that were stopped in the last step, which `post_contact_velocity` then
    # leaves out
    cdef Touching* x = &self.contact
    cdef int c, status
    place_start(self, self.lane.state.q)
    for c in range(self.ntouch):
        face(self, c)
    memcpy(x.v, v, self.nv * sizeof(double))
    memcpy(x.guess_beside, x.guess, x.reals * sizeof(double))
    status = strike_node(self, True)
    memcpy(x.guess, x.guess_beside, x.reals * sizeof(double))
    memcpy(v, x.v, self.nv * sizeof(double))
    x.opened = False
    for c in range(self.ntouch):
        if x.active[c] == ARRIVED:
            x.within[c] = OUTSIDE
    return status


cdef int gather_at_rest(ModelStepper self, const double* q) noexcept nogil:
    # the problem of contacts within, which are placed at q, in the metric of M. Their directions of slip do not apply
    # there, and are preserved
    cdef Touching* x = &self.contact
    cdef int k, status
    for k in range(self.ntouch):
        if x.within[k] == INSIDE:
            face(self, k)
    memcpy(self.way_beside, x.way, x.reals * sizeof(double))
    memset(x.way, 0, x.reals * sizeof(double))
    self.at_node = True
    x.cones.budget = x.hit.budget = STEP_BUDGET
    status = contact_gather(self)
    self.at_node = False
    memcpy(x.way, self.way_beside, x.reals * sizeof(double))
    if status == OK:
        answer_at_rest(self, q)
        memset(x.cones.give, 0, x.count * sizeof(double))
        couple_contacts(self, x.P_room, x.W1)
    return status


cdef void solve_at_rest(ModelStepper self) noexcept nogil:
    # the impulses of that problem, for b in `cones`
    cdef double size = largest(self.contact.cones.b, self.contact.cones.n)
    solve_contacts(self, AT_NODE * size, AT_NODE * size, ENOUGH_AT_NODE * size, False)


cdef void push_by(ModelStepper self, double* v) noexcept nogil:
    # v += M^-1 J^T lam of that problem
    sum_wrenches(self, self.contact.cones.lam, self.contact.u)
    memset(self.contact.whole, 0, self.nv * sizeof(double))
    push_ports(&self.contact, self.contact.whole)
    add_push(self, self.contact.whole, v)


cdef void choose_frictionless(ModelStepper self) noexcept nogil:
    # the problem without friction of contacts
    cdef const ContactProblem* y = &self.contact.cones
    cdef ContactProblem* z = &self.contact.hit
    cdef int k, j, i, l, n = 0
    z.count = y.count
    for k in range(y.count):
        z.dim[k], z.law[k], z.mu[k], z.row[k] = 1 if y.law[k] == CONE else y.dim[k], y.law[k], 0.0, n
        z.patch[k] = -1
        if y.law[k] == RUB:
            z.mu[k] = y.mu[k]
        memset(z.lead + LEADS * k, 0, LEADS * sizeof(double))
        n += z.dim[k]
    z.n = n
    for k in range(y.count):
        for i in range(z.dim[k]):
            z.b[z.row[k] + i], z.lam[z.row[k] + i] = y.b[y.row[k] + i], 0.0
            for l in range(y.count):
                for j in range(z.dim[l]):
                    z.G[(z.row[k] + i) * n + z.row[l] + j] = y.G[(y.row[k] + i) * y.n + y.row[l] + j]
    cones_formed(z)


cdef void take_frictionless(ModelStepper self) noexcept nogil:
    # the impulses of that problem
    cdef ContactProblem* y = &self.contact.cones
    cdef const ContactProblem* z = &self.contact.hit
    cdef int k, j
    memset(y.lam, 0, y.n * sizeof(double))
    for k in range(y.count):
        for j in range(z.dim[k]):
            y.lam[y.row[k] + j] = z.lam[z.row[k] + j]


# ---- impacts -----------------------------------------------------------------------------------------


cdef double closing_speed(ModelStepper self, int c, const Touch* list, const double* v) noexcept nogil:
    # d(gap)/dt of a contact at a node, for the twists of v
    cdef const vt_contact* e = &self.touch[c]
    cdef const Touch* at = &list[c]
    cdef double* twist = self.lane.bodies.twist
    cdef double s = 0.0
    if is_single(e):
        return single_rate(e, self.contact.at1 if list == self.contact.here else self.contact.at2,
                           self.contact.pose1 if list == self.contact.here else self.contact.pose2, twist, v)
    if e.body_a >= 0:
        s = dot(at.n, add(load3(twist + 6 * e.body_a + 3), cross(load3(twist + 6 * e.body_a), at.arm_a)))
    if e.body_b >= 0:
        s -= dot(at.n, add(load3(twist + 6 * e.body_b + 3), cross(load3(twist + 6 * e.body_b), at.arm_b)))
    return s


cdef void move_bodies(ModelStepper self, const Pose* pose, const double* v) noexcept nogil:
    # the twists of the bodies for v
    cdef int i
    for i in range(self.shared.m.nbody):
        twist_of(self.shared.m, i, v, pose, self.lane.bodies.twist)


cdef void node_velocity(ModelStepper self, double* v) noexcept nogil:
    # v of the state, before contacts act
    if self.method.explicit:
        memcpy(v, self.lane.state.x, self.nv * sizeof(double))
    else:
        model_velocity(self, self.lane.state.q, self.lane.state.x, v)


cdef void end_velocity(ModelStepper self, double* v) noexcept nogil:
    # v of the end of the trial, before contacts act
    if self.method.explicit:
        memcpy(v, self.lane.state.x2, self.nv * sizeof(double))
        return
    model_velocity(self, self.lane.state.q2, self.lane.state.x2, v)
    if self.shared.count:
        # the rows of the constraints are those of node 1
        model_velocity(self, self.lane.state.q, self.lane.state.x, self.contact.still)


cdef void measure_falls(ModelStepper self, double* fall) noexcept nogil:
    # (contacts,) from the rates of gaps at node 1, their accelerations over a free step; by velocities over parts of
    # steps, which may be short, and for methods whose configurations do not determine accelerations
    cdef Touching* x = &self.contact
    cdef double h = fabs(self.lane.now.h)
    cdef int c
    if self.method.explicit or x.whole_h > 0.0:
        fall_by_velocities(self, fall)
        return
    for c in range(self.ntouch):
        fall[c] = 2.0 * (x.there[c].gap - x.here[c].gap - h * fall[c]) / (h * h)


cdef inline bint closed_here(ModelStepper self, int c) noexcept nogil:
    return self.touch[c].kind != AT_SPEED and (self.contact.here[c].gap <= CLOSED_GAP or self.contact.within[c] == STRIKES)


cdef bint may_strike(ModelStepper self, int c) noexcept nogil:
    # whether its impulse is applied at this node or the next
    cdef Touching* x = &self.contact
    cdef const vt_contact* e = &self.touch[c]
    if x.active[c] or x.within[c] == OPEN:
        return False
    # where impacts are located the others apply their impulses as well
    return e.restitution > 0.0 or (self.events > 0 and closed_here(self, c) and e.stiffness == INFINITY
                                   and not stands(e))


cdef int meet(ModelStepper self, bint* free) noexcept nogil:
    # the contacts that strike at this node, with their impulses, and those that strike at the next. A contact bounces
    # if e |v_n| > max(slowest, 2 h |a_n|): lower rebounds are suppressed. free: a step without contacts was taken
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef double h = x.whole_h if x.whole_h > 0.0 else fabs(self.lane.now.h), speed, least
    cdef bint some = self.elastic, near = False, hit, bounces = False
    cdef int c, status = OK
    free[0] = False
    for c in range(self.ntouch):
        e = &self.touch[c]
        bounces = bounces or x.active[c] == ARRIVED
        if x.left and not x.active[c] and not stands(e) and e.kind != AT_SPEED and e.stiffness == INFINITY and (
                x.here[c].gap > CLOSED_GAP):
            x.within[c] = OPEN
            some = some or x.here[c].gap < NEARBY
        some = some or may_strike(self, c)
    hit = bounces
    if not (some or hit):
        return OK
    node_velocity(self, x.v)
    move_bodies(self, x.pose1, x.v)
    for c in range(self.ntouch):
        speed = x.speed[c] = closing_speed(self, c, x.here, x.v)
        if x.within[c] == OPEN and x.here[c].gap < AT_ONCE * h * -speed:
            x.within[c] = STRIKES
        near = near or (may_strike(self, c) and speed < 0.0 and x.here[c].gap < 4.0 * h * -speed)
    if near:
        status = learn_falls(self)
        if status != OK:
            return status
        free[0] = True
    for c in range(self.ntouch if near else 0):
        e, speed = &self.touch[c], x.speed[c]
        if not may_strike(self, c) or speed >= 0.0:
            continue
        least = max(self.slowest, 2.0 * h * fabs(x.fall[c]))
        if closed_here(self, c):
            hit = hit or (e.restitution * -speed > least or (self.events > 0 and -speed > least))
            bounces = bounces or e.restitution * -speed > least
        elif e.restitution * -speed > least and (stops(e) or x.there[c].gap < 0.0):
            rebound_next(self, c)
    if hit:
        # the other closing contacts are determined again with the velocities after the impact
        forget_rebounds(self)
        status = strike_node(self, bounces)
    while hit and status == OK and strike_more(self, h, &near, &status):
        node_velocity(self, x.v)
        status = strike_node(self, True)
    free[0] = free[0] and not hit
    for c in range(self.ntouch):
        if x.within[c] == STRIKES or x.within[c] == FOLLOWS:
            x.within[c] = OUTSIDE
    return status


cdef inline void rebound_next(ModelStepper self, int c) noexcept nogil:
    # it closes in this step, and rebounds at the next node
    if stops(&self.touch[c]):
        self.contact.arrives[c] = True
    else:
        self.contact.within[c] = REBOUNDS


cdef void forget_rebounds(ModelStepper self) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef int c
    for c in range(self.ntouch):
        x.arrives[c] = False
        if x.within[c] == REBOUNDS:
            x.within[c] = OUTSIDE


cdef void let_bounce(ModelStepper self) noexcept nogil:
    # by the velocities at node 1 after an impact there, and the changes of gaps over the trial. Where impacts are
    # located none may pass
    cdef Touching* x = &self.contact
    cdef double h = x.whole_h if x.whole_h > 0.0 else fabs(self.lane.now.h)
    cdef bint any = False
    cdef int c
    for c in range(self.ntouch if not x.left else 0):
        any = any or (comes_in(self, c) and not x.arrives[c] and may_strike(self, c))
    if not any:
        return
    if not x.opened:
        node_velocity(self, x.v)
    move_bodies(self, x.pose1, x.v)
    for c in range(self.ntouch):
        x.speed[c] = x.fall[c] = closing_speed(self, c, x.here, x.v)
    measure_falls(self, x.fall)
    for c in range(self.ntouch):
        if comes_in(self, c) and may_strike(self, c) and \
                self.touch[c].restitution * -x.speed[c] > max(self.slowest, 2.0 * h * fabs(x.fall[c])):
            rebound_next(self, c)


cdef bint strike_more(ModelStepper self, double h, bint* near, int* status) noexcept nogil:
    # other contacts take part in the impact if it makes them close in this step, and they rebound; where impacts are
    # located, those that close at once. near: their accelerations are known. Whether there are any
    cdef Touching* x = &self.contact
    cdef double speed
    cdef bint found = False
    cdef int c
    move_bodies(self, x.pose1, x.v)
    for c in range(self.ntouch):
        speed = closing_speed(self, c, x.here, x.v)
        if x.left:
            if x.within[c] == OPEN and x.here[c].gap < AT_ONCE * h * -speed:
                x.within[c] = STRIKES
                found = True
        elif x.within[c] != FOLLOWS and may_strike(self, c) and not closed_here(self, c) and \
                x.here[c].gap < fabs(self.lane.now.h) * -speed and fabs(speed - x.speed[c]) > MOVED * fabs(speed):
            if not near[0]:
                status[0] = learn_falls(self)
                if status[0] != OK:
                    return False
                near[0] = True
                move_bodies(self, x.pose1, x.v)
            if self.touch[c].restitution * -speed > max(self.slowest, 2.0 * h * fabs(x.fall[c])):
                x.within[c] = FOLLOWS
                found = True
    return found


cdef int learn_falls(ModelStepper self) noexcept nogil:
    # the accelerations of the gaps over a step without contacts, from the speeds before an impact
    cdef Touching* x = &self.contact
    cdef int status = self.method.attempt(self)
    if status == OK:
        place_end(self, self.lane.state.q2)
        memcpy(x.fall, x.speed, self.ntouch * sizeof(double))
        measure_falls(self, x.fall)
    return status


cdef int strike_node(ModelStepper self, bint bounces) noexcept nogil:
    # the impact of all closed contacts, in the metric of M(q1): while contacts approach, v0 is the inelastic solution
    # on these, with friction, and v += (1 + e)(v0 - v). bounces: e is not 0. Contacts that follow take part as soon as
    # their gaps have closed at the intermediate velocities
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef int c, k, j, count, all, sweep, status, o, nv = self.nv
    cdef double size, rest
    cdef bint arrived = False
    for c in range(self.ntouch):
        x.bad[c] = x.within[c]
        # rolling constraints act in an impact as well; dry friction does not
        x.within[c] = OUTSIDE if self.touch[c].kind == RUBS or not (
            closed_here(self, c) or self.touch[c].kind == ROLLS or x.active[c] == ARRIVED
            or x.within[c] == FOLLOWS) else INSIDE
        arrived = arrived or x.active[c] == ARRIVED
    memcpy(x.guess, x.lam, x.reals * sizeof(double))
    for c in range(self.ntouch):
        # where some were stopped in the last step, the impulses of those that acted there
        if not arrived or not x.active[c] or self.touch[c].stiffness != INFINITY:
            x.guess[3 * c] = x.guess[3 * c + 1] = x.guess[3 * c + 2] = 0.0
            if x.turns:
                store3(turning_of(x, x.guess, c), zero3())
    status = contact_gather(self)
    memset(x.guess, 0, x.reals * sizeof(double))
    if status == OK:
        status = room_at_node(self)
    for c in range(self.ntouch):
        x.within[c] = x.bad[c]
    if status != OK:
        return status
    answer_at_rest(self, self.lane.state.q)
    form_at_node(self)
    memset(x.total, 0, y.n * sizeof(double))
    for k in range(y.n):
        along_ports(self, &x.W1[k], x.v, &y.w[k])
    if arrived:
        take_back(self)
    size = largest(y.w, y.n)
    for k in range(y.count):
        x.apart[k] = x.here[x.member[k]].gap if x.within[x.member[k]] == FOLLOWS else 0.0
    rest = fabs(self.lane.now.h)
    for sweep in range(IMPACTS):
        # u = J v
        count = 0
        while True:
            for k in range(y.count):
                if y.law[k] == CONE and x.apart[k] == 0.0 and y.w[y.row[k]] < -CLOSING * size:
                    x.bad[count] = k
                    count += 1
            if count > 0 or not close_next(self, CLOSING * size, &rest):
                break
        if count == 0:
            break
        all = count
        for k in range(y.count):
            if y.law[k] == HOLD:
                x.bad[all] = k
                all += 1
        choose_hit(self, x.bad, all)
        cone_solve(&x.hit, 1e-13 * size, 1e-13 * size)
        part_again(self, count, bounces and 2 * sweep < IMPACTS)
        if all > count:
            # and rolling constraints are satisfied
            choose_hit(self, x.bad + count, all - count)
            cone_solve(&x.hit, 1e-13 * size, 1e-13 * size)
            for k in range(all - count):
                o = y.row[x.bad[count + k]]
                for j in range(y.dim[x.bad[count + k]]):
                    x.total[o + j] += x.hit.lam[x.hit.row[k] + j]
                    add_column(y.n, x.hit.lam[x.hit.row[k] + j], y.G + o + j, y.n, y.w)
    # the impulse of the impact, and the velocity after it
    memset(x.impact_impulses, 0, x.reals * sizeof(double))
    for k in range(y.count):
        store3(x.impact_impulses + 3 * x.member[k], world_impulse(self, k, x.total + y.row[k]))
        if y.dim[k] > 3:
            store3(turning_of(x, x.impact_impulses, x.member[k]), world_turn(self, k, x.total + y.row[k]))
    sum_wrenches(self, x.total, x.u)
    memset(x.impact, 0, nv * sizeof(double))
    push_ports(x, x.impact)
    add_push(self, x.impact, x.v)
    x.opened = True
    x.count = 0
    return OK


cdef bint close_next(ModelStepper self, double least, double* rest) noexcept nogil:
    # advance to the instant at which the first of the gaps closes at the current velocities, within the rest of the
    # step; later gaps as well if they are closed where the step begins. Whether there are any. least: lower speeds
    # count as zero
    cdef Touching* x = &self.contact
    cdef const ContactProblem* y = &x.cones
    cdef double t = INFINITY
    cdef bint found = False
    cdef int k
    for k in range(y.count):
        if y.law[k] == CONE and x.apart[k] > 0.0 and y.w[y.row[k]] < -least:
            t = min(t, x.apart[k] / -y.w[y.row[k]])
    for k in range(y.count):
        if y.law[k] != CONE:
            continue
        if t <= rest[0]:
            x.apart[k] += t * y.w[y.row[k]]
            if x.apart[k] < AT_ONCE * fabs(self.lane.now.h * y.w[y.row[k]]):
                x.apart[k] = 0.0
        elif x.within[x.member[k]] == FOLLOWS:
            x.apart[k] = INFINITY
        else:
            found = found or (x.apart[k] > 0.0 and y.w[y.row[k]] < -least)
            x.apart[k] = 0.0
    found = found or t <= rest[0]
    rest[0] = rest[0] - t if t <= rest[0] else -1.0
    return found


cdef void take_back(ModelStepper self) noexcept nogil:
    # where contacts were stopped in the last step, those coupled with them approach as if none had acted: u -= G lam
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef int k, o
    for k in range(x.groups):
        x.group[k].arrived = False
    for k in range(y.count):
        if x.active[x.member[k]] == ARRIVED:
            group_of(self, k).arrived = True
    for k in range(y.count):
        for o in range(y.row[k], y.row[k] + (y.dim[k] if group_of(self, k).arrived else 0)):
            x.total[o] = -y.lam[o]
            add_column(y.n, x.total[o], y.G + o, y.n, y.w)


cdef void part_again(ModelStepper self, int count, bint bounce) noexcept nogil:
    # the approaching contacts separate with e times their approach, u += G (1 + e) lam. Contacts of one e never gain
    # energy; where a group of several would, all of them use the smallest
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef ContactProblem* z = &x.hit
    cdef TouchGroup* g
    cdef int again, k, j, o
    cdef double e, step
    cdef bint gains = False
    memcpy(x.w, y.w, y.n * sizeof(double))
    for k in range(x.groups):
        x.group[k].least, x.group[k].gain, x.group[k].terms = 1.0, 0.0, 0.0
    for k in range(count):
        g = group_of(self, x.bad[k])
        g.least = min(g.least, self.touch[x.member[x.bad[k]]].restitution)
    for again in range(2):
        for k in range(count):
            g = group_of(self, x.bad[k])
            e = g.least if g.gain > GAINED * g.terms else self.touch[x.member[x.bad[k]]].restitution
            o = y.row[x.bad[k]]
            for j in range(y.dim[x.bad[k]]):
                z.w[z.row[k] + j] = (1.0 + e if bounce else 1.0) * z.lam[z.row[k] + j]
                add_column(y.n, z.w[z.row[k] + j], y.G + o + j, y.n, y.w)
        if again:
            break
        for k in range(count):
            g = group_of(self, x.bad[k])
            o = y.row[x.bad[k]]
            for j in range(y.dim[x.bad[k]]):
                step = 0.5 * z.w[z.row[k] + j]
                g.gain += step * (x.w[o + j] + y.w[o + j])
                g.terms += fabs(step * x.w[o + j]) + fabs(step * y.w[o + j])
        for k in range(x.groups):
            gains = gains or x.group[k].gain > GAINED * x.group[k].terms
        if not gains:
            break
        memcpy(y.w, x.w, y.n * sizeof(double))
    for k in range(count):
        for j in range(y.dim[x.bad[k]]):
            x.total[y.row[x.bad[k]] + j] += z.w[z.row[k] + j]


cdef TouchGroup* group_of(ModelStepper self, int k) noexcept nogil:
    # of a member
    return &self.contact.group[self.contact.group_of_tree[tree_of(self, self.contact.member[k])]]


cdef void choose_hit(ModelStepper self, const int* chosen, int count) noexcept nogil:
    # the problem of a subset of members
    cdef Touching* x = &self.contact
    cdef const ContactProblem* y = &x.cones
    cdef ContactProblem* z = &x.hit
    cdef int k, j, i, l, a, b, n = 0
    z.count = count
    for k in range(count):
        z.dim[k], z.row[k], z.mu[k] = y.dim[chosen[k]], n, self.touch[x.member[chosen[k]]].friction
        z.law[k], z.patch[k], z.even[k] = y.law[chosen[k]], y.patch[chosen[k]], 1.0
        memcpy(z.place + 2 * k, y.place + 2 * chosen[k], 2 * sizeof(double))
        memset(z.lead + LEADS * k, 0, LEADS * sizeof(double))
        n += z.dim[k]
    z.n = n
    for k in range(count):
        for i in range(z.dim[k]):
            a = y.row[chosen[k]] + i
            z.b[z.row[k] + i], z.lam[z.row[k] + i] = y.w[a], 0.0
            for l in range(count):
                for j in range(z.dim[l]):
                    b = y.row[chosen[l]] + j
                    z.G[(z.row[k] + i) * n + z.row[l] + j] = y.G[a * y.n + b]
    cones_formed(z)


cdef void answer_at_rest(ModelStepper self, const double* q) noexcept nogil:
    # P = rows M^-1 rows^T, with the constraints satisfied
    cdef Touching* x = &self.contact
    cdef int* path = <int*>x.whole
    model_velocity(self, q, self.shared.zeros, x.still)
    if self.answers_by_factors:
        # M as `velocity` left it
        answer_on_paths(self, path, paths_of_ports(self, path))
    else:
        answer_by_velocities(self, q)


cdef void answer_by_velocities(ModelStepper self, const double* q) noexcept nogil:
    # tree by tree, by the velocities of momenta; prescribed coordinates move as given at any momentum
    cdef Touching* x = &self.contact
    cdef const TouchTree* t
    cdef int k, j, p
    for k in range(x.ports):
        t = &x.tree[x.tree_of_port[k]]
        memset(x.r, 0, self.nv * sizeof(double))
        push_port(x, k, 1.0, x.r)
        model_velocity(self, q, x.r, x.whole)
        for j in range(t.v, t.v_end):
            row_of(x, x.response, k)[j] = x.whole[j] - x.still[j]
    for p in range(x.parts):
        for k in range(x.part[p], x.part[p] + x.part_size[p]):
            for j in range(x.part[p], x.part[p] + x.part_size[p]):
                block_row(x, x.P_room, k)[j] = along_port(x, k, row_of(x, x.response, j))


cdef void answer_on_paths(ModelStepper self, const int* path, int on_path) noexcept nogil:
    # by the factors of M: the six wrenches on a body, or forces of joints, at once, on the paths between ports and the world
    cdef Touching* x = &self.contact
    cdef SideJoints joints
    cdef double* P = x.P_room
    cdef double* answer
    cdef const TouchTree* t
    cdef int k = 0, j, first, count
    while k < x.ports:
        t = &x.tree[x.tree_of_port[k]]
        first = bodies_before(path, on_path, t.body)
        count = bodies_before(path, on_path, t.body_end) - first
        if x.owner[k] >= 0:
            aba_answer_wrenches(self.shared.m, self.lane.bodies.aba, x.owner[k], path + first, count, x.side)
            see_bodies(x, P, k, 6, 1.0)
            k += 6
            continue
        if joints_from(self, k, &joints):
            aba_answer_joints(self.shared.m, self.lane.bodies.aba, &joints, path + first, count, x.side)
            see_bodies(x, P, k, joints.count, 1.0)
            see_joints(self, P, k, joints.count)
            k += joints.count
            continue
        answer = row_of(x, x.response, k)
        memset(answer + t.v, 0, (t.v_end - t.v) * sizeof(double))
        if self.touch[-1 - x.owner[k]].kind == AT_LENGTH:
            aba_response(self.shared.m, row_of(x, x.rows, k), t.body, t.body_end, answer, self.lane.bodies.aba)
        else:
            aba_response_along(self.shared.m, row_of(x, x.rows, k), body_of_port(self, k), path + first, count, answer,
                               self.lane.bodies.aba)
        for j in range(x.part[x.part_of_port[k]], x.part[x.part_of_port[k]] + x.part_size[x.part_of_port[k]]):
            block_row(x, P, k)[j] = block_row(x, P, j)[k] = along_port(x, j, answer)
        k += 1


cdef int joints_from(ModelStepper self, int port, SideJoints* to) noexcept nogil:
    # ports from this one on that are of joints of one coordinate each, of one tree: these, six at most, and their number
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef int k = port, body
    to.count = 0
    while (to.count < 6 and k < x.ports and x.owner[k] < 0 and x.tree_of_port[k] == x.tree_of_port[port]
           and not self.shared.m.nlocked):
        e = &self.touch[-1 - x.owner[k]]
        body = x.body_of_v[e.iv]
        if not on_coordinate(e) or joint_multi(&self.shared.m.body[body]) or is_pushed(to, body):
            break
        to.body[to.count], to.sign[to.count] = body, e.sign
        to.count += 1
        k += 1
    return to.count


cdef void see_joints(ModelStepper self, double* P, int port, int count) noexcept nogil:
    # columns of P: the rates of joints in `side`; and rows, as the columns at the bodies in contact
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef int part = x.part_of_port[port], j, c
    for j in range(x.part[part], x.part[part] + x.part_size[part]):
        if x.owner[j] < 0:
            e = &self.touch[-1 - x.owner[j]]
            if not on_coordinate(e) or joint_multi(&self.shared.m.body[x.body_of_v[e.iv]]):
                continue    # its own columns have this row
            for c in range(count):
                block_row(x, P, j)[port + c] = e.sign * x.side[x.body_of_v[e.iv]].u[c]
            continue
        for c in range(count):
            block_row(x, P, port + c)[j] = block_row(x, P, j)[port + c]


cdef void see_bodies(Touching* x, double* P, int port, int count, double size) noexcept nogil:
    # columns of P, six or fewer: size times the displacements of bodies in `side`, at the bodies in contact
    cdef const double* moved
    cdef double* to
    cdef int part = x.part_of_port[port], j = x.part[part], end = j + x.part_size[part], k, c
    while j < end:
        if x.owner[j] < 0:
            j += 1
            continue
        moved, to = x.side[x.owner[j]].x, block_row(x, P, j) + port
        for k in range(6):
            for c in range(count):
                to[c] = size * moved[k * SIDES + c]
            to += x.part_size[part]
        j += 6


cdef int bodies_before(const int* path, int count, int body) noexcept nogil:
    # of a path in order, how many come before a body
    cdef int low = 0, high = count, middle
    while low < high:
        middle = (low + high) // 2
        if path[middle] < body:
            low = middle + 1
        else:
            high = middle
    return low


cdef int body_of_port(ModelStepper s, int port) noexcept nogil:
    # the body in contact, or one that a number moves
    cdef int i = s.contact.owner[port]
    return i if i >= 0 else s.contact.body_of_v[s.touch[-1 - i].iv]


cdef int paths_of_ports(ModelStepper s, int* path) noexcept nogil:
    # the bodies between ports and the world in their order, (nbody,) at most; returns their number
    cdef Touching* x = &s.contact
    cdef const vt_model* m = s.shared.m
    cdef int i, k, count = 0
    memset(path, 0, m.nbody * sizeof(int))
    for k in range(x.ports):
        i = body_of_port(s, k)
        while i >= 0 and not path[i]:
            path[i] = True
            i = m.body[i].parent
    for k in range(m.nbody):
        i = k if x.on_rope[k] else -1
        while i >= 0 and not path[i]:
            path[i] = True
            i = m.body[i].parent
    for i in range(m.nbody):
        if path[i]:
            path[count] = i
            count += 1
    return count


cdef void push_ports(const Touching* x, double* out) noexcept nogil:
    # out (nv,) += rows^T u
    cdef int k
    for k in range(x.ports):
        push_port(x, k, x.u[k], out)


cdef void add_push(ModelStepper self, const double* push, double* v) noexcept nogil:
    # v += M^-1 push, of the wrenches u in the ports
    cdef Touching* x = &self.contact
    cdef int k
    if self.answers_by_factors:
        aba_response(self.shared.m, push, 0, self.shared.m.nbody, x.still, self.lane.bodies.aba)
        vt_add_row(self.nv, 1.0, x.still, v)
        return
    for k in range(x.ports):
        add_port(x, x.response, k, x.u[k], v)


cdef int room_at_node(ModelStepper self) noexcept nogil:
    # memory for G of the contacts, and for parts of the problem
    cdef Touching* x = &self.contact
    cdef int status = cones_room(&x.hit, &x.store_of_hit, x.cones.count, x.cones.n, 0)
    x.hit.n = x.cones.n
    if status == OK:
        status = cones_dense(&x.hit)
    return cones_dense(&x.cones) if status == OK else status


cdef int form_at_node(ModelStepper self) noexcept nogil:
    # G = W1^T P W1 of all ports
    cdef Touching* x = &self.contact
    cdef PortTrees on
    cdef int status
    on.count, on.first, on.size, on.of_port, on.at = x.parts, x.part, x.part_size, x.part_of_port, x.block_at
    on.base = on.whole = 0
    memset(x.cones.give, 0, x.count * sizeof(double))
    cones_product(&x.cones, x.W1, x.W1, x.P_room, &on, 0, x.ports)
    status = cones_form(&x.cones)
    cones_formed(&x.cones)
    return status
