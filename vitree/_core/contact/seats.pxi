# Seats of pairs of convex shapes: the memory of eight contacts for each pair that is near, of many that may touch. Contacts
# of free seats are at rest, far from anything. One lane.

cdef enum:
    FIRST_SEATS = 2         # and twice as many where they are taken


cdef int make_seats(ModelStepper self) except -1:
    # and the contacts without seats
    cdef ContactList own = self.contacts
    cdef Seats seats = Seats(own.pairs, min(own.pairs, FIRST_SEATS), self.memory.shared, own)
    self.memory.seats = seats
    seats.add(<void**>&self.touch, own.plain * sizeof(vt_contact), MOST_FACETS * sizeof(vt_contact), COMMON)
    memcpy(self.touch, own.list, own.plain * sizeof(vt_contact))
    return 0


cdef int add_seats(ModelStepper self) except -1:
    cdef Touching* x = &self.contact
    cdef Seats seats = self.memory.seats
    cdef bint kept = x.facet == x.facet_kept
    cdef int s, before = seats.count
    seats.grow(min(2 * before, seats.keys))
    x.facet, x.at = (x.facet_kept, x.near_kept) if kept else (x.facet_read, x.near_read)
    count_seats(x, seats)
    self.ntouch = x.contacts
    for s in range(before, seats.count):
        x.pair_start[s] = -1
        empty_seat(self, s)
    return 0


cdef int take_seat(ModelStepper self, int pair) noexcept nogil:
    # the seat of a pair, which is near from here on; -1 without memory
    cdef Touching* x = &self.contact
    cdef int s = x.seat_of[pair]
    if s >= 0:
        return s
    if self.memory.seats.free_count == 0:
        with gil:
            try:
                add_seats(self)
            except MemoryError:
                x.no_memory = True
                return -1
    s = self.memory.seats.take(pair)
    empty_seat(self, s)
    return s


cdef void leave_seat(ModelStepper self, int pair) noexcept nogil:
    cdef int s = self.contact.seat_of[pair]
    if s >= 0:
        self.memory.seats.leave(pair)
        empty_seat(self, s)


cdef void leave_seats(ModelStepper self) noexcept nogil:
    cdef int s
    self.memory.seats.leave_all()
    for s in range(self.memory.seats.count):
        empty_seat(self, s)


cdef void empty_seat(ModelStepper self, int s) noexcept nogil:
    # the contacts of a seat without a past: of its pair, if it is taken
    cdef Touching* x = &self.contact
    cdef int c, first = x.plain + MOST_FACETS * s
    name_seat(self, s)
    memset(x.facet_kept + MOST_FACETS * s, 0, MOST_FACETS * sizeof(Facet))
    memset(x.facet_read + MOST_FACETS * s, 0, MOST_FACETS * sizeof(Facet))
    memset(x.facet_told + FACET_ROW * MOST_FACETS * s, 0, FACET_ROW * MOST_FACETS * sizeof(double))
    memset(&x.near_kept[s], 0, sizeof(Near))
    memset(&x.near_read[s], 0, sizeof(Near))
    for c in range(first, first + MOST_FACETS):
        x.added[c - x.plain] = 0
        x.active[c], x.hold[c] = 0, 0.0
        forget_contact(self, c)
        if self.post_contact.pushed_before != NULL:
            self.post_contact.pushed_before[c] = False
    x.patch_count[x.plain_patches + s] = 0


cdef void name_seat(ModelStepper self, int s) noexcept nogil:
    # the contacts of a seat: what they are
    cdef Touching* x = &self.contact
    cdef const vt_pair* p = &x.pair[x.pair_on[s]] if x.pair_on[s] >= 0 else NULL
    cdef vt_contact* e
    cdef int j
    x.near_a[s] = vec3(NAN, NAN, NAN)
    for j in range(MOST_FACETS):
        e = &self.touch[x.plain + MOST_FACETS * s + j]
        memset(e, 0, sizeof(vt_contact))
        e.kind, e.dim, e.slot, e.seat, e.patch = ON_FACET, 1, MOST_FACETS * s + j, s, x.plain_patches + s
        e.body_a = e.body_b = e.iq = e.iv = -1
        e.sign, e.stiffness = 1.0, INFINITY
        # the first pair stands for none
        e.shape_a, e.shape_b = x.pair.shape_a, x.pair.shape_b
        x.within_balls[x.plain + MOST_FACETS * s + j] = False
        if p != NULL:
            e.shape_a, e.shape_b = p.shape_a, p.shape_b
            e.body_a, e.body_b, e.dim = p.shape_a.body, p.shape_b.body, p.dim
            e.friction, e.spin, e.roll, e.restitution = p.friction, p.spin, p.roll, p.restitution
            e.stiffness, e.damping, e.softness = p.stiffness, p.damping, p.softness
            x.within_balls[x.plain + MOST_FACETS * s + j] = p.shape_a.reach < INFINITY and p.shape_b.reach < INFINITY


cdef void forget_contact(ModelStepper self, int c) noexcept nogil:
    # one that is far away did not act
    cdef Touching* x = &self.contact
    x.here[c].gap = x.there[c].gap = x.gap_before[c] = INFINITY
    store3(x.lam + 3 * c, zero3())
    store3(x.way + 3 * c, zero3())
    store3(x.guess + 3 * c, zero3())
    if x.turns:
        forget_turning(x, c)
        memset(x.told_turn + TURNED * c, 0, TURNED * sizeof(double))
    memset(x.told + TOLD * c, 0, TOLD * sizeof(double))
    x.told[TOLD * c + 6] = INFINITY
    x.target[c], x.within[c], x.arrives[c], x.own_slip[c] = 0.0, OUTSIDE, 0, False
    if self.post_contact.pushed_next != NULL:
        self.post_contact.pushed_next[c] = False
