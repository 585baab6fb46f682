# Reports on the step just taken, and gaps of the state, without records: one call each. Included after calls.pxi.

def step_contacts(ModelStepper stepper):
    """Return the contacts that acted in the step just taken, as in a ContactLog, and the start of the step.

    Returns
    -------
    rows : (n, TOUCHED) array
        Of record 0, read-only. Impulses of upper limits are negative; rows of dry friction have only the slip.
    start : bytes
        The configuration (nq,) of doubles at the start of the step; and for each contact an int, whether it acted in
        the step before.
    """
    cdef Busy busy = stepper.busy()
    cdef Touching* x = &stepper.contact
    cdef const vt_contact* e
    cdef size_t size = stepper.nq * sizeof(double)
    cdef bytes start = PyBytes_FromStringAndSize(NULL, size + stepper.ntouch * sizeof(int))
    cdef char* to = PyBytes_AS_STRING(start)
    cdef double* row
    cdef int c, n = 0
    cdef cnp.ndarray rows
    for c in range(stepper.ntouch):
        n += settled_pushed(stepper, c)
    rows = new_array(2, n, told_width(stepper))
    row = data(rows)
    # before the first step there is none
    memcpy(to, stepper.post_contact.node_before if n else stepper.lane.state.q, size)
    if stepper.ntouch:
        memcpy(to + size, stepper.post_contact.pushed_before, stepper.ntouch * sizeof(int))
    for c in range(stepper.ntouch if n else 0):
        if not settled_pushed(stepper, c):
            continue
        e = &stepper.touch[c]
        write_told(stepper, c, 0.0, row)
        if e.kind == AT_LIMIT:
            row[2] *= e.sign
        elif e.kind == RUBS:
            row[7] = row[8] = 0.0
        row += told_width(stepper)
    cnp.PyArray_CLEARFLAGS(rows, cnp.NPY_ARRAY_WRITEABLE)
    return rows, start


cdef int meeting(ModelStepper stepper) noexcept nogil:
    # number of contacts with gaps: rolling wheels, limits and dry friction follow them
    cdef int c = 0
    while c < stepper.ntouch and not (stands(&stepper.touch[c]) or on_coordinate(&stepper.touch[c])):
        c += 1
    return c


def gap_count(ModelStepper stepper):
    """Return the number of gaps."""
    return meeting(stepper)


def gaps_here(ModelStepper stepper, double[::1] gaps):
    """Write the gaps (n,) [m] of all contacts at the state."""
    cdef Busy busy = stepper.busy()
    cdef const double* q = stepper.lane.state.q
    cdef const Pose* pose
    cdef Touch at
    cdef int c, n = meeting(stepper)
    require_size(gaps.shape[0], n, "gaps")
    if n:
        pose = poses_at(stepper, q)
    for c in range(n):
        if stepper.touch[c].slot >= 0:
            gaps[c] = pair_gap(&stepper.touch[c], pose)
            continue
        touch_at(&stepper.touch[c], q, pose, NULL, NULL, &at)
        gaps[c] = at.gap


cdef double pair_gap(const vt_contact* e, const Pose* pose) noexcept nogil:
    # of two convex shapes, at the first of their facets; infinite at others
    cdef Placed A, B
    cdef Near x
    if e.slot % MOST_FACETS:
        return INFINITY
    place_shape(e.shape_a, pose, &A)
    place_shape(e.shape_b, pose, &B)
    deepest_features(&A, &B, &x)
    return x.gap


def step_wrench(ModelStepper stepper, const double[::1] signs, double dt, about):
    """Return the wrench (torque, force), (6,) [N m, N], of contacts in the step just taken, world axes.

    ``signs`` (contacts,): the factor of each, 1, -1 or 0; ``about``: three numbers [m], the point for the torque.
    """
    cdef Busy busy = stepper.busy()
    cdef Touching* x = &stepper.contact
    cdef const double* q = stepper.post_contact.node_before
    cdef const double* told
    cdef const vt_contact* e
    cdef const Pose* pose = NULL
    cdef Touch at
    cdef Vec3 point, force, torque, centre
    cdef cnp.ndarray made = new_array(1, 6)
    cdef double* out = data(made)
    cdef int c
    require_size(signs.shape[0], stepper.ntouch, "signs of contacts")
    centre = vec3(about[0], about[1], about[2])
    memset(out, 0, 6 * sizeof(double))
    memset(x.patch_count, 0, stepper.contacts.patches * sizeof(int))
    memset(x.patch_turn, 0, stepper.contacts.patches * sizeof(double))
    if not pushed_any(stepper):
        return made
    pose = poses_at(stepper, q)
    # the mean gaps of patches at the start of the step, of the points that act or acted in the step before
    for c in range(stepper.ntouch):
        e = &stepper.touch[c]
        if e.patch < 0 or e.slot >= 0 or not (stepper.post_contact.pushed_before[c] or settled_pushed(stepper, c) or e.stiffness != INFINITY):
            continue
        touch_at(e, q, pose, NULL, NULL, &at)
        # compliant contacts take part where they are compressed, whether they act or not
        if stepper.post_contact.pushed_before[c] or settled_pushed(stepper, c) or at.gap < 0.0:
            x.patch_count[e.patch] += 1
            x.patch_turn[e.patch] += at.gap
    for c in range(stepper.ntouch):
        if signs[c] == 0.0 or not settled_pushed(stepper, c):
            continue
        e, told = &stepper.touch[c], x.told + TOLD * c
        if e.slot >= 0:
            at.a, at.n, at.gap = load3(x.facet_told + FACET_ROW * e.slot), load3(x.facet_told + FACET_ROW * e.slot + 3), (
                x.facet_told[FACET_ROW * e.slot + 6])
            point = sub(axpy(-halfway(e, &at), at.n, at.a), centre)
        else:
            touch_at(e, q, pose, NULL, NULL, &at)
            point = sub(acting_point(x, e, &at), centre)
        force = scale(signs[c], vec3(told[0] / dt, told[1] / dt, told[2] / dt))
        torque = cross(point, force)
        if x.turns:
            torque = axpy(signs[c] / dt, load3(x.told_turn + TURNED * c), torque)
        out[0], out[1], out[2] = out[0] + torque.x, out[1] + torque.y, out[2] + torque.z
        out[3], out[4], out[5] = out[3] + force.x, out[4] + force.y, out[5] + force.z
    return made
