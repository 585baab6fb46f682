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
    cdef size_t size = stepper.nq * sizeof(double)
    cdef bytes start = PyBytes_FromStringAndSize(NULL, size + stepper.contacts.count * sizeof(int))
    cdef char* to = PyBytes_AS_STRING(start)
    cdef int* before = <int*>(to + size)
    cdef int c, n = told_count(stepper)
    cdef cnp.ndarray rows = new_array(2, n, told_width(stepper))
    tell_step(stepper, 0.0, data(rows))
    # before the first step there is none
    memcpy(to, stepper.post_contact.node_before if n else stepper.lane.state.q, size)
    memset(before, 0, stepper.contacts.count * sizeof(int))
    for c in range(stepper.ntouch):
        if stepper.post_contact.pushed_before[c]:
            before[number_of(x, c)] = True
    cnp.PyArray_CLEARFLAGS(rows, cnp.NPY_ARRAY_WRITEABLE)
    return rows, start


cdef int told_count(ModelStepper stepper) noexcept nogil:
    # contacts that acted in the step just taken
    cdef int c, n = 0
    for c in range(stepper.ntouch):
        n += settled_pushed(stepper, c)
    return n


cdef double* tell_step(ModelStepper stepper, double record, double* row) noexcept nogil:
    # rows of these, as in a ContactLog, by numbers; returns the place after them
    cdef Touching* x = &stepper.contact
    cdef int c, k
    if x.have_list:
        for k in range(x.asked_count):
            row = tell_contact(stepper, x.asked[k], record, row)
        return row
    for k in range(x.spans):
        for c in range(first_in(x, k), end_in(x, k)):
            row = tell_contact(stepper, c, record, row)
    return row


cdef double* tell_contact(ModelStepper stepper, int c, double record, double* row) noexcept nogil:
    # if it acted
    cdef const vt_contact* e = &stepper.touch[c]
    if not settled_pushed(stepper, c):
        return row
    write_told(stepper, c, record, row)
    if e.kind == RUBS:
        row[7] = row[8] = 0.0
    elif is_single(e):
        row[2] *= e.sign
    return row + told_width(stepper)


cdef int meeting(ModelStepper stepper) noexcept nogil:
    # number of contacts with gaps: rolling wheels, limits and dry friction follow them
    cdef const Touching* x = &stepper.contact
    cdef int c = x.facets if x.pairs else 0
    while c < x.plain and not (stands(&stepper.touch[c]) or is_single(&stepper.touch[c])):
        c += 1
    return c + MOST_FACETS * x.pairs


def gap_count(ModelStepper stepper):
    """Return the number of gaps."""
    return meeting(stepper)


cdef double gap_at(ModelStepper stepper, int k, const double* q, const Pose* pose) noexcept nogil:
    # the gap of a contact with the bodies at their poses; of pairs at the first contact of each, infinite at others
    cdef const Touching* x = &stepper.contact
    cdef Touch at
    if x.facets <= k < x.facets + MOST_FACETS * x.pairs:
        return INFINITY if (k - x.facets) % MOST_FACETS else pair_gap(&x.pair[(k - x.facets) // MOST_FACETS], pose)
    touch_at(&stepper.touch[contact_of(x, k)], q, pose, NULL, NULL, &at)
    return at.gap


def gaps_here(ModelStepper stepper, double[::1] gaps):
    """Write the gaps (n,) [m] of all contacts at the state."""
    cdef Busy busy = stepper.busy()
    cdef const double* q = stepper.lane.state.q
    cdef const Pose* pose
    cdef int k, n = meeting(stepper)
    require_size(gaps.shape[0], n, "gaps")
    if n:
        pose = poses_at(stepper, q)
    for k in range(n):
        gaps[k] = gap_at(stepper, k, q, pose)


def least_gap(ModelStepper stepper, const double[::1] q):
    """Return the least gap [m] of all contacts at q (nq,), infinite without any; NaN if one is."""
    cdef Busy busy = stepper.busy()
    cdef const Pose* pose
    cdef double least = INFINITY, gap
    cdef int k, n = meeting(stepper)
    require_size(q.shape[0], stepper.nq, "entries of q")
    if n:
        pose = poses_at(stepper, &q[0])
    for k in range(n):
        gap = gap_at(stepper, k, &q[0], pose)
        if gap != gap:
            return gap
        least = min(least, gap)
    return least


def contacts_within(ModelStepper stepper, const double[:, ::1] q):
    """Return how many contacts are found at rows of q (n, nq) that are closed or nearly, (n,): the work of a step's node.

    Facets of convex shapes are chosen anew at each. The state is lost.
    """
    cdef Busy busy = stepper.busy()
    cdef Touching* x = &stepper.contact
    cdef Py_ssize_t row
    cdef int k
    require_size(q.shape[1], stepper.nq, "columns of q")
    out = np.zeros(q.shape[0], dtype=np.intp)
    cdef Py_ssize_t[::1] found = out
    with nogil:
        for row in range(q.shape[0] if stepper.ntouch else 0):
            memset(x.facet_read, 0, x.slots * sizeof(Facet))
            x.placed1 = x.placed2 = False
            place_start(stepper, &q[row, 0])
            for k in range(x.asked_count):
                found[row] += x.here[x.asked[k]].gap <= x.away
    return out


cdef void find_patch_gaps(ModelStepper self, const double* q, const Pose* pose) noexcept nogil:
    # the gaps of the centres of patches of points at the start q of the step just taken: see `centre_patches`
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef Touch at
    cdef bint summing, before
    cdef int c, p
    memset(x.patch_count, 0, x.patches * sizeof(int))
    for c in range(self.ntouch):
        if self.touch[c].patch >= 0 and settled_pushed(self, c):
            x.patch_count[self.touch[c].patch], x.patch_points[self.touch[c].patch] = 2, 0
            x.patch_gap[self.touch[c].patch], x.patch_least[self.touch[c].patch] = 0.0, INFINITY
    for summing in range(2):
        for c in range(self.ntouch):
            e, p = &self.touch[c], self.touch[c].patch
            if p < 0 or e.slot >= 0 or x.patch_count[p] == 0:
                continue
            touch_at(e, q, pose, NULL, NULL, &at)
            before = self.post_contact.pushed_before[c] and not has_left(e, at.gap)
            if not summing:
                x.patch_least[p] = min(x.patch_least[p], -INFINITY if before else at.gap)
            elif before or at.gap <= x.patch_least[p] + LEVEL:
                x.patch_points[p] += 1
                x.patch_gap[p] += at.gap
    for p in range(x.patches):
        if x.patch_count[p] > 0 and x.patch_points[p] > 1:
            x.patch_gap[p] /= x.patch_points[p]


cdef double pair_gap(const vt_pair* p, const Pose* pose) noexcept nogil:
    cdef Placed A, B
    cdef Near x
    place_shape(p.shape_a, pose, &A)
    place_shape(p.shape_b, pose, &B)
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
    cdef double sign
    cdef int c
    require_size(signs.shape[0], stepper.contacts.count, "signs of contacts")
    centre = vec3(about[0], about[1], about[2])
    memset(out, 0, 6 * sizeof(double))
    if not pushed_any(stepper):
        return made
    pose = poses_at(stepper, q)
    find_patch_gaps(stepper, q, pose)
    for c in range(stepper.ntouch):
        if not settled_pushed(stepper, c):
            continue
        sign = signs[number_of(x, c)]
        if sign == 0.0:
            continue
        e, told = &stepper.touch[c], x.told + TOLD * c
        if e.slot >= 0:
            at.a, at.n, at.gap = load3(x.facet_told + FACET_ROW * e.slot), load3(x.facet_told + FACET_ROW * e.slot + 3), (
                x.facet_told[FACET_ROW * e.slot + 6])
            point = sub(axpy(-halfway(e, &at), at.n, at.a), centre)
        else:
            touch_at(e, q, pose, NULL, NULL, &at)
            point = sub(acting_point(x, e, &at), centre)
        force = scale(sign, vec3(told[0] / dt, told[1] / dt, told[2] / dt))
        torque = cross(point, force)
        if x.turns:
            torque = axpy(sign / dt, load3(x.told_turn + TURNED * c), torque)
        out[0], out[1], out[2] = out[0] + torque.x, out[1] + torque.y, out[2] + torque.z
        out[3], out[4], out[5] = out[3] + force.x, out[4] + force.y, out[5] + force.z
    return made
