# Whether two steppers take the same steps but for numbers that lanes have for each instance: see mechanism/numbers.pxi.
import itertools

cdef enum:              # how a stepper is like another one
    UNLIKE = 0
    ALIKE = 1           # but for these numbers
    IDENTICAL = 2       # of the same model, contacts and drives

#: Numbers of steppers, from 1 on
SERIALS = itertools.count(1)


cdef bint same_zeros(const double* a, const double* b, int n) noexcept nogil:
    cdef int k
    for k in range(n):
        if (a[k] == 0.0) != (b[k] == 0.0):
            return False
    return True


cdef inline bint falls(const vt_model* m) noexcept nogil:
    return m.g[0] != 0.0 or m.g[1] != 0.0 or m.g[2] != 0.0


cdef bint alike_bodies(const vt_model* a, const vt_model* b) noexcept nogil:
    cdef vt_body one, other
    cdef vt_tree tree, other_tree
    cdef int k
    if not (a.nbody == b.nbody and a.nq == b.nq and a.nv == b.nv and a.ntree == b.ntree and a.nlocked == b.nlocked
            and a.damped == b.damped and a.rubbing == b.rubbing and a.rotors == b.rotors
            and falls(a) == falls(b) and same_zeros(a.friction, b.friction, a.nv)
            and same_zeros(a.armature, b.armature, a.nv)):
        return False
    for k in range(a.nbody):
        memcpy(&one, &a.body[k], sizeof(vt_body))
        memcpy(&other, &b.body[k], sizeof(vt_body))
        one.mass = other.mass
        memcpy(one.com, other.com, sizeof(one.com))
        memcpy(one.h, other.h, sizeof(one.h))
        memcpy(one.Io, other.Io, sizeof(one.Io))
        memcpy(one.Ic, other.Ic, sizeof(one.Ic))
        if memcmp(&one, &other, sizeof(vt_body)) != 0:
            return False
    for k in range(a.ntree):
        memcpy(&tree, &a.tree[k], sizeof(vt_tree))
        memcpy(&other_tree, &b.tree[k], sizeof(vt_tree))
        tree.mass = other_tree.mass
        if memcmp(&tree, &other_tree, sizeof(vt_tree)) != 0:
            return False
    return True


cdef bint alike_drives(const vt_drive* a, const vt_drive* b, int count) noexcept nogil:
    cdef vt_drive one
    cdef int k
    for k in range(count):
        memcpy(&one, &a[k], sizeof(vt_drive))
        one.kp, one.kd = b[k].kp, b[k].kd
        if memcmp(&one, &b[k], sizeof(vt_drive)) != 0:
            return False
    return True


cdef inline bint same_shapes(const vt_shape* a, const vt_shape* b) noexcept nogil:
    # as far as lanes look at convex shapes: the balls about them, and half-spaces
    return (a.body == b.body and a.reach == b.reach and memcmp(a.middle, b.middle, sizeof(a.middle)) == 0
            and (a.reach < INFINITY or memcmp(a.face, b.face, 4 * sizeof(double)) == 0))


cdef bint alike_contacts(ContactList a, ContactList b) noexcept:
    cdef vt_contact one
    cdef int k
    if not (a.plain == b.plain and a.pairs == b.pairs and a.patches == b.patches and a.spans == b.spans
            and a.balls == b.balls and a.yields == b.yields and a.turns == b.turns and a.elastic == b.elastic
            and a.rolls == b.rolls):
        return False
    for k in range(a.plain):
        memcpy(&one, &a.list[k], sizeof(vt_contact))
        one.friction = b.list[k].friction
        if (one.field == NULL) == (b.list[k].field == NULL):
            one.field = b.list[k].field
        if one.eyelets or memcmp(&one, &b.list[k], sizeof(vt_contact)) != 0:
            return False
    for k in range(a.pairs):
        if not (same_shapes(a.pair[k].shape_a, b.pair[k].shape_a) and same_shapes(a.pair[k].shape_b, b.pair[k].shape_b)
                and a.pair[k].softness == b.pair[k].softness):
            return False
    return True


cdef int likeness(ModelStepper own, ModelStepper one):
    # of the steps of one with those of its own model
    if not (one.kind == own.kind and one.post_contact.behind == own.post_contact.behind
            and one.shared.schedule.span == own.shared.schedule.span and one.shared.ndrive == own.shared.ndrive
            and one.shared.choices.tolerance == own.shared.choices.tolerance
            and (one.shared.choices.gain == NULL) == (own.shared.choices.gain == NULL)):
        return UNLIKE
    if one.model is own.model and one.contacts is own.contacts and one.drives is own.drives:
        return IDENTICAL
    if one.compared_with != own.numbers.serial:
        one.compared_with = own.numbers.serial
        one.alike = (alike_bodies(one.shared.m, own.shared.m) and alike_contacts(one.contacts, own.contacts)
                     and alike_drives(one.shared.drive, own.shared.drive, own.shared.ndrive))
    return ALIKE if one.alike else UNLIKE


cdef const ModelNumbers* numbers_at_hand(ModelStepper self) noexcept nogil:
    self.numbers.m, self.numbers.drive = self.shared.m, self.shared.drive
    self.numbers.touch, self.numbers.choices = self.touch, &self.shared.choices
    return &self.numbers


def lane_numbers(ModelStepper own, ModelStepper one):
    """The address of the numbers of a stepper for blocks by the plan of another one, valid for its lifetime.

    0: it differs in more than these.
    """
    return <size_t>numbers_at_hand(one) if likeness(own, one) != UNLIKE else 0
