# The order in which an island's joints and constraints are eliminated so that few bodies and constraints are open at a
# time (frontal elimination: Irons 1970, Duff & Reid 1983). Constraints that share joints make a region; its bodies are
# eliminated from the leaves, after all that hangs on them. A constraint opens with the first joint that it depends on,
# and closes as soon as its pivot is safe, at the latest behind the region's last joint.

cdef enum:              # kinds of events
    OPEN_BODY = 0       # `slot` takes the body's own matrix
    OPEN_GUEST = 1      # `slot` is empty: for the body that the region hangs on
    OPEN_ROW = 2
    ELIMINATE = 3       # the joint of the body in `slot`; rows: that act on it
    SHIFT = 4           # the body in `slot` moves with its parent, whose slot is `to`; to < 0: with the world
    TRY = 5             # close what is open where pivots are safe
    CLOSE = 6           # close the rows
    STORE = 7           # `slot` is added to the body's own matrix

#: Islands with fewer constraints are solved densely, and those with fewer gears and nothing else
LEAST_FRONT_ROWS = 16
LEAST_FRONT_GEARS = 64
#: Places for constraints that wait for a safe pivot
SPARE_ROWS = 6
#: A pivot is safe if it is this share of the terms that it is the sum of
cdef double SAFE_PIVOT = 0.01
#: A constraint acts on a joint by rounding errors alone below this share of its wrench
cdef double NEGLIGIBLE = 1e-6


cdef struct FrontEvent:
    int kind
    int body
    int slot
    int to
    int pivot           # of an elimination: the number of its first coordinate
    int pair            # from here to the end: the bodies that are open, (slot, body)
    int pair_end
    int row             # from here to the end: constraints, by their numbers in the island
    int row_end


cdef struct FrontPlan:
    FrontEvent* event
    int count
    int* pair           # (2 *,)
    int* row
    int* ready          # (rows,) the event from which on a constraint acts on no joint that is not eliminated
    int rows            # of the island
    int slots           # bodies that are open at a time
    int places          # constraints that are
    int pivots          # coordinates; the pivots of constraints come behind


class FrontOrder:
    """The events of an island of the bodies from ``first`` to ``end``.

    ``parent``, ``coordinates``: of all bodies; those of locked joints have no coordinate. ``held``: the bodies and the
    joints that a constraint acts on.
    """

    def __init__(self, parent, coordinates, held, first, end):
        self.parent, self.coordinates, self.held = parent, coordinates, held
        self.events, self.pairs, self.rows, self.ready = [], [], [], [0] * len(held)
        self.slots = self.places = self.pivots = 0
        self.cost = 0.0
        self.support = [self.supports(bodies, joints) for bodies, joints in held]
        if not all(self.support):
            return  # a constraint between points of one body
        for bodies, rows in self.regions(first, end):
            self.eliminate(bodies, rows)

    def path(self, body):
        found = set()
        while body >= 0:
            found.add(body)
            body = self.parent[body]
        return found

    def supports(self, bodies, joints):
        """The bodies whose joints a constraint depends on."""
        paths = [self.path(i) for i in bodies if i >= 0]
        paths += [self.path(self.parent[i]) for i in joints] + [set()] * (-1 in bodies)
        return set(joints).union(*paths) - set.intersection(*paths)

    def regions(self, first, end):
        """(bodies, constraints) of all regions, those that hang on others first."""
        leader = {i: i for i in range(first, end)}

        def leads(i):
            while leader[i] != i:
                leader[i] = leader[leader[i]]
                i = leader[i]
            return i

        for support in self.support:
            one = leads(min(support))
            for i in support:
                other = leads(i)
                leader[max(one, other)] = one = min(one, other)
        found = {}
        for i in range(first, end):
            found.setdefault(leads(i), ([], []))[0].append(i)
        for c, support in enumerate(self.support):
            found[leads(min(support))][1].append(c)
        # the first body of a region is that of the least number: its parent belongs to the region before
        level = {}
        for i in found:
            level[i] = level[leads(self.parent[i])] + 1 if self.parent[i] >= 0 else 0
        return [found[i] for i in sorted(found, key=lambda i: (-level[i], -i))]

    def eliminate(self, bodies, rows):
        top = self.parent[bodies[0]]
        inside = set(bodies)
        children = {i: sum(1 for j in bodies if self.parent[j] == i) for i in bodies} if len(bodies) > 1 else {}
        touching = {i: [] for i in bodies}
        for c in rows:
            for i in self.support[c]:
                touching[i].append(c)
        joints_left = {c: len(self.held[c][1]) for c in rows}
        place, free, opened, open_rows, credit = {}, [], set(), 0, 0
        candidates = {i for i in bodies if not children.get(i)}

        def needed(i):
            return {i}.union(*(self.held[c][0] for c in touching[i] if c not in opened)) - {-1}

        def after(i):
            new = len(needed(i) - place.keys())
            up = self.parent[i]
            return new - (up < 0 or up in place), sum(c not in opened for c in touching[i]), -i

        def put(i):
            if i not in place:
                place[i] = free.pop() if free else len(place)
                self.slots = max(self.slots, len(place))
                return True
            return False

        def emit(kind, i=0, slot=0, to=-1, rows=()):
            pair, row = len(self.pairs), len(self.rows)
            if kind in (OPEN_ROW, ELIMINATE, TRY, CLOSE):
                self.pairs += sorted((at, body) for body, at in place.items())
                self.cost += (6 * len(place) + open_rows + 6) ** 2
            self.rows += rows
            self.events.append((kind, i, slot, to, self.pivots, pair, len(self.pairs), row, len(self.rows)))
            self.pivots += self.coordinates[i] if kind == ELIMINATE else 0

        while candidates:
            i = min(candidates, key=after) if len(candidates) > 1 else next(iter(candidates))
            candidates.remove(i)
            for body in sorted(needed(i)):
                if put(body):
                    emit(OPEN_BODY if body in inside else OPEN_GUEST, body, slot=place[body])
            for c in touching[i]:
                if c not in opened:
                    opened.add(c)
                    open_rows += 1
                    emit(OPEN_ROW, rows=[c])
            self.places = max(self.places, open_rows)
            direct = [c for c in touching[i] if i in self.held[c][1]]
            if self.coordinates[i]:
                emit(ELIMINATE, i, place[i], rows=direct)
                credit += self.coordinates[i]
            # the parent takes the slot, or the slot's content
            up, at = self.parent[i], place.pop(i)
            if up >= 0 and up not in place:
                place[up] = at
                emit(SHIFT, i, slot=at, to=at)
                if up in inside:
                    emit(OPEN_BODY, up, slot=at)
            else:
                free.append(at)
                emit(SHIFT, i, slot=at, to=place[up] if up >= 0 else -1)
            if up in inside:
                children[up] -= 1
                if not children[up]:
                    candidates.add(up)
            if not rows:
                continue
            for c in direct:
                joints_left[c] -= 1
                if not joints_left[c]:
                    self.ready[c] = len(self.events)
            if opened:
                emit(TRY)
            closed = min(open_rows, credit)
            open_rows, credit = open_rows - closed, credit - closed
        if rows:
            emit(CLOSE, rows=rows)
        if top >= 0:
            emit(STORE, top, slot=place[top])


cdef object front_order(const vt_model* m, const vt_constraint* list, members, body_of, int first, int end):
    # of an island, or None where its constraints are better solved for densely
    cdef const vt_constraint* e
    cdef int i, rows = len(members), bodies = end - first
    if rows < (LEAST_FRONT_GEARS if all([list[<int>c].kind == COUPLING for c in members]) else LEAST_FRONT_ROWS):
        return None
    held = []
    for c in members:
        e = &list[<int>c]
        if e.kind == USER:
            return None
        pair = (e.body_a, e.body_b) if e.kind not in (COUPLING, PROFILE) else ()
        if e.kind == POINTS and not e.local:
            # a direction of the world: turning both bodies together changes it
            pair += (-1,)
        held.append((pair, [body_of[iv] for iv in (e.iv_a, e.iv_b) if iv in body_of]))
    if any([not {i for i in range(first, end) if joint_multi(&m.body[i])}.isdisjoint(joints) for _, joints in held]):
        return None
    order = FrontOrder([m.body[i].parent for i in range(m.nbody)],
                       [0 if m.body[i].locked else joint_nv(&m.body[i]) for i in range(m.nbody)], held, first, end)
    if not order.events:
        return None
    return order if 4 * order.cost + 400 * bodies < rows * (300 * bodies + rows * bodies + rows * rows) else None
