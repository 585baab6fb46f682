# Variational steps with contacts: passes of Newton corrections of the increment and of impulses that solve the cones at
# its velocities. One lane.

cdef enum:
    TOUCH_PASSES = 30       # most corrections of a step with contacts
    EASED_PASSES = 8        # of which so many may ease a problem that is over-held
    TOUCH_LAST = 8          # of one whose momenta balance, if a small residual of its contacts remains

#: Steps whose impulses do not satisfy the laws fail where they multiply the kinetic energy by more
cdef double BLOWN_UP = 100.0
#: Steps in which normals turn by more than the angle of this cosine, places move by more than this share of a shape, or
#: bodies turn by more than the root of this [rad], are repeated in parts where they gain more
cdef double FAR_TURN = 0.1
cdef double TURNED_NORMAL = 0.99
cdef double MOVED_PLACE = 0.1
cdef double MOST_GAIN = 1.5
cdef double GAIN_BY_NORMALS = 1.02
#: A residual is accepted where the last correction left more than this fraction of it
cdef double TOUCH_SLOW = 0.7
#: Friction that does not satisfy its law leaves no more than this fraction of the velocities, unless nothing else is found
cdef double TOUCH_FRICTION = 1e-3
#: [m] by which impulses that do not satisfy the laws may let shapes come deeper into each other
cdef double HELD_GAP = 4e-11


cdef void variational_accept(ModelStepper self) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef int c, k
    model_accept(self)
    if not self.ntouch:
        return
    for k in range(x.asked_count):
        self.post_contact.active_before[x.asked[k]] = x.active[x.asked[k]]
    keep_touch(self)
    self.post_contact.jumped[0] = x.opened
    for k in range(x.asked_count):
        c = x.asked[k]
        if x.active[c] and not self.post_contact.active_before[c] and not stands(&self.touch[c]):
            self.post_contact.jumped[0] = True
    renew_facets(self)


cdef void learn_push(ModelStepper self) noexcept nogil:
    # u, for the guesses of future steps
    cdef Touching* x = &self.contact
    if not past_ports(self):
        x.past.seen.count = 0
    if x.past.seen.count == 0:
        x.past.seen.h = self.lane.now.h
        memcpy(x.owner_past, x.owner, x.ports * sizeof(int))
        if x.ports < x.most_ports:
            x.owner_past[x.ports] = self.shared.m.nbody
    guess_scale(&x.past, x.ports, self.lane.now.h)
    guess_learn(&x.past, x.ports, x.u, NULL, x.T)


cdef bint past_ports(ModelStepper self) noexcept nogil:
    # whether past impulses are in the ports of this step
    cdef Touching* x = &self.contact
    return (memcmp(x.owner_past, x.owner, x.ports * sizeof(int)) == 0
            and (x.ports == x.most_ports or x.owner_past[x.ports] == self.shared.m.nbody))


# ---- the first trial with contacts --------------------------------------------------------------------


cdef void variational_first_guess(ModelStepper self, bint joined) noexcept nogil:
    # of the increment and, where constraints have just closed, the tangent of the start. joined: the current trial is
    # sufficient
    cdef Touching* x = &self.contact
    cdef Newton* newton = &self.lane.newton
    cdef int k
    if joined:
        return
    self.lane.now.iterations = 0
    self.lane.now.contraction = NAN
    self.lane.reuse.age += 1
    if self.lane.progress.opening and self.shared.count:
        note_tangent(self)
    if x.opened:
        # after an impact: y = h v
        self.lane.guess.seen.count = 0
        for k in range(self.nv):
            newton.y[k] = self.lane.now.h * x.v[k]
        self.method.by_velocities(self, newton.y)
        lock_increment(self)
    else:
        x.fresh = predict(self)


cdef void variational_guess_again(ModelStepper self) noexcept nogil:
    # from no motion, with the exact direction, which includes what the step solves for
    self.lane.guess.seen.count = 0
    no_multipliers(self)
    memset(self.lane.newton.y, 0, self.nv * sizeof(double))
    lock_increment(self)


cdef void variational_push_late(ModelStepper self) noexcept nogil:
    # p2 += the impulses of compliant contacts at the end of the step
    vt_add_row(self.nv, 1.0, self.contact.late, self.lane.state.x2)


cdef void kick_node(ModelStepper self) noexcept nogil:
    # impulse = J1^T lam = (rows)^T u, and the impulse of an impact
    cdef Touching* x = &self.contact
    self.lane.newton.impulse = x.impulse
    if x.opened:
        memcpy(x.impulse, x.impact, self.nv * sizeof(double))
    else:
        memset(x.impulse, 0, self.nv * sizeof(double))
    push_ports(x, x.impulse)


# ---- the operator ------------------------------------------------------------------------------------


cdef bint operator_at_hand(ModelStepper self) noexcept nogil:
    return not self.rolls and self.lane.reuse.have and ports_at_hand(self)


cdef double* port_answers(ModelStepper self) noexcept nogil:
    return self.contact.answers if may_keep(&self.contact) else self.contact.answers_room


cdef int variational_answer_ports(ModelStepper self) noexcept nogil:
    # P = -(rows at node 2) (-dr/dy)^-1 (rows at node 1)^T/h: the response of the step's operator, with the constraints
    # satisfied
    cdef Touching* x = &self.contact
    cdef Newton* newton = &self.lane.newton
    cdef int i, k, status = OK, tree = -1, count = self.shared.count
    cdef SideJoints joints
    cdef bint at_once = answers_at_once(self)
    memcpy(x.r, newton.r, self.nv * sizeof(double))
    memcpy(x.h, self.lane.held.h, count * sizeof(double))
    memset(self.lane.held.h, 0, count * sizeof(double))
    for i in range(x.groups):
        k = x.group[i].port
        while k < x.group[i].port + x.group[i].ports:
            if at_once and x.owner[k] >= 0:
                answer_body(self, k, x.tree_of_port[k] != tree)
                tree = x.tree_of_port[k]
                k += 6
            elif at_once and joints_from(self, k, &joints):
                answer_joints(self, k, &joints, x.tree_of_port[k] != tree)
                tree = x.tree_of_port[k]
                k += joints.count
            else:
                if status == OK:
                    status = answer_port(self, k)
                tree = -1
                k += 1
    memcpy(newton.r, x.r, self.nv * sizeof(double))
    memcpy(self.lane.held.h, x.h, count * sizeof(double))
    keep_ports(self, status == OK)
    return status


cdef void displace_ports(ModelStepper self, int first, int end, double* out) noexcept nogil:
    # ports by the last solution: rows at node 2 times d
    cdef Touching* x = &self.contact
    cdef bint at_once = answers_at_once(self)
    cdef int k = first
    while k < end:
        if at_once and x.owner[k] >= 0:
            self.method.displaced(self, x.owner[k], out + k)
            k += 6
            continue
        out[k] = along_row2(self, k, self.lane.newton.d, self.rolls or not at_once)
        k += 1


cdef bint answers_at_once(ModelStepper self) noexcept nogil:
    # whether the operator answers to the six wrenches on a body in one pass over its tree
    return (self.method.answer_wrenches != NULL and self.shared.choices.extra == 0 and self.shared.count == 0
            and self.shared.choices.solver != RIQN and not self.method.dense(self))


cdef int answer_port(ModelStepper self, int k) noexcept nogil:
    # a column of P, and the response that it is of
    cdef Touching* x = &self.contact
    cdef Newton* newton = &self.lane.newton
    cdef const TouchTree* t = &x.tree[x.tree_of_port[k]]
    cdef double* P = contact_P(self)
    cdef double scaled = -1.0 / self.lane.now.h
    cdef int first = x.part[x.part_of_port[k]], end = first + x.part_size[x.part_of_port[k]], j, status = OK
    memset(newton.r, 0, self.nv * sizeof(double))
    push_port(x, k, 1.0, newton.r)
    clear_locked(self, newton.r)
    if trees_apart(self):
        self.method.apply_inverse(self, newton.r, t.body, t.body_end, newton.d)
    else:
        status = direction(self)
    memcpy(row_of(x, port_answers(self), k) + t.v, newton.d + t.v, (t.v_end - t.v) * sizeof(double))
    displace_ports(self, first, end, x.T)
    for j in range(first, end):
        block_row(x, P, j)[k] = scaled * x.T[j]
    return status


cdef void answer_body(ModelStepper self, int port, bint fresh) noexcept nogil:
    # six columns of P
    cdef Touching* x = &self.contact
    cdef const TouchTree* t = &x.tree[x.tree_of_port[port]]
    self.method.answer_wrenches(self, x.owner[port], t.body, t.body_end, fresh, t.v_end - t.v,
                                row_of(x, port_answers(self), port))
    see_columns(self, port, 6)


cdef void answer_joints(ModelStepper self, int port, const SideJoints* joints, bint fresh) noexcept nogil:
    # a column of P for each
    cdef Touching* x = &self.contact
    cdef const TouchTree* t = &x.tree[x.tree_of_port[port]]
    self.method.answer_joints(self, joints, t.body, t.body_end, fresh, t.v_end - t.v, row_of(x, port_answers(self), port))
    see_columns(self, port, joints.count)


cdef void see_columns(ModelStepper self, int port, int count) noexcept nogil:
    # columns of P: a body's displacement by increments is that of the pass over its tree
    cdef Touching* x = &self.contact
    cdef int j, k, first = x.part[x.part_of_port[port]]
    self.lane.progress.solves += 1
    see_bodies(x, contact_P(self), port, count, -1.0 / self.lane.now.h)
    for j in range(first, first + x.part_size[x.part_of_port[port]]):
        for k in range(count if x.owner[j] < 0 else 0):
            see_pair(self, j, port + k)


cdef inline void see_pair(ModelStepper self, int j, int k) noexcept nogil:
    # an entry of P, of the row at node 2 and the response
    cdef Touching* x = &self.contact
    block_row(x, contact_P(self), j)[k] = -1.0 / self.lane.now.h * along_row2(
        self, j, row_of(x, port_answers(self), k), self.rolls)


cdef inline double along_row2(ModelStepper self, int port, const double* d, bint increments) noexcept nogil:
    # the row of a port at node 2 times d (nv,); increments: rows of coordinates are by these as well, see `place_rows2`
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    if x.owner[port] < 0 and not increments:
        e = &self.touch[-1 - x.owner[port]]
        if on_coordinate(e):
            return row_of(x, x.rows2, port)[e.iv] * d[e.iv]
    return inner_port(x, x.rows2, port, d)


cdef void see_ports(ModelStepper self) noexcept nogil:
    # P of the rows at the trial: where some depend on each other, those of G must do so as well
    cdef Touching* x = &self.contact
    cdef int p, j, k
    for p in range(x.parts):
        for k in range(x.part[p], x.part[p] + x.part_size[p]):
            for j in range(x.part[p], x.part[p] + x.part_size[p]):
                see_pair(self, j, k)


cdef void place_rows2(ModelStepper self) noexcept nogil:
    # the rows at node 2, by increments, where they are not in the passes over a tree
    cdef Touching* x = &self.contact
    cdef bint at_once = answers_at_once(self) and not self.rolls
    cdef int k
    write_rows(self, x.there, x.pose2, x.W2, True)
    for k in range(x.ports):
        if x.owner[k] < 0:
            single_port(self.shared.m, &self.touch[-1 - x.owner[k]], self.lane.state.q2, x.pose2,
                        &x.tree[x.tree_of_port[k]], row_of(x, x.rows2, k))
        elif not at_once and x.port_of_body[x.owner[k]] == k:
            body_ports(self.shared.m, x.pose2, x.owner[k], &x.tree[x.tree_of_port[k]], row_of(x, x.rows2, k))
    for k in range(x.ports):
        if at_once and (x.owner[k] >= 0 or on_coordinate(&self.touch[-1 - x.owner[k]])):
            continue
        self.method.by_increments(self, x.tree[x.tree_of_port[k]].body, x.tree[x.tree_of_port[k]].body_end,
                                  row_of(x, x.rows2, k))


# ---- passes ------------------------------------------------------------------------------------------


cdef int variational_iterate_touches(ModelStepper self) noexcept nogil:
    # Newton corrections of the increment and, at its velocities, impulses that solve the cones
    cdef Touching* x = &self.contact
    cdef Pass* p = self.lane.newton.now
    cdef double closed = 0.0, e, found, before = INFINITY, found_before = INFINITY, goal = 0.0
    cdef bint have = operator_at_hand(self), old = have, renew, asks
    cdef int k, status
    p.solver, p.k, p.most, p.turned, p.required_signs, p.signs_ok = RECURSIVE_NEWTON, 0, TOUCH_PASSES, False, EVEN, True
    p.rings = self.lane.guess.rings
    renew = (have and self.lane.now.iterations == 0
             and renews(self.lane.reuse, &self.shared.choices.costs, self.lane.clock.steps))
    self.lane.reuse.aged = False
    hold_still(self)
    if not foretell(self):
        gather_push(self)
    kick_node(self)
    x.cut, x.residue, x.remains, x.drifted, x.idle = 0, 0.0, 0.0, False, True
    for k in range(TOUCH_PASSES):
        e = variational_residual(self)
        if self.lane.now.cause == CALLBACK_FAILED:
            return CALLBACK_FAILED
        if not isfinite(e):
            return TURNED_TOO_FAR if p.turned else NOT_CONVERGED
        if k == 0:
            p.scale = variational_scale(self)
            if self.shared.count:
                closed = variational_closed(self)
        p.scale = vt_max_nan(p.scale, largest(x.impulse, self.nv))
        if self.shared.m.nlocked and k <= 2:
            scale_by_motion(self, p)
        p.goal = max(self.shared.choices.tolerance * p.scale, self.shared.choices.rounding * fabs(self.lane.now.h))
        if self.shared.count:
            e = vt_max_nan(e, largest(self.lane.held.h, self.shared.count) * (p.goal / closed))
        p.error = self.lane.now.error = e
        self.method.reach_node(self, self.lane.newton.y, self.lane.state.q2)
        self.method.stand_touched(self)
        if k == 1 and x.closing:
            # contacts that the first correction closes; others are looked for at the end
            x.closing = False
            if join(self):
                return JOINED
        measure_touches(self)
        found = INFINITY
        unsettle(self)
        find_losses(self)
        if k == 0 or not have:
            place_rows2(self)
        if have:
            if k == 0:
                couple_contacts(self, contact_P(self), x.W2)
                if x.foretold:
                    e = stay(self, e)
            if not x.foretold or some_stay(self):
                found = touch_residual(self)
                goal = touch_goal(self)
                settle_groups(self, goal)
            if k == 1:
                self.lane.reuse.aged = e > AGED * p.goal or found > AGED * goal
            if x.foretold:
                found = INFINITY
            elif e <= p.goal and (found <= goal or (found <= 2.0 * x.residue and gaps_hold(self, goal)) or (
                    k > TOUCH_LAST and (found > TOUCH_SLOW * found_before or k == TOUCH_PASSES - 1)
                    and (x.residue > 0.0 or x.lenient or x.as_found or found <= TOUCH_LEFT * touch_speed(self)))):
                if found > goal:
                    x.remains = found
                x.passes += k
                return OK if p.signs_ok and turns_little(self) else WRONG_BRANCH
        if k > 0 and have:
            place_rows2(self)
        if old and k == 0:
            # an operator of a previous step is tried first
            asks = renew
        else:
            asks = not have or ((e > p.goal and not worth_another(e, before, p.goal, p.scale, old))
                                or (found > goal and not worth_another(found, found_before, goal, touch_speed(self), old)))
        if asks:
            status = variational_factor(self)
            if status == OK:
                status = variational_answer_ports(self)
            if status != OK:
                return status
            have, old = True, False
        if k > 0 or not old:
            if self.rolls:
                see_ports(self)
            couple_contacts(self, contact_P(self), x.W2)
        memcpy(x.cones.given, x.cones.lam, x.cones.n * sizeof(double))
        assume_losses(self)
        status = correct_touches(self, k < EASED_PASSES)
        if status != OK:
            return status
        x.drifted, x.idle = k == 0 and x.before <= DRIFTED * goal, False
        self.lane.now.iterations += 1
        if x.corrected:
            x.passes += k
            return OK if p.signs_ok and turns_little(self) else WRONG_BRANCH
        before, found_before = e, x.before
    note_worst(self)
    return NOT_CONVERGED


cdef bint gaps_hold(ModelStepper self, double goal) noexcept nogil:
    # whether the normal rows satisfy their laws, where friction does not
    cdef ContactProblem* y = &self.contact.cones
    cdef int k
    for k in range(y.count):
        if y.law[k] == CONE and not fabs(y.F[y.row[k]]) <= goal:
            return False
    return True


cdef void hold_still(ModelStepper self) noexcept nogil:
    # no motion as the guess of trees whose predicted one consists of rounding errors, which extrapolation would amplify;
    # the residual of the momenta has what they hold of it
    cdef Touching* x = &self.contact
    cdef TouchTree* on
    cdef double* y
    cdef int t
    for t in range(x.trees):
        on = &x.tree[t]
        y = self.lane.newton.y + on.v
        on.still = not self.shared.m.nlocked and largest(y, on.v_end - on.v) <= STILL * x.reach
        if on.still:
            memset(y, 0, (on.v_end - on.v) * sizeof(double))


cdef bint foretell(ModelStepper self) noexcept nogil:
    # u from that of past steps, where the increment is extrapolated as well
    cdef Touching* x = &self.contact
    if not (x.fresh and operator_at_hand(self) and self.lane.guess.seen.count and x.past.seen.count > 1
            and past_ports(self)):
        return False
    guess_scale(&x.past, x.ports, self.lane.now.h)
    guess_predict(&x.past, x.ports, 0, x.T)
    memcpy(x.u, x.T, x.ports * sizeof(double))
    x.foretold = True
    return True


cdef double stay(ModelStepper self, double e) noexcept nogil:
    # the current impulses rather than the predicted u, in groups where they are sufficient; returns the residual
    cdef Touching* x = &self.contact
    cdef Newton* newton = &self.lane.newton
    cdef TouchGroup* g
    cdef int k, t
    sum_wrenches(self, x.cones.lam, x.T)
    memset(newton.d, 0, self.nv * sizeof(double))
    for k in range(x.ports):
        push_port(x, k, x.u[k] - x.T[k], newton.d)
    clear_locked(self, newton.d)
    for k in range(x.groups):
        x.group[k].foretold = False
    for t in range(x.trees):
        if x.group_of_tree[t] >= 0 and not x.tree[t].still and (
                error_of_tree(self, t, newton.r) + error_of_tree(self, t, newton.d) > newton.now.goal):
            x.group[x.group_of_tree[t]].foretold = True
    if not some_stay(self):
        return e
    x.foretold = False
    for k in range(x.groups):
        g = &x.group[k]
        if g.foretold:
            x.foretold = True
        else:
            memcpy(x.u + g.port, x.T + g.port, g.ports * sizeof(double))
    for t in range(x.trees):
        k = x.group_of_tree[t]
        if k >= 0 and not x.group[k].foretold:
            vt_add_row(x.tree[t].v_end - x.tree[t].v, 1.0, newton.d + x.tree[t].v, newton.r + x.tree[t].v)
    kick_node(self)
    newton.now.error = self.lane.now.error = weighted(&self.shared.choices, 0, self.nv, newton.r, largest(newton.r, self.nv))
    return newton.now.error


# ---- groups whose equations hold ---------------------------------------------------------------------


cdef double error_of_tree(ModelStepper self, int t, const double* r) noexcept nogil:
    # the norm of a residual of the momenta of one tree
    cdef const TouchTree* on = &self.contact.tree[t]
    return weighted(&self.shared.choices, on.v, on.v_end, r, largest(r + on.v, on.v_end - on.v))


cdef bint some_stay(ModelStepper self) noexcept nogil:
    # whether groups have the current impulses, where others have predicted ones
    cdef int k
    for k in range(self.contact.groups):
        if not self.contact.group[k].foretold:
            return True
    return False


cdef void unsettle(ModelStepper self) noexcept nogil:
    cdef int k
    for k in range(self.contact.groups):
        self.contact.group[k].settled = False


cdef void settle_groups(ModelStepper self, double goal) noexcept nogil:
    # of several groups, those whose momenta balance and whose natural residual is below the goal
    cdef Touching* x = &self.contact
    cdef TouchGroup* g
    cdef int k, t
    if x.groups == 1 or not trees_apart(self):
        return
    for k in range(x.groups):
        g = &x.group[k]
        g.settled = not (x.foretold and g.foretold) and largest(x.cones.F + g.row, g.n) <= goal
    for t in range(x.trees):
        if x.group_of_tree[t] >= 0 and error_of_tree(self, t, self.lane.newton.r) > self.lane.newton.now.goal:
            x.group[x.group_of_tree[t]].settled = False


cdef int correct_touches(ModelStepper self, bint eased) noexcept nogil:
    # d0 = -(dr/dy)^-1 r,  b = w + J2 d0/h - W2^T P u,  lam that solves the cones,
    # y += -(dr/dy)^-1 (r - J1^T lam + rows^T u),  u = W1 lam
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef Newton* newton = &self.lane.newton
    cdef Pass* p = newton.now
    cdef double* before = x.change
    cdef double inverse = 1.0 / self.lane.now.h, e, goal, left
    cdef const TouchGroup* g
    cdef const double* P
    cdef int i, j, k, o, width
    cdef int status = direction(self)
    x.corrected = False
    if status != OK:
        return status
    for i in range(x.trees if x.groups > 1 else 0):
        if x.group_of_tree[i] >= 0 and x.group[x.group_of_tree[i]].settled:
            memset(newton.d + x.tree[i].v, 0, (x.tree[i].v_end - x.tree[i].v) * sizeof(double))
    for i in range(x.groups):
        g = &x.group[i]
        if g.settled:
            continue
        displace_ports(self, g.port, g.port + g.ports, x.T)
        for j in range(g.part, g.part + g.parts):
            o, width = x.part[j], x.part_size[j]
            P = block_row(x, contact_P(self), o) + o
            for k in range(width):
                x.T[o + k] = inverse * x.T[o + k] - vt_inner(width, P + k * width, x.u + o)
        for k in range(g.row, g.row + g.n):
            y.b[k] = x.w[k] + along_row(&x.W2[k], x.T)
    x.before = map_contacts(self)
    goal = touch_goal(self)
    e = max(0.5 * goal, TOUCH_ENOUGH * x.before)
    left = min(TOUCH_SHARE * x.before, max(0.1 * goal, TOUCH_QUADRATIC * p.error / p.scale * x.before))
    left = solve_contacts(self, max(0.02 * goal, left), 0.03 * goal, e, eased)
    if not may_go_on(self, left, e):
        note_worst(self)
        return NOT_CONVERGED
    sum_wrenches(self, y.lam, x.T)
    for k in range(x.ports):
        before[k] = x.u[k] - x.T[k]
    memcpy(x.u, x.T, x.ports * sizeof(double))
    if x.foretold or self.shared.count:
        for k in range(x.ports):
            push_port(x, k, before[k], newton.r)
        clear_locked(self, newton.r)
    if x.foretold:
        x.foretold = False
        if p.error <= p.goal and not (self.shared.count or self.shared.m.nlocked):
            # the increment remains with the impulses that solve the cones
            e = weighted(&self.shared.choices, 0, self.nv, newton.r, largest(newton.r, self.nv))
            if e <= p.goal and touch_residual(self) <= goal:
                p.error = self.lane.now.error = e
                kick_node(self)
                x.corrected = True
                return OK
    if self.shared.count:
        status = direction(self)
        if status != OK:
            return status
    else:
        # the same, by the response of the operator to the ports
        for k in range(x.ports):
            if before[k] != 0.0:
                add_port(x, port_answers(self), k, before[k], newton.d)
    stop_at_corners(self)
    correct(self, EACH)
    kick_node(self)
    return OK


cdef double doubled_energy(ModelStepper self, const double* q, const double* p) noexcept nogil:
    # p.v, twice the kinetic energy
    cdef Newton* newton = &self.lane.newton
    model_velocity(self, q, p, newton.v)
    return vt_inner(self.nv, p, newton.v)


cdef double doubled_energy_before(ModelStepper self) noexcept nogil:
    # the same at node 1, with what gravity adds in the step to bodies at rest
    cdef const double* g = self.shared.m.g
    cdef double mass = 0.0
    cdef int i
    for i in range(self.shared.m.nbody):
        mass += self.shared.m.body[i].mass
    return doubled_energy(self, self.lane.state.q, self.lane.state.x) + mass * (
        g[0] * g[0] + g[1] * g[1] + g[2] * g[2]) * self.lane.now.h * self.lane.now.h


cdef bint blows_up(ModelStepper self) noexcept nogil:
    # whether impulses that do not satisfy the laws multiply the kinetic energy: no contact does
    cdef double before = doubled_energy_before(self)
    return not doubled_energy(self, self.lane.state.q2, self.lane.state.x2) <= BLOWN_UP * before


cdef inline bint moves_far(const vt_contact* e, const Touch* here, const Touch* there) noexcept nogil:
    # whether the normal of a facet turns far in a step, or its place moves far on a body, as of lines nearly along each other
    cdef Vec3 a = sub(there.arm_a, here.arm_a), b = sub(there.arm_b, here.arm_b)
    cdef double most_a = MOVED_PLACE * e.shape_a.reach, most_b = MOVED_PLACE * e.shape_b.reach
    return (dot(here.n, there.n) < TURNED_NORMAL or dot(a, a) > most_a * most_a
            or (e.body_b >= 0 and dot(b, b) > most_b * most_b))


cdef bint gains_by_turning(ModelStepper self) noexcept nogil:
    # whether impulses raise the kinetic energy at node 1 in a step within which facets, or bodies with facets or ropes,
    # turn or move far: where the impulse acts along another direction, or at another place, than the gap of node 2
    # changes, it may do so
    cdef Touching* x = &self.contact
    cdef double* p = self.lane.newton.spare
    cdef double before
    cdef int k, i
    cdef bint curved = x.slots > 0, far = False
    for k in range(x.count):
        i = x.member[k]
        if not x.cones.lam[x.cones.row[k]] > 0.0:
            continue
        curved = curved or self.touch[i].kind == AT_LENGTH
        far = far or (self.touch[i].kind == ON_FACET and moves_far(&self.touch[i], &x.here[i], &x.there[i]))
    if not far and (not curved or largest_turn(self.shared.m, self.lane.newton.y) < FAR_TURN):
        return False
    before = doubled_energy_before(self)
    # by the normal impulses alone: tangential ones of driven wheels accelerate
    memset(x.T, 0, x.ports * sizeof(double))
    for k in range(x.count):
        add_touch_row(&x.W1[x.cones.row[k]], x.cones.lam[x.cones.row[k]], x.T)
    memcpy(p, self.lane.state.x, self.nv * sizeof(double))
    for k in range(x.ports):
        push_port(x, k, x.T[k], p)
    if not doubled_energy(self, self.lane.state.q, p) <= GAIN_BY_NORMALS * before:
        return True
    for i in range(self.nv):
        p[i] = self.lane.state.x[i] + x.impulse[i]
    return not doubled_energy(self, self.lane.state.q, p) <= MOST_GAIN * before


cdef bint turns_little(ModelStepper self) noexcept nogil:
    # the certificate of a step that contacts change: predictions do not include contacts
    cdef double turn = largest_turn(self.shared.m, self.lane.newton.y)
    show_margin(self, 0, turn, NAN)
    return turn < LONG_TURN or (self.rolls and turn < HALF_TURN and turns_steadily(self))


cdef bint turns_steadily(ModelStepper self) noexcept nogil:
    # whether wheels that rotate far move as they begin: y = h M^-1 (p1 + impulse), approximately
    cdef Newton* newton = &self.lane.newton
    cdef int k, i
    for k in range(self.nv):
        newton.spare[k] = self.lane.state.x[k] + self.contact.impulse[k]
    model_velocity(self, self.lane.state.q, newton.spare, newton.v)
    for k in range(self.nv):
        newton.spare[k] = self.lane.now.h * newton.v[k]
    self.method.by_velocities(self, newton.spare)
    for k in range(self.nv):
        newton.spare[k] -= newton.y[k]
    for i in range(self.shared.m.nbody):
        if joint_turn_square(&self.shared.m.body[i], newton.y) >= LONG_TURN and \
                not joint_turn_square(&self.shared.m.body[i], newton.spare) <= STEADY:
            return False
    return True
