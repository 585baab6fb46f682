# Accelerations of a state with all forces, including closed contacts, and the wrenches that joints transmit. With the
# rows J of closed contacts, enforced limits that are reached, wheels and dry friction, and the acceleration a0 without
# them,
#     a = a0 + M^-1 J^T f,    d(J v)/dt = J a0 + (dJ/dt) v + G f,    G = J M^-1 J^T,
#     0 <= f_n  _|_  d(J_n v)/dt >= 0,
#     sliding: f_t = -mu f_n v_t/|v_t|,    sticking: |f_t| <= mu f_n against d(J_t v)/dt.
# One lane.

#: [m] a contact is closed below this gap
cdef double CLOSED_STATE = 1e-8
#: [m/s] and while it opens no faster than this
cdef double OPENS = 1e-7
#: [m/s or rad/s] contacts that slip no faster stick: friction would stop them at once
cdef double STICKS = 1e-4
#: (dJ/dt) v is a difference over configurations this far apart [rad or m]
cdef double BIAS_SPAN = 1e-3
#: A given normal force is imposed by a row whose compliance is so many times its response, corrected so often
cdef double SOFTER = 1e3
cdef enum:
    SOFT_PASSES = 6
    STATE_ROW = TOUCHED + 6 + TURNED    # numbers of a contact of a state
#: Forces are solved for relative to the accelerations without them; above LEAST_FOUND they do not exist
cdef double FOUND = 1e-13
cdef double LEAST_FOUND = 1e-8
#: Accelerations [relative to the largest] below which a row counts as at rest, for inverse dynamics
cdef double AT_REST = 1e-7


cdef int find_closed(ModelStepper s, const double* q, const double* v) noexcept nogil:
    # the members: contacts that are closed at (q, v) and do not open, with their rows and ports
    cdef Touching* x = &s.contact
    cdef const vt_contact* e
    cdef double speed
    cdef int c
    memset(x.guess, 0, x.reals * sizeof(double))
    memset(x.way, 0, x.reals * sizeof(double))
    memset(x.active, 0, s.ntouch * sizeof(int))
    for c in range(s.ntouch):
        x.within[c] = OUTSIDE
    memset(x.facet_read, 0, x.slots * sizeof(Facet))
    place_start(s, q)
    move_bodies(s, x.pose1, v)
    for c in range(s.ntouch):
        e = &s.touch[c]
        if stands(e):
            x.within[c] = INSIDE
        elif e.kind == AT_SPEED:
            x.within[c] = INSIDE if e.bound + e.sign * v[e.iv] <= OPENS else OUTSIDE
        elif x.here[c].gap <= max(CLOSED_STATE, e.softness):
            speed = closing_speed(s, c, x.here, v)
            if e.stiffness == INFINITY:
                x.within[c] = INSIDE if speed <= OPENS else OUTSIDE
            elif given_force(e, &x.here[c], speed) > 0.0:
                x.within[c], x.active[c] = INSIDE, PUSHED
        if x.within[c] == INSIDE:
            face(s, c)
    return contact_gather(s)


cdef inline double given_force(const vt_contact* e, const Touch* at, double speed) noexcept nogil:
    # f_n = max(0, k s + d s' gap') of a compliant contact, with its depth s(gap); of the derivative s' by the gap
    if e.softness > 0.0:
        return max(0.0, e.stiffness * contact_depth(e, at.gap) + e.damping * contact_depth_slope(e, at.gap) * speed)
    return max(0.0, -e.stiffness * at.gap - e.damping * speed)


cdef void row_rates(ModelStepper s, const Touch* list, const double* q, const double* v, double* out) noexcept nogil:
    # J v of the members' rows for the current twists of the bodies, placed in pose2 at q; tangents are those of node 1,
    # except for rolling
    cdef Touching* x = &s.contact
    cdef const vt_contact* e
    cdef const Touch* at
    cdef double more
    cdef Vec3 rate
    cdef int k, c, o, j
    for k in range(x.count):
        c, o = x.member[k], x.cones.row[k]
        e, at = &s.touch[c], &list[c]
        if is_single(e):
            out[o] = 0.0 if on_coordinate(e) else single_rate(e, q, x.pose2, s.lane.bodies.twist, v)
            continue
        if e.kind == ROLLS:
            rate = point_rate(s, e.body_a, at.arm_a)
            for j in range(e.dim):
                out[o + j] = dot(way_of(at, way_at(e, j)), rate)
            continue
        out[o] = dot(at.n, sub(point_rate(s, e.body_a, at.arm_a), point_rate(s, e.body_b, at.arm_b)))
        if e.dim == 1:
            continue
        more = halfway(e, at)
        rate = sub(point_rate(s, e.body_a, axpy(-more, at.n, at.arm_a)),
                   point_rate(s, e.body_b, axpy(more, at.n, at.arm_b)))
        out[o + 1], out[o + 2] = dot(x.here[c].t1, rate), dot(x.here[c].t2, rate)
        if e.dim > 3:
            turning_rates(s, k, out + o)


cdef inline Vec3 point_rate(ModelStepper s, int body, Vec3 arm) noexcept nogil:
    # the velocity of a point of a body
    cdef const double* twist = s.lane.bodies.twist + 6 * body
    if body < 0:
        return zero3()
    return add(load3(twist + 3), cross(load3(twist), arm))


cdef void row_bias(ModelStepper s, const double* q, const double* v, const int* path, int on_path, double* out,
                   double* rates) noexcept nogil:
    # out = (dJ/dt) v of the members' rows, by a central difference of fourth order along v; only bodies between ports
    # and the world are moved
    cdef const vt_model* m = s.shared.m
    cdef Touching* x = &s.contact
    cdef double fastest = largest(v, s.nv), share, weight, way
    cdef double* at = s.lane.state.q2
    cdef vt_axes axes
    cdef int k, i, c, last, n = x.cones.n
    memset(out, 0, n * sizeof(double))
    if not fastest > 0.0:
        return
    share = BIAS_SPAN / fastest
    x.placed2 = False           # not all bodies are placed
    for i in range(4):
        weight = (8.0 if i < 2 else -1.0) * (1.0 if i % 2 == 0 else -1.0)
        way = (share if i < 2 else 2.0 * share) * (1.0 if i % 2 == 0 else -1.0)
        last = -1
        for k in range(on_path):
            joint_advance(&m.body[path[k]], q, way, v, at)
            pose_body(m, path[k], at, &axes, last, x.pose2)
            twist_of(m, path[k], v, x.pose2, s.lane.bodies.twist)
            last = path[k]
        for k in range(x.count):
            c = x.member[k]
            if on_coordinate(&s.touch[c]):
                continue
            touch_at(&s.touch[c], at, x.pose2, &x.here[c], facet_for(x, &s.touch[c]), &x.there[c])
        row_rates(s, x.there, at, v, rates)
        for k in range(n):
            out[k] += weight * rates[k] / (12.0 * share)


cdef void state_laws(ModelStepper s, const double* v, double slow) noexcept nogil:
    # the law of the members' forces according to the velocities of their rows; slips no faster than `slow` stick
    cdef Touching* x = &s.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_contact* e
    cdef double rates[LEADS]
    cdef int k, o, j
    port_rates(s, v, x.T)
    for k in range(x.count):
        e, o = &s.touch[x.member[k]], y.row[k]
        memset(y.lead + LEADS * k, 0, LEADS * sizeof(double))
        y.mu[k] = e.friction
        if y.law[k] == RUB:
            if fabs(v[e.iv]) > slow:
                y.lead[LEADS * k] = -e.friction if e.sign * v[e.iv] > 0.0 else e.friction
                y.mu[k] = 0.0
        elif y.law[k] == CONE and y.dim[k] > 1:
            for j in range(y.dim[k] - 1):
                rates[j] = along_row(&x.W1[o + 1 + j], x.T)
            lead_against(y, k, rates, slow)


cdef inline void lead_against(ContactProblem* y, int k, const double* rates, double slow) noexcept nogil:
    # where slips are faster than `slow` friction is known: against their direction
    cdef int j, n = y.dim[k] - 1
    cdef double size = rates[0] * rates[0] + rates[1] * rates[1]
    for j in range(2, n):
        size += rates[j] * rates[j]
    size = vt_sqrt(size)
    if size > slow:
        for j in range(n):
            y.lead[LEADS * k + j] = -y.mu[k] * (rates[j] / size)
        y.mu[k] = 0.0


cdef double solve_forces(ModelStepper s, const double* v) noexcept nogil:
    # the forces of the members, for b of the rows without them in cones.b; returns the residual relative to b
    cdef Touching* x = &s.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_contact* e
    cdef double* given = x.total
    cdef double size = largest(y.b, y.n), left = 0.0, soft
    cdef int k, o, i, passes = 1, n = y.n
    y.budget = STEP_BUDGET
    memset(y.lam, 0, n * sizeof(double))
    memset(given, 0, n * sizeof(double))
    # G explicitly: through ports, forces that are not unique would have errors of the inverse of the shift
    if form_at_node(s) != OK:
        return INFINITY
    for k in range(x.count):
        e, o = &s.touch[x.member[k]], y.row[k]
        if y.law[k] == CONE and e.stiffness != INFINITY:
            if passes == 1:
                port_rates(s, v, x.T)
            given[o] = given_force(e, &x.here[x.member[k]], along_row(&x.W1[o], x.T))
            y.G[o * (n + 1)] *= 1.0 + SOFTER
            passes = SOFT_PASSES
    cones_formed(y)
    for i in range(passes):
        for k in range(n):
            if given[k] > 0.0:
                # soft (f - given) = 0, by the response of G in the previous pass
                soft = y.G[k * (n + 1)] * SOFTER / (1.0 + SOFTER)
                y.b[k] = soft * (y.lam[k] - given[k]) - vt_inner(n, y.G + k * n, y.lam)
                size = max(size, fabs(y.b[k]))
        left = cone_solve(y, FOUND * size, FOUND * size)
    return left / size if size > 0.0 else 0.0


cdef int closed_accelerations(ModelStepper s, double t, const double* q, const double* v, double slow,
                              double* a) noexcept nogil:
    # a, and the forces of the members in cones.lam and as wrenches in the ports in u
    cdef Touching* x = &s.contact
    cdef ContactProblem* y = &x.cones
    cdef int* path = <int*>x.v
    cdef int k, on_path, status, nv = s.nv
    model_acceleration(s, t, q, v, a)
    x.count = x.ports = 0
    if not all_finite(a, nv):
        return NOT_FINITE
    status = find_closed(s, q, v)
    if status != OK or x.count == 0:
        return status
    state_laws(s, v, slow)
    on_path = paths_of_ports(s, path)
    answer_members(s, q, path, on_path)
    row_bias(s, q, v, path, on_path, x.w, x.total)
    port_rates(s, a, x.T)
    for k in range(y.n):
        y.b[k] = along_row(&x.W1[k], x.T) + x.w[k]
    if not solve_forces(s, v) <= LEAST_FOUND:
        return NOT_CONVERGED
    push_accelerations(s, a)
    if s.shared.count:
        hold_again(s, t, q, v, a)
    return OK


cdef void port_rates(ModelStepper s, const double* v, double* out) noexcept nogil:
    # the motion of the ports for a velocity, (ports,)
    cdef int k
    for k in range(s.contact.ports):
        out[k] = along_port(&s.contact, k, v)


cdef void answer_members(ModelStepper s, const double* q, const int* path, int on_path) noexcept nogil:
    # P after `acceleration` at q, which leaves the factors of M
    if s.answers_by_factors:
        answer_on_paths(s, path, on_path)
    else:
        answer_at_rest(s, q)


cdef void push_accelerations(ModelStepper s, double* a) noexcept nogil:
    # a += M^-1 J^T f
    sum_wrenches(s, s.contact.cones.lam, s.contact.u)
    memset(s.contact.v, 0, s.nv * sizeof(double))
    push_ports(&s.contact, s.contact.v)
    add_push(s, s.contact.v, a)


cdef void hold_again(ModelStepper s, double t, const double* q, const double* v, double* a) noexcept nogil:
    # the multipliers of constraints with the forces of the members as joint forces
    cdef Touching* x = &s.contact
    cdef double* tau = s.lane.drive.tau
    cdef double* rates = s.lane.prescribed.a
    cdef int k
    memcpy(x.v, tau, s.nv * sizeof(double))
    push_ports(x, tau)
    for k in range(s.shared.m.nlocked):     # which velocities took for their own
        rates[s.shared.locked[k].iv] = a[s.shared.locked[k].iv]
    model_acceleration(s, t, q, v, a)
    memcpy(tau, x.v, s.nv * sizeof(double))


cdef object member_rows(ModelStepper s, const double* v):
    # (members, STATE_ROW): 0, number, force on the first in world axes, slip velocity there, gap; then the point of
    # action and the normal, NaN for coordinates; then the torque of its friction and the angular velocity that it opposes
    cdef Touching* x = &s.contact
    cdef const vt_contact* e
    cdef double[:, ::1] view
    cdef Vec3 f
    cdef double rates[LEADS]
    cdef double one
    cdef int k, j, c, o
    out = np.zeros((x.count, STATE_ROW))
    view = out
    port_rates(s, v, x.T)
    for k in range(x.count):
        c, o = x.member[k], x.cones.row[k]
        e = &s.touch[c]
        for j in range(TOUCHED, TOUCHED + 6):
            view[k, j] = NAN
        if not is_single(e):
            store3(&view[k, TOUCHED], acting_point(x, e, &x.here[c]))
            store3(&view[k, TOUCHED + 3], x.here[c].n)
        f = world_impulse(s, k, x.cones.lam + o)
        view[k, 1], view[k, 2], view[k, 3], view[k, 4], view[k, 8] = number_of(x, c), f.x, f.y, f.z, x.here[c].gap
        if s.touch[c].kind == RUBS:
            view[k, 5] = v[s.touch[c].iv]
        elif x.cones.law[k] == CONE and x.cones.dim[k] >= 3:
            for j in range(1, 3):
                one = along_row(&x.W1[o + j], x.T)
                f = scale(one, x.here[c].t1 if j == 1 else x.here[c].t2)
                view[k, 5] += f.x
                view[k, 6] += f.y
                view[k, 7] += f.z
        if x.cones.dim[k] > 3:
            store3(&view[k, TOUCHED + 6], world_turn(s, k, x.cones.lam + o))
            for j in range(3, x.cones.dim[k]):
                rates[j - 1] = along_row(&x.W1[o + j], x.T)
            store3(&view[k, TOUCHED + 9], turning_velocity(s, k, rates + 2))
    return out


cdef object member_wrenches(ModelStepper s):
    # (nbody, 6): the wrenches of the members on bodies, (couple, force) about their origins in world axes
    cdef Touching* x = &s.contact
    cdef double[:, ::1] view
    cdef int k = 0, j
    out = np.zeros((s.shared.m.nbody, 6))
    view = out
    while k < x.ports:
        if x.owner[k] >= 0:
            for j in range(6):
                view[x.owner[k], j] = x.u[k + j]
            k += 6
        else:
            k += 1
    return out


cdef int forces_for(ModelStepper s, double t, const double* q, const double* v, const double* wanted,
                    double slow, double* found) noexcept nogil:
    # the acceleration nearest to a desired one, in the metric of M, that admissible forces of members produce: the
    # difference to the desired one is left for joint forces
    cdef Touching* x = &s.contact
    cdef ContactProblem* y = &x.cones
    cdef double* rate = NULL
    cdef int* path = <int*>x.v
    cdef double size = 0.0, one
    cdef int k, o, on_path, status
    cdef bint less
    model_acceleration(s, t, q, v, found)
    x.count = x.ports = 0
    if not all_finite(found, s.nv):
        return NOT_FINITE
    status = find_closed(s, q, v)
    while status == OK and x.count:
        rate = y.w              # of the allocated memory
        on_path = paths_of_ports(s, path)
        answer_members(s, q, path, on_path)
        row_bias(s, q, v, path, on_path, x.w, x.total)
        state_laws(s, v, slow)
        size = 0.0
        port_rates(s, found, x.T)
        port_rates(s, wanted, x.change)
        for k in range(y.n):
            one = along_row(&x.W1[k], x.change)
            rate[k] = one + x.w[k]
            y.b[k] = along_row(&x.W1[k], x.T) - one
            size = max(size, max(fabs(rate[k]), fabs(y.b[k])))
        size *= AT_REST
        less = False
        for k in range(x.count):
            o = y.row[k]
            if y.law[k] == CONE and s.touch[x.member[k]].stiffness == INFINITY and rate[o] > size:
                x.within[x.member[k]], less = OUTSIDE, True
        if not less:
            break
        status = contact_gather(s)
    if status != OK or x.count == 0:
        return status
    for k in range(x.count):
        o = y.row[k]
        if y.law[k] == HOLD or (y.law[k] == CONE and s.touch[x.member[k]].stiffness == INFINITY):
            x.worst = x.member[k]
            if fabs(rate[o]) > size or (y.law[k] == HOLD and largest(rate + o, y.dim[k]) > size):
                return NOT_CONVERGED
        if y.law[k] == RUB and y.mu[k] > 0.0 and fabs(rate[o]) > size:
            y.lead[LEADS * k], y.mu[k] = -y.mu[k] if rate[o] > 0.0 else y.mu[k], 0.0
        elif y.law[k] == CONE and y.dim[k] > 1 and y.mu[k] > 0.0:
            lead_against(y, k, rate + o + 1, size)
    x.worst = -1
    if not solve_forces(s, v) <= LEAST_FOUND:
        return NOT_CONVERGED
    push_accelerations(s, found)
    return OK


cdef int set_state_rates(ModelStepper s, prescribed) except -1:
    # the accelerations of prescribed coordinates
    cdef const double* rates
    cdef int k, iv
    s.lane.now.cause = OK
    memset(s.lane.prescribed.a, 0, s.nv * sizeof(double))
    if prescribed is not None:
        rates = entries(prescribed, s.nv, "prescribed accelerations")
        for k in range(s.shared.m.nlocked):
            iv = s.shared.locked[k].iv
            s.lane.prescribed.a[iv] = rates[iv]
    return 0


def accelerations_with_contacts(ModelStepper field, double t, const double[::1] q, const double[::1] v,
                                const double[::1] prescribed=None, double slow=0.0):
    """Accelerations of a state with all forces, closed contacts included; slips no faster than `slow`, or than 1e-4 m/s or
    rad/s, stick.

    Returns a (nv,), the multipliers (count,) of the constraints, the closed contacts (n, STATE_ROW) with forces in
    place of impulses, then points and normals, their wrenches (nbody, 6) on the bodies, (couple, force) about the
    bodies' origins in world axes, and the status.
    """
    cdef Busy busy = field.busy()
    cdef const double* at = entries(q, field.nq, "entries of q")
    cdef const double* moving = entries(v, field.nv, "entries of v")
    cdef int status
    out = np.empty(field.nv)
    cdef double[::1] view = out
    set_state_rates(field, prescribed)
    with nogil:
        status = closed_accelerations(field, t, at, moving, max(slow, STICKS), &view[0])
    if field.lane.now.cause == CALLBACK_FAILED:
        raise field.exception
    if status == NO_MEMORY:
        raise MemoryError
    if status != OK:
        return out, None, None, None, status
    return (out, field.array(field.lane.held.push, field.shared.count), member_rows(field, moving),
            member_wrenches(field), status)


def acceleration_left(ModelStepper field, double t, const double[::1] q, const double[::1] v, const double[::1] a):
    """The acceleration that joint forces have to add such that the total is a (nv,), minimal in the kinetic metric.

    Returns it (nv,), the number of the contact that excludes the acceleration or -1, and the status.
    """
    cdef Busy busy = field.busy()
    cdef const double* at = entries(q, field.nq, "entries of q")
    cdef const double* moving = entries(v, field.nv, "entries of v")
    cdef const double* wanted = entries(a, field.nv, "entries of a")
    cdef int status, k
    out = np.empty(field.nv)
    cdef double[::1] view = out
    set_state_rates(field, a)
    field.contact.worst = -1
    with nogil:
        status = forces_for(field, t, at, moving, wanted, STICKS, &view[0])
        for k in range(field.nv):
            view[k] = wanted[k] - view[k]
    if field.lane.now.cause == CALLBACK_FAILED:
        raise field.exception
    if status == NO_MEMORY:
        raise MemoryError
    return out, field.contact.worst, status


# ---- what joints transmit ----------------------------------------------------------------------------

def joint_wrenches(ModelStepper field, const double[::1] q, const double[::1] v, const double[::1] a,
                   const double[::1] multipliers, const double[:, ::1] contact, const int[::1] body,
                   const double[:, :, ::1] axes, const double[:, ::1] place):
    """Wrenches (torque, force) from parents on bodies, (n, 6), at points of ``body`` (n,) and in axes there.

    They are the wrenches of inverse dynamics of a body and its subtree, less those of loads, of constraints by
    their ``multipliers`` (count,), and of contacts (nbody, 6), (couple, force) about the bodies' origins in world axes, or
    None. ``axes`` (n, 3, 3) and ``place`` (n, 3) [m] are in the bodies' core frames.
    """
    cdef Busy busy = field.busy()
    cdef const vt_model* m = field.shared.m
    cdef Bodies* b = &field.lane.bodies
    cdef Holonomic* held = &field.lane.held
    cdef const double* at = entries(q, m.nq, "entries of q")
    cdef const double* moving = entries(v, m.nv, "entries of v")
    cdef const double* rate = entries(a, m.nv, "entries of a")
    cdef const vt_constraint* e
    cdef double[:, ::1] out
    cdef Vec3 n, f, arm
    cdef Mat3 R
    cdef int i, j, k
    require_size(multipliers.shape[0], field.shared.count, "multipliers")
    require_size(axes.shape[0], body.shape[0], "axes")
    require_size(place.shape[0], body.shape[0], "places")
    if contact is not None:
        require_size(contact.shape[0], m.nbody, "wrenches of contacts")
        require_size(contact.shape[1], 6, "columns of wrenches")
    for k in range(body.shape[0]):
        if not 0 <= body[k] < m.nbody:
            raise ValueError(f"body {body[k]} of {m.nbody}")
    if b.rnea == NULL:
        b.rnea = <RneaBody*>field.memory.scratch(m.nbody * sizeof(RneaBody))
    found = np.empty((body.shape[0], 6))
    out = found
    # the wrenches of loads on bodies, then those of constraints and contacts
    place_bodies(field, at, moving)
    apply_list(field, field.shared.load, field.shared.nload, RESTING | RATES, at, moving)
    if field.shared.count:
        constraints(m, field.shared.constraint, field.shared.count, at, b.pose, held.h, NULL, held.hold1, NULL)
    for k in range(field.shared.count):
        e = &field.shared.constraint[k]
        if e.kind == COUPLING or e.kind == PROFILE or e.kind == USER:
            continue
        add_wrench(b, e.body_a, scale(multipliers[k], held.hold1[k].na), scale(multipliers[k], held.hold1[k].fa))
        add_wrench(b, e.body_b, scale(multipliers[k], held.hold1[k].nb), scale(multipliers[k], held.hold1[k].fb))
    for i in range(m.nbody if contact is not None else 0):
        add_wrench(b, i, load3(&contact[i, 0]), load3(&contact[i, 3]))
    # leaves to root: of everything that a body carries
    for i in range(m.nbody - 1, -1, -1):
        n, f = load3(b.wrench + 6 * i), load3(b.wrench + 6 * i + 3)
        add_wrench(b, m.body[i].parent, add(n, cross(b.pose[i].t, f)), f)
    rnea(m, m.g, at, moving, rate, b.inertial, b.rnea)
    for j in range(body.shape[0]):
        i = body[j]
        R = b.pose[i].R
        n = sub(mul(R, b.rnea[i].n), load3(b.wrench + 6 * i))
        f = sub(mul(R, b.rnea[i].f), load3(b.wrench + 6 * i + 3))
        n = tmul(R, sub(n, cross(mul(R, load3(&place[j, 0])), f)))
        f = tmul(R, f)
        for k in range(3):
            out[j, k] = axes[j, 0, k] * n.x + axes[j, 1, k] * n.y + axes[j, 2, k] * n.z
            out[j, 3 + k] = axes[j, 0, k] * f.x + axes[j, 1, k] * f.y + axes[j, 2, k] * f.z
    return found


cdef inline void add_wrench(Bodies* b, int body, Vec3 n, Vec3 f) noexcept nogil:
    # a wrench about the origin of a body
    cdef double* to = b.wrench + 6 * body
    if body >= 0:
        store3(to, add(load3(to), n))
        store3(to + 3, add(load3(to + 3), f))


# ---- motion of a frame -------------------------------------------------------------------------------

def frame_motion(CoreModel model, const double[::1] q, const double[::1] v, const double[::1] a, int body,
                 const double[:, ::1] axes, const double[::1] place):
    """Angular velocity [rad/s] and specific force [m/s^2] of a frame on a body in the frame's axes, (2, 3).

    ``axes`` (3, 3) and ``place`` (3,) [m] are in the body's core frame.
    """
    cdef const vt_model* m = &model.m
    cdef const double* at = entries(q, m.nq, "entries of q")
    cdef const double* moving = entries(v, m.nv, "entries of v")
    cdef const double* rate = entries(a, m.nv, "entries of a")
    cdef const double* p = entries(place, 3, "entries of the place")
    cdef RneaBody* x
    cdef double[:, ::1] out
    cdef Vec3 arm = vec3(p[0], p[1], p[2]), w, f
    cdef int k
    require_size(axes.shape[0], 3, "rows of axes")
    require_size(axes.shape[1], 3, "columns of axes")
    if not 0 <= body < m.nbody:
        raise ValueError(f"body {body} of {m.nbody}")
    found = np.empty((2, 3))
    out = found
    x = <RneaBody*>realloc(NULL, m.nbody * sizeof(RneaBody))
    if x == NULL:
        raise MemoryError
    rnea_motion(m, m.g, at, moving, rate, x)
    w = x[body].w
    f = add(x[body].a, add(cross(x[body].dw, arm), cross(w, cross(w, arm))))
    free(x)
    for k in range(3):
        out[0, k] = axes[0, k] * w.x + axes[1, k] * w.y + axes[2, k] * w.z
        out[1, k] = axes[0, k] * f.x + axes[1, k] * f.y + axes[2, k] * f.z
    return found


def contacts_on(const double[:, ::1] rows, const double[::1] signs, const double[:, ::1] pose):
    """Torque and force of closed contacts of a state on a frame, in its axes and about its origin, and the sum of their
    normal forces: (7,) [N m, N].

    Parameters
    ----------
    rows : (n, STATE_ROW) array
        As of :func:`accelerations_with_contacts`.
    signs : (contacts,) array
        1 for contacts whose first frame it is, -1 of the second, else 0.
    pose : (4, 4) array
    """
    cdef Mat3 R
    cdef Vec3 n = zero3(), f = zero3(), one, o
    cdef double normal = 0.0
    cdef int k, c
    require_size(pose.shape[0], 4, "rows of a pose")
    require_size(pose.shape[1], 4, "columns of a pose")
    if rows.shape[0]:
        require_size(rows.shape[1], STATE_ROW, "columns of contacts")
    R, o = take_matrix(&pose[0, 0], 4), vec3(pose[0, 3], pose[1, 3], pose[2, 3])
    for k in range(rows.shape[0]):
        c = <int>rows[k, 1]
        if not 0 <= c < signs.shape[0]:
            raise ValueError(f"contact {c} of {signs.shape[0]}")
        if signs[c] != 0.0:
            one = load3(&rows[k, 2])
            normal += dot(one, load3(&rows[k, TOUCHED + 3]))
            one = scale(signs[c], one)
            n, f = add(n, cross(sub(load3(&rows[k, TOUCHED]), o), one)), add(f, one)
            n = axpy(signs[c], load3(&rows[k, TOUCHED + 6]), n)
    n, f = tmul(R, n), tmul(R, f)
    return np.array([n.x, n.y, n.z, f.x, f.y, f.z, normal])
