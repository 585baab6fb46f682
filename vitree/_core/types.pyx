"""The flat arrays of a model as one C struct."""

from libc.stdint cimport uintptr_t
from libc.stdlib cimport calloc, free

import numpy as np


cdef class CoreModel:
    def __cinit__(self, flat, const int[::1] iq, const int[::1] iv, int nq, int nv, trees=()):
        cdef int n = len(flat.kind), i, j, k, row, column
        cdef vt_body* b
        cdef double square
        cdef const double[:, :, :] E = flat.E, inertia = flat.inertia
        cdef const double[:, :] p = flat.p, com = flat.com
        cdef const double[:] mass = flat.mass, pitch = flat.pitch
        cdef const int[:] kind = flat.kind, parent = flat.parent
        self.m.nbody, self.m.nq, self.m.nv = n, nq, nv
        self.m.body = <vt_body*>calloc(max(n, 1), sizeof(vt_body))
        self.m.damping = <double*>calloc(max(nv, 1), sizeof(double))
        self.m.friction = <double*>calloc(max(nv, 1), sizeof(double))
        self.m.friction_square = <double*>calloc(max(nv, 1), sizeof(double))
        self.m.armature = <double*>calloc(max(nv, 1), sizeof(double))
        self.m.ntree, self.m.tree = len(trees), <vt_tree*>calloc(max(len(trees), 1), sizeof(vt_tree))
        if (self.m.tree == NULL or self.m.body == NULL or self.m.damping == NULL or self.m.friction == NULL
                or self.m.friction_square == NULL or self.m.armature == NULL):
            raise MemoryError
        self.m.damped, self.m.rubbing = bool(np.any(flat.damping)), bool(np.any(flat.friction))
        self.m.rotors = bool(np.any(flat.armature))
        for i in range(nv):
            self.m.damping[i], self.m.friction[i] = flat.damping[i], flat.friction[i]
            self.m.friction_square[i] = flat.friction_velocity[i] * flat.friction_velocity[i]
            self.m.armature[i] = flat.armature[i]
        for k in range(3):
            self.m.g[k] = flat.gravity[k]
        for i in range(n):
            b = &self.m.body[i]
            b.kind, b.parent, b.iq, b.iv = kind[i], parent[i], iq[i], iv[i]
            b.nv = (iv[i + 1] if i + 1 < n else nv) - b.iv
            for j in range(3):
                for k in range(3):
                    b.E[3 * j + k] = E[i, k, j]
                b.p[j] = p[i, j]
                b.com[j] = com[i, j]
                b.h[j] = mass[i] * com[i, j]
            b.multi = self.m.nmulti
            self.m.nmulti += b.nv > 1
            if b.nv > 1 and np.any(flat.friction[b.iv : b.iv + b.nv]):
                raise ValueError("ball and free joints have no friction; set it to zero")
            if b.nv > 1 and np.any(flat.armature[b.iv : b.iv + b.nv]):
                raise ValueError("ball and free joints have no armature; set it to zero")
            b.pitch = pitch[i]
            b.locked = flat.kinematic[iv[i]]
            self.m.nlocked += b.locked
            b.mass = mass[i]
            b.inert = b.mass != 0.0 or np.any(flat.inertia[i])
            square = np.dot(flat.com[i], flat.com[i])
            k = 0
            for row in range(3):
                for column in range(row, 3):
                    b.Ic[k] = inertia[i, row, column]
                    b.Io[k] = b.Ic[k] + b.mass * (square * (row == column) - com[i, row] * com[i, column])
                    k += 1
            b.tree = self.m.body[b.parent].tree if b.parent >= 0 else -1
            for k, tree in enumerate(trees):
                if tree.root == i:
                    b.tree = k
        for i in range(n):
            b = &self.m.body[i]
            b.whole = -1 if b.tree < 0 or trees[b.tree].tied else b.tree
        for k, tree in enumerate(trees):
            self.take_tree(&self.m.tree[k], tree)

    cdef void take_tree(self, vt_tree* to, tree):
        cdef int j, k
        to.root, to.mass, to.free, to.tied, to.count = tree.root, tree.mass, tree.free, tree.tied, len(tree.coordinates)
        for j in range(3):
            for k in range(3):
                to.directions[3 * j + k] = tree.directions[j, k]
            for k in range(to.count):
                to.iv[k], to.columns[to.count * j + k] = tree.coordinates[k], tree.columns[j, k]

    def __dealloc__(self):
        free(self.m.tree)
        free(self.m.body)
        free(self.m.damping)
        free(self.m.friction)
        free(self.m.friction_square)
        free(self.m.armature)


cdef class Scratch:
    def __cinit__(self, size_t size, int pieces=32):
        # for at most so many pieces
        cdef size_t room = size + 64 * <size_t>pieces
        self.raw = calloc(room, 1)
        if self.raw == NULL:
            raise MemoryError
        self.next = <char*>self.raw
        self.end = self.next + room

    def __dealloc__(self):
        free(self.raw)

    cdef void* take(self, size_t size) except NULL:
        cdef uintptr_t at = (<uintptr_t>self.next + 63) & ~(<uintptr_t>63)
        if at + size > <uintptr_t>self.end:
            raise MemoryError("scratch memory is too small")
        self.next = <char*>(at + size)
        return <void*>at


cdef void* room(list memory, Py_ssize_t size) except NULL:
    # memory with the lifetime of the list
    cdef Scratch block = Scratch(size + 8, 1)
    memory.append(block)
    return block.take(size + 8)


cdef int copy_table(list memory, vt_table* to, pieces) except -1:
    """Copy (x, c, total) into memory with the lifetime of the list."""
    cdef int k
    cdef Scratch block
    x, c, total, to.period = pieces
    c = np.ravel(c)
    block = Scratch(8 * (len(x) + len(c) + len(total)))
    memory.append(block)
    to.count = len(x) - 1
    to.x = <double*>block.take(8 * len(x))
    to.c = <double*>block.take(8 * len(c))
    to.total = <double*>block.take(8 * len(total))
    for k in range(len(x)):
        to.x[k], to.total[k] = x[k], total[k]
    for k in range(len(c)):
        to.c[k] = c[k]
    return 0


cdef class LoadList:
    """Loads for the core: mappings with the names of the fields of vt_load."""

    def __cinit__(self, loads=()):
        cdef int k, j
        cdef vt_load* e
        self.memory = []
        self.count = len(loads)
        self.list = <vt_load*>calloc(max(self.count, 1), sizeof(vt_load))
        if self.list == NULL:
            raise MemoryError
        for k, load in enumerate(loads):
            e = &self.list[k]
            e.kind = load["kind"]
            e.body_a, e.body_b = load.get("body_a", -1), load.get("body_b", -1)
            e.axes, e.iq, e.iv = load.get("axes", 0), load.get("iq", -1), load.get("iv", -1)
            e.factor, e.rest = load.get("factor", 0.0), load.get("rest", 0.0)
            e.input, wrench = load.get("input", -1), load.get("wrench", (0.0,) * 6)
            for j in range(3):
                e.inputs[j] = load.get("inputs", (-1, -1, -1))[j]
            for j in range(6):
                e.wrench[j] = wrench[j]
            for j in range(3):
                e.point_a[j], e.point_b[j] = load.get("point_a", (0.0,) * 3)[j], load.get("point_b", (0.0,) * 3)[j]
            if "table" in load:
                copy_table(self.memory, &e.table, load["table"])
            self.pairs += e.kind == SPRING or e.kind == DAMPER or e.kind == ATTRACTION or e.kind == BALL_SPRING
            self.rates += e.kind == DAMPER
            self.inputs += e.input >= 0

    def __dealloc__(self):
        free(self.list)


cdef class DriveList:
    """Drives for the core: mappings with the names of the fields of vt_drive."""

    def __cinit__(self, drives=()):
        cdef int k
        cdef vt_drive* d
        self.count = len(drives)
        self.list = <vt_drive*>calloc(max(self.count, 1), sizeof(vt_drive))
        if self.list == NULL:
            raise MemoryError
        for k, drive in enumerate(drives):
            d = &self.list[k]
            d.iq, d.iv, d.target, d.rate = drive["iq"], drive["iv"], drive.get("target", -1), drive.get("rate", -1)
            d.kp, d.kd, d.effort, d.speed = drive["kp"], drive["kd"], drive["effort"], drive["speed"]
            d.goal, d.goal_rate = drive.get("goal", 0.0), drive.get("goal_rate", 0.0)

    def __dealloc__(self):
        free(self.list)


cdef int* copied_ints(list memory, array) except NULL:
    cdef const int[::1] x = np.ascontiguousarray(array, dtype=np.int32).ravel()
    cdef int* to = <int*>room(memory, x.shape[0] * sizeof(int))
    cdef Py_ssize_t k
    for k in range(x.shape[0]):
        to[k] = x[k]
    return to


cdef double* copied_reals(list memory, array) except NULL:
    cdef const double[::1] x = np.ascontiguousarray(array, dtype=float).ravel()
    cdef double* to = <double*>room(memory, x.shape[0] * sizeof(double))
    cdef Py_ssize_t k
    for k in range(x.shape[0]):
        to[k] = x[k]
    return to


cdef class ShapeList:
    """Convex shapes for the core: mappings with the names of the fields of vt_shape; lengths follow from the arrays."""

    def __cinit__(self, shapes=()):
        cdef int k, j
        cdef vt_shape* s
        self.memory, self.count = [], len(shapes)
        self.list = <vt_shape*>calloc(max(self.count, 1), sizeof(vt_shape))
        if self.list == NULL:
            raise MemoryError
        for k, one in enumerate(shapes):
            s = &self.list[k]
            x, center, face, edge = (one.get(name, ()) for name in ("x", "center", "face", "edge"))
            s.kind, s.body, s.radius = one["kind"], one.get("body", -1), one.get("radius", 0.0)
            s.count, s.rims, s.faces, s.edges = len(x), len(center), len(face), len(edge)
            s.x, s.face = copied_reals(self.memory, x), copied_reals(self.memory, face)
            s.stride = (s.count + 3) // 4 * 4
            rows = np.zeros((3, s.stride))
            if s.count:
                rows[:] = np.reshape(x, (-1, 3))[0][:, None]
                rows[:, :s.count] = np.reshape(x, (-1, 3)).T
            s.rows = copied_reals(self.memory, rows)
            s.edge = copied_ints(self.memory, edge)
            s.rim, s.slope, s.reach = one.get("rim", 0.0), one.get("slope", 0.0), one.get("reach", 0.0)
            if s.rims > 2 or (s.rims and s.count > 1):
                raise ValueError("a shape with circles has two of them, or one and at most one vertex")
            for j in range(3 * s.rims):
                s.center[j] = np.ravel(center)[j]
            for j in range(3):
                s.axis[j], s.half[j] = one.get("axis", (0.0,) * 3)[j], one.get("half", (0.0,) * 3)[j]
                s.middle[j] = one.get("middle", (0.0,) * 3)[j]
            for j in range(9):
                s.axes[j] = one.get("axes", (0.0,) * 9)[j]

    def __dealloc__(self):
        free(self.list)


cdef class ContactList:
    """Contacts for the core: mappings with the names of the fields of vt_contact, and the surface of some.

    ``spans``: a ``Spans`` of mechanism/spans.py; steppers need it where there are contacts. ``facing``: (n, 2) numbers
    of convex ``shapes`` that may touch, ``surfaces``: (n, 7) of each friction, restitution, stiffness, damping, spin
    and roll (lengths over the friction), and softness. By numbers each has MOST_FACETS contacts, behind the first ``at`` others.
    """

    def __cinit__(self, contacts=(), field=None, spans=None, ShapeList shapes=None, facing=(), surfaces=(), int at=-1):
        cdef int k, j
        cdef const double[:, ::1] coefficients
        cdef vt_contact* e
        self.plain, self.shapes, self.strung = len(contacts), shapes, []
        self.list = <vt_contact*>calloc(max(self.plain, 1), sizeof(vt_contact))
        if self.list == NULL:
            raise MemoryError
        if field is not None:
            coefficients = self.field_owner = np.ascontiguousarray(field.coefficients, dtype=float)
            self.field.nx, self.field.ny = field.shape
            if coefficients.shape[0] != self.field.nx + 2 or coefficients.shape[1] != self.field.ny + 2:
                raise ValueError("a surface of nx, ny heights has (nx + 2, ny + 2) coefficients")
            self.field.c = &coefficients[0, 0]
            for j in range(3):
                self.field.origin[j] = field.origin[j]
            for j in range(2):
                self.field.spacing[j] = field.spacing[j]
        for k, one in enumerate(contacts):
            e = &self.list[k]
            e.field = &self.field if one["kind"] == ON_FIELD else NULL
            if e.field != NULL and field is None:
                raise ValueError("a contact lies on a surface that is not given")
            e.kind, e.dim = one["kind"], one["dim"]
            e.body_a, e.body_b, e.patch = one.get("body_a", -1), one.get("body_b", -1), one.get("patch", -1)
            e.iq, e.iv = one.get("iq", -1), one.get("iv", -1)
            e.sign, e.bound = one.get("sign", 1.0), one.get("bound", 0.0)
            e.radius_a, e.radius_b = one.get("radius_a", 0.0), one.get("radius_b", 0.0)
            e.offset, e.friction, e.restitution = one.get("offset", 0.0), one.get("friction", 0.0), one.get("restitution", 0.0)
            e.spin, e.roll = one.get("spin", 0.0), one.get("roll", 0.0)
            e.stiffness, e.damping = one.get("stiffness", float("inf")), one.get("damping", 0.0)
            e.softness = one.get("softness", 0.0)
            self.yields = self.yields or e.stiffness != float("inf")
            axes = one.get("axes_b", (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0))
            for j in range(9):
                e.axes_b[j] = axes[j]
            for j in range(3):
                e.point_a[j], e.point_b[j] = one.get("point_a", (0.0,) * 3)[j], one.get("point_b", (0.0,) * 3)[j]
                e.end_a[j] = one.get("end_a", one.get("point_a", (0.0,) * 3))[j]
                e.end_b[j] = one.get("end_b", one.get("point_b", (0.0,) * 3))[j]
                e.half_b[j], e.normal[j] = one.get("half_b", (0.0,) * 3)[j], one.get("normal", (0.0, 0.0, 1.0))[j]
                e.axis_a[j], e.holds[j] = one.get("axis_a", (0.0,) * 3)[j], one.get("holds", (1, 1, 1))[j]
            e.slot = e.seat = -1
            e.mesh, e.factor, e.efficiency = one.get("mesh", -1), one.get("factor", 0.0), one.get("efficiency", 1.0)
            e.returns = one.get("returns", 1.0)
            if e.kind == ON_FACET:
                raise ValueError("contacts of convex shapes follow from the pairs")
            self.take_eyelets(e, one.get("eyelets", ()))
            if e.kind == ROLLS and e.dim != e.holds[0] + e.holds[1] + e.holds[2]:
                raise ValueError("what rolls has a row for each direction that it holds")
            self.patches = max(self.patches, e.patch + 1)
            self.turns, self.elastic = self.turns or e.dim > 3, self.elastic or e.restitution > 0.0
            self.rolls = self.rolls or e.kind == ROLLS
        self.take_pairs(facing, surfaces, at)
        if spans is not None:
            self.take_spans(spans)

    cdef int take_eyelets(self, vt_contact* e, points) except -1:
        cdef vt_eyelet* to
        cdef int k, j
        if not len(points):
            return 0
        to = <vt_eyelet*>room(self.strung, len(points) * sizeof(vt_eyelet))
        e.eyelet, e.eyelets = to, len(points)
        for k, (body, point, radius, axis, side, way) in enumerate(points):
            to[k].body, to[k].radius, to[k].way = body, radius, way
            for j in range(3):
                to[k].point[j], to[k].axis[j], to[k].side[j] = point[j], axis[j], side[j]
        return 0

    cdef int take_pairs(self, facing, surfaces, int at) except -1:
        cdef int k
        cdef vt_pair* p
        cdef const int[:, ::1] rows = np.ascontiguousarray(facing, dtype=np.int32).reshape(-1, 2)
        cdef const double[:, ::1] numbers = np.ascontiguousarray(surfaces, dtype=float).reshape(-1, 7)
        self.pairs, self.facets = rows.shape[0], self.plain if at < 0 else at
        self.count = self.plain + MOST_FACETS * self.pairs
        if numbers.shape[0] != self.pairs or not 0 <= self.facets <= self.plain:
            raise ValueError("surfaces of other pairs, or pairs behind contacts that there are not")
        self.pair = <vt_pair*>calloc(max(self.pairs, 1), sizeof(vt_pair))
        if self.pair == NULL:
            raise MemoryError
        for k in range(self.pairs):
            if not (0 <= rows[k, 0] < self.shapes.count and 0 <= rows[k, 1] < self.shapes.count):
                raise ValueError(f"a pair of shapes {rows[k, 0]} and {rows[k, 1]} of {self.shapes.count}")
            p = &self.pair[k]
            p.shape_a, p.shape_b = &self.shapes.list[rows[k, 0]], &self.shapes.list[rows[k, 1]]
            p.friction, p.restitution, p.stiffness, p.damping = numbers[k, 0], numbers[k, 1], numbers[k, 2], numbers[k, 3]
            p.spin, p.roll, p.softness = numbers[k, 4], numbers[k, 5], numbers[k, 6]
            p.dim = 1 if p.friction == 0.0 else 3 + (p.spin > 0.0) + 2 * (p.roll > 0.0)
            self.yields = self.yields or p.stiffness != float("inf")
            self.turns, self.elastic = self.turns or p.dim > 3, self.elastic or p.restitution > 0.0
        return 0

    cdef const vt_pair* pair_of(self, Py_ssize_t number) noexcept nogil:
        # of a contact of two convex shapes, or NULL
        number -= self.facets
        return &self.pair[number // MOST_FACETS] if 0 <= number < MOST_FACETS * self.pairs else NULL

    @property
    def lengths(self):
        """Torsional and rolling friction over the sliding one, (contacts, 2) [m]."""
        cdef double[:, ::1] out = np.zeros((self.count, 2))
        cdef const vt_pair* p
        cdef int n, k
        for n in range(self.count):
            p = self.pair_of(n)
            k = n if n < self.facets else n - MOST_FACETS * self.pairs
            out[n, 0] = p.spin if p != NULL else self.list[k].spin
            out[n, 1] = p.roll if p != NULL else self.list[k].roll
        return np.asarray(out)

    cdef int take_spans(self, spans) except -1:
        cdef int k, j, behind = self.facets + MOST_FACETS * self.pairs, less
        cdef TouchSpan* to
        cdef const int[:, ::1] rows = spans.rows
        cdef const double[::1] radius = spans.radius
        cdef const int[:, ::1] ball = spans.ball
        cdef const int[::1] body = spans.balls.body
        cdef const double[:, ::1] center = spans.balls.center
        cdef const double[::1] own = spans.balls.radius
        self.memory, self.ports, self.spans, self.balls = [], spans.ports, rows.shape[0], body.shape[0]
        if self.count != (rows[self.spans - 1, 1] if self.spans else 0):
            raise ValueError("spans of other contacts")
        self.span = <TouchSpan*>room(self.memory, self.spans * sizeof(TouchSpan))
        for k in range(self.spans):
            to = &self.span[k]
            less = behind - self.facets if rows[k, 0] >= behind else 0
            to.first, to.end, to.pair, to.radius = rows[k, 0] - less, rows[k, 1] - less, -1, radius[k]
            if self.facets <= rows[k, 0] < behind:
                to.first, to.end, to.pair = -1, -1, (rows[k, 0] - self.facets) // MOST_FACETS
            to.ball, to.other = ball[k, 0], ball[k, 1]
        self.ball = <TouchBall*>room(self.memory, self.balls * sizeof(TouchBall))
        for k in range(self.balls):
            self.ball[k].body, self.ball[k].radius = body[k], own[k]
            for j in range(3):
                self.ball[k].center[j] = center[k, j]
        return 0

    def __dealloc__(self):
        free(self.list)
        free(self.pair)


cdef class ConstraintPlan:
    """How constraints are solved: a ``Plan`` of mechanism/plans.py, in memory of the core."""

    def __cinit__(self, plan, int bodies):
        cdef int k, c, block = 0
        cdef Islands* x = &self.islands
        cdef Island* on
        cdef const int[:, ::1] at = plan.islands
        self.memory, self.bodies, self.rows = [], bodies, len(plan.members)
        self.linear = self.plain = plan.linear
        x.count, x.range_count = at.shape[0], len(plan.ranges)
        x.at = <Island*>room(self.memory, x.count * sizeof(Island))
        x.member, x.of = copied_ints(self.memory, plan.members), copied_ints(self.memory, plan.of)
        x.range, x.apart = copied_ints(self.memory, plan.ranges), <int*>room(self.memory, self.rows * sizeof(int))
        for k, front in enumerate(plan.fronts):
            on = &x.at[k]
            on.body, on.body_end, on.v, on.v_end = at[k, 0], at[k, 1], at[k, 2], at[k, 3]
            on.row, on.row_end, on.block = at[k, 4], at[k, 5], block
            block += (on.row_end - on.row) * (on.row_end - on.row)
            if front is not None:
                on.plan, self.plain = self.take_front(front), False
            for c in range(on.row, on.row_end):
                x.apart[x.member[c]] = on.plan != NULL
        if plan.own is not None:
            self.own = copied_ints(self.memory, plan.own)
        if plan.trains is not None:
            self.take_trains(plan.trains)

    cdef FrontPlan* take_front(self, front) except NULL:
        cdef FrontPlan* p = <FrontPlan*>room(self.memory, sizeof(FrontPlan))
        p.count, p.rows = len(front.events), len(front.ready)
        p.slots, p.places, p.pivots = front.slots, front.places, front.pivots
        p.event = <FrontEvent*>copied_ints(self.memory, front.events)  # as many numbers, in this order
        p.pair, p.row = copied_ints(self.memory, front.pairs), copied_ints(self.memory, front.rows)
        p.ready = copied_ints(self.memory, front.ready)
        return p

    cdef int take_trains(self, trains) except -1:
        cdef GearTrainPlan* p = &self.trains
        cdef int k
        cdef const int[:, ::1] shares = trains.shares, gears = trains.gears
        cdef const double[::1] factors = trains.factors
        cdef const double[:, ::1] ratios = trains.ratios
        p.close, p.first = copied_ints(self.memory, trains.close), copied_ints(self.memory, trains.first)
        p.own, p.stop = copied_ints(self.memory, trains.own), copied_ints(self.memory, trains.stop)
        p.stops, p.shares, p.gears, p.count = len(trains.stop), len(factors), len(gears), p.close[self.bodies + 1]
        p.share = <TrainShare*>room(self.memory, p.shares * sizeof(TrainShare))
        for k in range(p.shares):
            p.share[k].train, p.share[k].to, p.share[k].factor = shares[k, 0], shares[k, 1], factors[k]
        p.gear = <TrainGear*>room(self.memory, p.gears * sizeof(TrainGear))
        for k in range(p.gears):
            p.gear[k].gear, p.gear[k].iv, p.gear[k].other = gears[k, 0], gears[k, 1], gears[k, 2]
            p.gear[k].share, p.gear[k].factor = ratios[k, 0], ratios[k, 1]
        self.geared = True
        return 0


cdef class ConstraintList:
    """Constraints for the core: mappings with the names of the fields of vt_constraint.

    ``plans``: how they are solved island by island, and as one island. Steppers with constraints need them.
    ``bodies``: number of bodies of the plans.
    """

    def __cinit__(self, constraints=(), plans=None, int bodies=0):
        cdef int k, j
        cdef vt_constraint* e
        self.memory = []
        self.count = len(constraints)
        self.list = <vt_constraint*>calloc(max(self.count, 1), sizeof(vt_constraint))
        if self.list == NULL:
            raise MemoryError
        for k, one in enumerate(constraints):
            e = &self.list[k]
            e.kind = one["kind"]
            e.body_a, e.body_b, e.local = one.get("body_a", -1), one.get("body_b", -1), one.get("local", 0)
            e.value, e.factor_a, e.factor_b = one.get("value", 0.0), one.get("factor_a", 0.0), one.get("factor_b", 0.0)
            e.iq_a, e.iv_a = one.get("a", (-1, -1))
            e.iq_b, e.iv_b = one.get("b", (-1, -1))
            for j in range(3):
                e.point_a[j], e.point_b[j] = one.get("point_a", (0.0,) * 3)[j], one.get("point_b", (0.0,) * 3)[j]
                e.direction[j], e.other[j] = one.get("direction", (0.0,) * 3)[j], one.get("other", (0.0,) * 3)[j]
            if "table" in one:
                copy_table(self.memory, &e.table, one["table"])
        if plans is not None:
            self.apart, self.whole = (ConstraintPlan(plan, bodies) for plan in plans)
            if self.apart.rows != self.count or self.whole.rows != self.count:
                raise ValueError(f"plans of {self.apart.rows} and {self.whole.rows} of {self.count} constraints")

    def ends(self):
        """The objects of each constraint: (kind, body_a, body_b, iv_a, iv_b); -1: the world, or none."""
        return [(self.list[k].kind, self.list[k].body_a, self.list[k].body_b, self.list[k].iv_a, self.list[k].iv_b)
                for k in range(self.count)]

    def __dealloc__(self):
        free(self.list)
