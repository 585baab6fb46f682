# Derivatives of a discrete Lagrangian by inertial parameters. Along displacements of the configurations at a step's
# nodes it changes by D1 Ld . d1 + D2 Ld . d2; these functions differentiate that number by the mass, the COM and the
# inertia about it of each body, in its core frame, and by gravity.

cdef enum:
    WEIGHED = 10            # numbers of a body: mass, COM, inertia (xx, yy, zz, xy, xz, yz)


cdef struct Displaced:      # twists of a body about its origin, world axes: displaced at node 1 and at node 2; or at q_m, and
    Vec3 w1                 # the change of its own twist in body axes
    Vec3 v1
    Vec3 w2
    Vec3 v2


cdef inline void joint_displacement(const vt_body* b, Mat3 R, const vt_real* x, Vec3* w, Vec3* v) noexcept nogil:
    # the twist of a joint's displacement or rate
    cdef int k
    cdef Vec3 a, c
    w[0] = v[0] = zero3()
    for k in range(joint_nv(b)):
        joint_column(b, R, k, &a, &c)
        w[0], v[0] = axpy(x[b.iv + k], a, w[0]), axpy(x[b.iv + k], c, v[0])


cdef inline void put_weighed(vt_real mass, Vec3 com, vt_real s, Vec3 w, Vec3 dw, vt_real* out) noexcept nogil:
    # w and dw in the body's axes: s w^T I dw by I
    cdef vt_real half = vt_set1(0.5) * s
    out[0] = mass
    out[1], out[2], out[3] = com.x, com.y, com.z
    out[4], out[5], out[6] = s * w.x * dw.x, s * w.y * dw.y, s * w.z * dw.z
    out[7] = half * (w.x * dw.y + w.y * dw.x)
    out[8] = half * (w.x * dw.z + w.z * dw.x)
    out[9] = half * (w.y * dw.z + w.z * dw.y)


cdef void lt_mass_slopes(const LinearTimeStep* step, const Node* node2, const vt_real* d1, const vt_real* d2, Displaced* x,
                         vt_real* out, vt_real* gravity) noexcept nogil:
    # follows lt_trial. out: (nbody, WEIGHED), gravity: (3,)
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const Node* one
    cdef const Node* two
    cdef const Trial* z
    cdef Displaced* own
    cdef Displaced none
    cdef int i
    cdef Vec3 w, v, r, u, way1, way2, dw, du, pull, g = constant3(m.g), total = zero3()
    cdef vt_real mass, by_mass, inverse = vt_set1(1.0 / step.h), half = vt_set1(0.5 * step.h)
    none.w1 = none.v1 = none.w2 = none.v2 = zero3()
    for i in range(m.nbody):
        b, one, two, z, own = &m.body[i], &step.node[i], &node2[i], &step.trial[i], &x[i]
        own[0] = x[b.parent] if b.parent >= 0 else none
        own.v1, own.v2 = add(own.v1, cross(own.w1, one.t)), add(own.v2, cross(own.w2, two.t))
        joint_displacement(b, one.R, d1, &w, &v)
        own.w1, own.v1 = add(own.w1, w), add(own.v1, v)
        joint_displacement(b, two.R, d2, &w, &v)
        own.w2, own.v2 = add(own.w2, w), add(own.v2, v)
        mass = mass_of(b)
        # gravity: (h/2) m g.(x1 + x2)
        way1, way2 = add(own.v1, cross(own.w1, one.c)), add(own.v2, cross(own.w2, two.c))
        by_mass = half * dot(g, add(way1, way2))
        total = axpy(half * mass, add(way1, way2), total)
        pull = scale(half * mass, add(tmul(one.R, cross(g, own.w1)), tmul(two.R, cross(g, own.w2))))
        w = log_quat(z.D, &r.x)
        dw = sub(own.w2, own.w1)
        if lt_splits(b, step.split):
            # m p.p/2h + w.I w/2h, p the displacement of the COM
            r = add(z.move, mul(z.M, one.c))
            du, dw = sub(way2, way1), dlog(w, dw)
            by_mass = by_mass + inverse * dot(r, du)
            pull = axpy(inverse * mass, sub(tmul(two.R, add(du, cross(r, own.w2))),
                                            tmul(one.R, add(du, cross(r, own.w1)))), pull)
        else:
            # V^T G V/2h about node 1's origin: u = v + w x c is the COM's
            log_se3(z.D, z.move, &w, &v)
            dlog_se3(w, v, dw, sub(sub(own.v2, cross(own.w2, z.move)), own.v1), &r, &du)
            dw = r
            u, du = add(v, cross(w, one.c)), add(du, cross(dw, one.c))
            by_mass = by_mass + inverse * dot(u, du)
            pull = axpy(inverse * mass, tmul(one.R, add(cross(du, w), cross(u, dw))), pull)
        put_weighed(by_mass, pull, inverse, tmul(one.R, w), tmul(one.R, dw), out + WEIGHED * i)
    gravity[0], gravity[1], gravity[2] = total.x, total.y, total.z


cdef void mid_mass_slopes(const MidStep* step, const vt_real* eta, const vt_real* change, Displaced* x, vt_real* out,
                          vt_real* gravity) noexcept nogil:
    # follows mid_forward; eta: (nv,) displacement of q_m, change: (nv,) of y. A body's twist, in body axes, changes by
    # its parent's change, the joint's own, and -[joint's displacement, U], with the twist U before the joint
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const MidBody* s
    cdef Displaced* own
    cdef Displaced none
    cdef int i
    cdef Vec3 w, v, u, du, uw, uv, way, g = constant3(m.g), total = zero3()
    cdef vt_real mass, h = vt_set1(step.h), inverse = vt_set1(1.0 / step.h)
    none.w1 = none.v1 = none.w2 = none.v2 = zero3()
    for i in range(m.nbody):
        b, s, own = &m.body[i], &step.body[i], &x[i]
        own[0] = x[b.parent] if b.parent >= 0 else none
        own.v1, own.v2 = add(own.v1, cross(own.w1, s.t)), add(own.v2, cross(own.w2, s.t))
        joint_displacement(b, s.R, eta, &w, &v)
        own.w1, own.v1 = add(own.w1, w), add(own.v1, v)
        before_joint(step, i, &uw, &uv)
        own.w2, own.v2 = sub(own.w2, cross(w, uw)), sub(own.v2, add(cross(v, uw), cross(w, uv)))
        joint_displacement(b, s.R, change, &w, &v)
        own.w2, own.v2 = axpy(inverse, w, own.w2), axpy(inverse, v, own.v2)
    if step.trees != NULL:
        mid_tree_changes(step, x)
    for i in range(m.nbody):
        b, s, own = &m.body[i], &step.body[i], &x[i]
        mass = mass_of(b)
        g = mid_fall(m, step.trees, i)
        way = scale(h, add(own.v1, cross(own.w1, s.c)))
        total = axpy(mass, sub(way, along_tree(&m.tree[b.whole], way)) if step.trees != NULL and b.whole >= 0 else way, total)
        u, du = add(s.v, cross(s.w, s.c)), add(own.v2, cross(own.w2, s.c))
        if step.trees != NULL and b.whole >= 0:
            du = sub(du, step.trees.tree[b.whole].moved)
        v = add(add(cross(du, s.w), cross(u, own.w2)), cross(g, own.w1))
        put_weighed(h * dot(u, du) + dot(g, way), scale(h * mass, tmul(s.R, v)), h, tmul(s.R, s.w), tmul(s.R, own.w2),
                    out + WEIGHED * i)
    gravity[0], gravity[1], gravity[2] = total.x, total.y, total.z


cdef inline void mid_tree_changes(const MidStep* step, const Displaced* x) noexcept nogil:
    # moved: the change of u of floating trees
    cdef const vt_model* m = step.m
    cdef const MidBody* s
    cdef Vec3 v
    cdef int i, k
    for k in range(m.ntree):
        step.trees.tree[k].moved = zero3()
    for i in range(m.nbody):
        k, s = m.body[i].whole, &step.body[i]
        if k >= 0:
            v = add(add(x[i].v2, cross(x[i].w2, s.c)), cross(x[i].w1, add(s.v, cross(s.w, s.c))))
            step.trees.tree[k].moved = axpy(mass_of(&m.body[i]), v, step.trees.tree[k].moved)
    for k in range(m.ntree):
        step.trees.tree[k].moved = scale(vt_set1(1.0 / m.tree[k].mass), along_tree(&m.tree[k], step.trees.tree[k].moved))


cdef void mid_tree_masses(const MidStep* step, const vt_real* d1, const vt_real* d2, Displaced* x, Vec3* move, vt_real* out,
                          vt_real* gravity) noexcept nogil:
    # contribution of M/(2h) dC.D dC + (h/2) M g.D (C1 + C2), for displacements of the joints at the nodes
    cdef const vt_model* m = step.m
    cdef const vt_body* b
    cdef const vt_tree* tree
    cdef const MidNode* s
    cdef MidTree* z
    cdef Displaced* own
    cdef Displaced none
    cdef int i, k
    cdef Vec3 w, v, c1, c2, way1, way2, pull, W
    cdef vt_real mass, h = vt_set1(step.h), inverse = vt_set1(1.0 / step.h), half = vt_set1(0.5 * step.h)
    none.w1 = none.v1 = none.w2 = none.v2 = zero3()
    for k in range(m.ntree):
        step.trees.tree[k].moved = zero3()
    for i in range(m.nbody):
        b, s, own = &m.body[i], &step.trees.node[i], &x[i]
        if b.whole < 0:
            continue
        own[0] = x[b.parent] if b.parent >= 0 else none
        own.v1, own.v2 = add(own.v1, cross(own.w1, s.t1)), add(own.v2, cross(own.w2, add(s.t1, s.dt)))
        joint_displacement(b, s.R1, d1, &w, &v)
        own.w1, own.v1 = add(own.w1, w), add(own.v1, v)
        joint_displacement(b, s.R2, d2, &w, &v)
        own.w2, own.v2 = add(own.w2, w), add(own.v2, v)
        move[i] = add(move[b.parent], s.dt) if b.parent >= 0 else s.dt
        c1, c2 = mul(s.R1, com_of(b)), mul(s.R2, com_of(b))
        z = &step.trees.tree[b.whole]
        z.moved = axpy(mass_of(b), sub(add(own.v2, cross(own.w2, c2)), add(own.v1, cross(own.w1, c1))), z.moved)
    for k in range(m.ntree):
        step.trees.tree[k].moved = scale(vt_set1(1.0 / m.tree[k].mass), along_tree(&m.tree[k], step.trees.tree[k].moved))
    for i in range(m.nbody):
        b, s, own = &m.body[i], &step.trees.node[i], &x[i]
        if b.whole < 0:
            continue
        tree, z, mass = &m.tree[b.whole], &step.trees.tree[b.whole], mass_of(b)
        W = scale(h, z.way)
        c1, c2 = mul(s.R1, com_of(b)), mul(s.R2, com_of(b))
        way1, way2 = add(own.v1, cross(own.w1, c1)), add(own.v2, cross(own.w2, c2))
        v = sub(add(move[i], mul(s.M, c1)), W)
        out[WEIGHED * i] = out[WEIGHED * i] + (inverse * (dot(v, z.moved) + dot(W, sub(way2, way1)))
                                               + half * dot(z.fall, add(way1, way2)))
        pull = add(tmul(s.R2, add(scale(inverse, add(z.moved, cross(W, own.w2))), scale(half, cross(z.fall, own.w2)))),
                   tmul(s.R1, sub(scale(half, cross(z.fall, own.w1)), scale(inverse, add(z.moved, cross(W, own.w1))))))
        out[WEIGHED * i + 1] = out[WEIGHED * i + 1] + mass * pull.x
        out[WEIGHED * i + 2] = out[WEIGHED * i + 2] + mass * pull.y
        out[WEIGHED * i + 3] = out[WEIGHED * i + 3] + mass * pull.z
        v = scale(half * mass, along_tree(tree, add(way1, way2)))
        gravity[0], gravity[1], gravity[2] = gravity[0] + v.x, gravity[1] + v.y, gravity[2] + v.z
