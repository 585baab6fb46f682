# Derivatives of what contacts do in a step, while those that push, stick and slide stay the same ones. Contacts depend on
# the poses of bodies at both nodes. By displacements (rotation, translation of the origin; world axes) of a body in contact:
#     node 2: the rows of Newton's method, which are exact;
#     node 1: those of w, of slips, of the directions of friction and of wrenches u = W1 lam, of points and spheres on
#     planes in closed form (`derive_on_plane`), else by central differences of order 6.
# By coordinates, with the rows J of bodies in contact (ports):
#     d(J^T u) = J^T du + (dJ^T) u,
# where the second term is that of constant wrenches: see `turn_push`. One lane.

#: [m or rad] between differences: within so many the places of contact are to stay on their features; where curves are
#: followed by an iteration
cdef double FINE_SPAN = 3e-5
cdef double SPAN = 1e-4
cdef double[3] DIFFERENCE = [45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0]
cdef double[4] CURVATURE = [-490.0 / 180.0, 270.0 / 180.0, -27.0 / 180.0, 2.0 / 180.0]
#: [rad] by which the lowest point of a rim may be beside the one that a step has found, and the least curvature [m/rad^2]
cdef double LOWEST = 1e-4, LEAST_CURVED = 1e-9


cdef struct Moved:              # what contacts have of the poses of bodies, or its derivatives by displacements of ports
    double* w                   # (rows,) h times the velocities
    double* lead                # (members, LEADS)
    double* slip                # (members, 3) world axes
    double* u                   # (ports,)
    double* late                # (ports,) wrenches of springs where the step ends


cdef struct SlopeRows:          # of a step, where the results of `contact_slopes` are; see there
    double* bounds
    double* leads
    double* lam
    double* w
    double* springs
    double* W1
    double* W2
    double* J1
    double* J2
    double* by_start
    double* leads_by
    double* slips_by
    double* tangents
    double* u_by
    double* turn
    double* late
    double* late_by
    double* late_turn
    double* place_push
    double* place_by
    double* u                   # and room
    double* slip
    double* ends
    double* place_w


cdef struct SomeMembers:        # those of one body, in the place of all
    int count
    int* member
    int* row
    int* dim
    int* law
    double* mu
    double* lead
    int* number                 # among all; those of all are NULL


cdef void exchange_members(ModelStepper self, SomeMembers* of) noexcept nogil:
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef SomeMembers was = of[0]
    of.count, of.member, of.row, of.dim, of.law = x.count, x.member, y.row, y.dim, y.law
    of.mu, of.lead = y.mu, y.lead
    x.count = y.count = was.count
    x.member, y.row, y.dim, y.law, y.mu, y.lead = was.member, was.row, was.dim, was.law, was.mu, was.lead


cdef void choose_members(ModelStepper self, int body, SomeMembers* to) noexcept nogil:
    # those that touch a body
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_contact* e
    cdef int k
    to.count = 0
    for k in range(x.count):
        e = &self.touch[x.member[k]]
        if not is_single(e) and (e.body_a == body or e.body_b == body):
            to.member[to.count], to.row[to.count], to.number[to.count] = x.member[k], y.row[k], k
            to.dim[to.count], to.law[to.count], to.mu[to.count] = y.dim[k], y.law[k], y.mu[k]
            memcpy(to.lead + LEADS * to.count, y.lead + LEADS * k, LEADS * sizeof(double))
            to.count += 1


cdef void displace(Pose* pose, int k, double size) noexcept nogil:
    # a rotation (k < 3) or a translation
    cdef double d[3]
    cdef Mat3 turn
    d[0] = d[1] = d[2] = 0.0
    d[k % 3] = size
    if k >= 3:
        pose.o = add(pose.o, load3(d))
        return
    turn = quat_matrix(exp_quat(load3(d)))
    pose.R = mat3(mul(turn, pose.R.x), mul(turn, pose.R.y), mul(turn, pose.R.z))


cdef void add_moved(ModelStepper self, const Moved* now, int members, double size, Moved* to, int port) noexcept nogil:
    # to[port] += size times it
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    vt_add_row(y.n, size, now.w, to.w + port * <Py_ssize_t>y.n)
    vt_add_row(LEADS * members, size, now.lead, to.lead + port * <Py_ssize_t>(LEADS * members))
    vt_add_row(3 * members, size, now.slip, to.slip + port * <Py_ssize_t>(3 * members))
    vt_add_row(x.ports, size, now.u, to.u + port * <Py_ssize_t>x.ports)


cdef void place_members(ModelStepper self, const int* number, const Moved* now) noexcept nogil:
    # w, leads and u of the members, with their numbers among all unless these are all, for the poses at both nodes
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_contact* e
    cdef int k, c, at
    for k in range(x.asked_count):
        e = &self.touch[x.asked[k]]
        if x.central[x.asked[k]] and x.within[x.asked[k]] != INSIDE and slides_flat(x, e):
            touch_at(e, x.at1, x.pose1, NULL, facet_for(x, e), &x.here[x.asked[k]])
    for k in range(x.count):
        c = x.member[k]
        e = &self.touch[c]
        touch_at(e, x.at1, x.pose1, NULL, facet_for(x, e), &x.here[c])
        face(self, c)
    centre_patches(self, False)
    write_rows(self, x.here, x.pose1, x.W1, False)
    measure_touches(self)
    for k in range(x.count):
        c, at = x.member[k], k if number == NULL else number[k]
        if self.touch[c].stiffness != INFINITY:
            x.w[y.row[k]] = x.there[c].gap / self.lane.now.h
        if y.law[k] == CONE and y.dim[k] >= 3:
            bound_friction(self, k, 1.0)
            store3(now.slip + 3 * at, scale(self.lane.now.h, axpy(x.w[y.row[k] + 1], x.here[c].t1, scale(
                x.w[y.row[k] + 2], x.here[c].t2))))
        memcpy(now.lead + LEADS * at, y.lead + LEADS * k, LEADS * sizeof(double))
    for k in range(y.n):
        now.w[k] = self.lane.now.h * x.w[k]
    sum_wrenches(self, y.lam, now.u)


cdef void wrenches_at_end(ModelStepper self, const double* size, double* u) noexcept nogil:
    # of normal impulses (members,) where the step ends, in the ports
    cdef Touching* x = &self.contact
    cdef const vt_contact* e
    cdef double f[6]
    cdef int k, c
    memset(u, 0, x.ports * sizeof(double))
    for k in range(x.count):
        c = x.member[k]
        e = &self.touch[c]
        if size[k] == 0.0:
            continue
        if is_single(e):
            u[x.port_of_member[k]] = size[k]
            continue
        touch_at(e, self.lane.state.q2, x.pose2, &x.here[c], facet_for(x, e), &x.there[c])
        if e.body_a >= 0:
            put_wrench(f, x.there[c].arm_a, x.there[c].n, zero3())
            vt_add_row(6, size[k], f, u + x.port_of_body[e.body_a])
        if e.body_b >= 0:
            put_wrench(f, x.there[c].arm_b, x.there[c].n, zero3())
            vt_add_row(6, -size[k], f, u + x.port_of_body[e.body_b])


cdef bint differ(ModelStepper self, SomeMembers* some, const Moved* now, Moved* by) noexcept nogil:
    # the derivatives of w, leads and u by displacements of bodies at node 1, each of what touches the body. some: room.
    # Returns whether members have been displaced, and are to be placed again
    cdef Touching* x = &self.contact
    cdef int port, body
    cdef bint displaced = False
    place_members(self, NULL, now)
    for port in range(x.ports):
        body = x.owner[port]
        if body < 0 or port != x.port_of_body[body]:
            continue
        choose_members(self, body, some)
        if are_on_planes(self, some):
            derive_on_plane(self, body, some, by)
        else:
            differ_body(self, body, some, now, by)
            displaced = True
    return displaced


cdef void differ_body(ModelStepper self, int body, SomeMembers* some, const Moved* now, Moved* by) noexcept nogil:
    # by central differences
    cdef Touching* x = &self.contact
    cdef Pose before = x.pose1[body]
    cdef double span
    cdef int port, k, sign, members = x.count
    exchange_members(self, some)
    span = span_of_members(self)
    for port in range(x.port_of_body[body], x.port_of_body[body] + 6):
        for k in range(3):
            for sign in range(-1, 2, 2):
                displace(&x.pose1[body], port - x.port_of_body[body], sign * (k + 1) * span)
                place_members(self, some.number, now)
                add_moved(self, now, members, DIFFERENCE[k] * sign / span, by, port)
                x.pose1[body] = before
    exchange_members(self, some)


cdef bint are_on_planes(ModelStepper self, const SomeMembers* some) noexcept nogil:
    # whether all are points or spheres on planes of the world, without friction of turning
    cdef const vt_contact* e
    cdef int k
    for k in range(some.count):
        e = &self.touch[some.member[k]]
        if e.kind != ON_PLANE or e.dim > 3:
            return False
    return True


cdef void derive_on_plane(ModelStepper self, int body, const SomeMembers* some, Moved* by) noexcept nogil:
    # by the rotation theta and the translation d of the body at node 1. With D = R2 R1^T, rho = log D, drho =
    # -dlog_-rho theta, the centre r of a sphere from the origin, the lever l from the centre to where it rolls, and
    # k = -radius n - l,
    #     s = o2 + D (r + k) - o1 - r - k + rho x l,    ds = -d - theta x r - D (theta x k) + drho x l.
    # Of a patch with the mean radius R, its centre c = r_c - R n from the origin, tau = n.rho and a = r - radius n - c,
    #     s = o2 + D c - o1 - c + (tau/2) n x (a + D a),
    #     dc = theta x r_c,  d(D c) = R D (theta x n),  da = theta x (r - r_c),  d(D a) = (radius - R) D (theta x n)
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_contact* e
    cdef const Touch* at
    cdef const double* lam
    cdef Mat3 D = mul3(x.pose2[body].R, transpose(x.pose1[body].R))
    cdef Vec3 rho = turn_between(&x.pose1[body].R, &x.pose2[body].R)
    cdef Vec3 n, r, rc, t, lever, more, by_turn, arm, m, along, unit, torque
    cdef double mean, half_turn, to[6]
    cdef double* u
    cdef double unit_at[3]
    cdef int i, j, k, o, first = x.port_of_body[body]
    cdef bint patch
    for i in range(some.count):
        e, at, o = &self.touch[some.member[i]], &x.here[some.member[i]], some.row[i]
        n, lam, patch, mean, half_turn = at.n, y.lam + o, on_patch(self, some.member[i]), 0.0, 0.0
        r = axpy(e.radius_a, n, at.arm_a)
        rc, arm, along = r, zero3(), zero3()
        if patch:
            mean = x.patch_radius[e.patch]
            rc = axpy(mean, n, mul(x.pose1[body].R, x.patch_centre[e.patch]))
            half_turn = 0.5 * x.patch_turn[e.patch]
            arm = sub(at.arm_a, axpy(-mean, n, rc))
        # du = (theta x r) x lam_n n + (theta x r_c) x lam_t + (n x (theta x (r - r_c))).lam_t n
        if e.dim == 3:
            along = axpy(lam[1], at.t1, scale(lam[2], at.t2))
        for k in range(3):
            unit_at[0] = unit_at[1] = unit_at[2] = 0.0
            unit_at[k] = 1.0
            unit = load3(unit_at)
            torque = add(cross(cross(unit, r), scale(lam[0], n)), cross(cross(unit, rc), along))
            if patch:
                torque = axpy(dot(cross(n, cross(unit, sub(r, rc))), along), n, torque)
            u = by.u + (first + k) * <Py_ssize_t>x.ports + first
            store3(u, add(load3(u), torque))
        for j in range(2 if e.dim == 3 else 0):
            t = at.t2 if j else at.t1
            if patch:
                # t.(n x b) = b.m
                m, more = cross(t, n), scale(mean, n)
                by_turn = add(cross(rc, t), cross(tmul(D, t), more))
                by_turn = axpy(0.5 * dot(m, add(arm, mul(D, arm))), dlog(rho, n), by_turn)
                by_turn = axpy(-half_turn, cross(sub(r, rc), m), by_turn)
                by_turn = axpy(-half_turn * (e.radius_a - mean), cross(n, tmul(D, m)), by_turn)
            else:
                lever = scale(-rolling_lever(e, e.radius_a, 0.0), n)
                more = sub(scale(-e.radius_a, n), lever)
                by_turn = add(add(cross(r, t), cross(more, tmul(D, t))), dlog(rho, cross(lever, t)))
            store3(to, neg(by_turn))
            store3(to + 3, neg(t))
            for k in range(6):
                by.w[(first + k) * <Py_ssize_t>y.n + o + 1 + j] = to[k]
                if y.law[some.number[i]] == CONE:
                    u = by.slip + 3 * ((first + k) * <Py_ssize_t>x.count + some.number[i])
                    store3(u, axpy(to[k], t, load3(u)))


cdef inline bint is_followed(const vt_contact* e) noexcept nogil:
    # whether the place of contact is found by an iteration: ellipsoids and rims
    return e.kind == ON_FACET and (e.shape_a.kind == ELLIPSOID or e.shape_a.rims > 0 or e.shape_b.kind == ELLIPSOID
                                   or e.shape_b.rims > 0)


cdef double span_of_members(ModelStepper self) noexcept nogil:
    cdef int k
    for k in range(self.contact.count):
        if is_followed(&self.touch[self.contact.member[k]]):
            return SPAN
    return FINE_SPAN


cdef inline bint runs_over(const Touching* x, const vt_contact* e) noexcept nogil:
    # whether the lever of a side that rolls changes with the displacements at node 2
    if e.kind != ON_FACET or e.dim < 3:
        return False
    return is_followed(e) or rolls_at(&facet_for(x, e).fa) or rolls_at(&facet_for(x, e).fb)


cdef bint differ_ends(ModelStepper self, double* out) noexcept nogil:
    # the derivatives (rows, ports) of slips over such shapes by displacements of bodies at node 2, which rows of Newton's
    # method have but for the curvature. Returns whether there are such, and members are to be placed again
    cdef Touching* x = &self.contact
    cdef Pose before
    cdef double share, span = span_of_members(self)
    cdef double* at
    cdef int port, i, j, k, o, step, sign, count = 0
    for k in range(x.count):
        if runs_over(x, &self.touch[x.member[k]]):
            count += 1
            for o in range(x.cones.row[k] + 1, x.cones.row[k] + x.cones.dim[k]):
                for port in range(x.ports):
                    if x.owner[port] >= 0:
                        out[o * <Py_ssize_t>x.ports + port] = 0.0
    if not count:
        return False
    for port in range(x.ports):
        i = x.owner[port]
        if i < 0:
            continue
        before = x.pose2[i]
        for step in range(3):
            for sign in range(-1, 2, 2):
                displace(&x.pose2[i], port - x.port_of_body[i], sign * (step + 1) * span)
                measure_touches(self)
                share = DIFFERENCE[step] * sign / span * self.lane.now.h
                for k in range(x.count):
                    if not runs_over(x, &self.touch[x.member[k]]):
                        continue
                    o = x.cones.row[k]
                    for j in range(o + 1, o + x.cones.dim[k]):
                        at = &out[j * <Py_ssize_t>x.ports + port]
                        at[0] += share * x.w[j]
                x.pose2[i] = before
    return True


cdef Feature* point_on_curve(ModelStepper self, int c, const vt_shape** s, double* u) noexcept nogil:
    # the material point of a rim, and its coordinate, by which a rigid contact touches a face; else NULL
    cdef const vt_contact* e = &self.touch[c]
    cdef Facet* f
    if e.kind != ON_FACET or e.stiffness != INFINITY:
        return NULL
    f = &self.contact.facet[e.slot]
    if f.kind != FIXED:
        return NULL
    if f.fb.kind == FACE and find_on_curve(e.shape_a, &f.fa, u):
        s[0] = e.shape_a
        return &f.fa
    if f.fa.kind == FACE and find_on_curve(e.shape_b, &f.fb, u):
        s[0] = e.shape_b
        return &f.fb
    return NULL


cdef bint differ_places(ModelStepper self, const Moved* now, const SlopeRows* to) noexcept nogil:
    # Steps find the point of a rim that is the lowest one where they end (`root_on_curve`): by its coordinate u, g2(u, q2) of
    # the gap has a minimum, so that du = -g2_uq/g2_uu dq2 in the ports. The point acts at node 1, too. Writes du, and the
    # derivatives of wrenches and of h w by u. Points that the step before found do not move. Returns whether members are to
    # be placed again
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_shape* shape = NULL
    cdef Feature* point
    cdef Feature before
    cdef double* by
    cdef double* push
    cdef double* w
    cdef double u = 0.0, share, first, first1, second, second1, gap, gap1
    cdef int c, k, j, step, sign
    cdef bint found = False
    for k in range(x.count):
        c = x.member[k]
        point = point_on_curve(self, c, &shape, &u)
        if point == NULL:
            continue
        by, push, w = to.place_by + k * x.ports, to.place_push + k * x.ports, to.place_w + k * y.n
        before = point[0]
        found = True
        place_members(self, NULL, now)
        first = first1 = 0.0
        second, second1 = CURVATURE[0] * x.there[c].gap, CURVATURE[0] * x.here[c].gap
        for step in range(3):
            for sign in range(-1, 2, 2):
                move_on_curve(shape, point, u + sign * (step + 1) * SPAN)
                place_members(self, NULL, now)
                write_rows(self, x.there, x.pose2, x.W2, True)
                gap, gap1, share = x.there[c].gap, x.here[c].gap, DIFFERENCE[step] * sign / SPAN
                first, first1 = first + share * gap, first1 + share * gap1
                second, second1 = second + CURVATURE[step + 1] * gap, second1 + CURVATURE[step + 1] * gap1
                vt_add_row(x.ports, share, now.u, push)
                vt_add_row(y.n, share, now.w, w)
                add_touch_row(&x.W2[y.row[k]], share, by)
        point[0] = before
        second, second1 = second / (SPAN * SPAN), second1 / (SPAN * SPAN)
        if second > LEAST_CURVED and fabs(first) < LOWEST * second and fabs(first1) > 10.0 * fabs(first):
            for j in range(x.ports):
                by[j] /= -second
            w[y.row[k]] = 0.0       # the minimum
        else:
            memset(by, 0, x.ports * sizeof(double))
            memset(push, 0, x.ports * sizeof(double))
            memset(w, 0, y.n * sizeof(double))
    return found


cdef void differ_late(ModelStepper self, const double* late, const Moved* now, Moved* by) noexcept nogil:
    # the derivatives of the wrenches of `late` by displacements of bodies at node 2
    cdef Touching* x = &self.contact
    cdef Pose before
    cdef double span = span_of_members(self)
    cdef int port, i, k, sign
    for port in range(x.ports):
        i = x.owner[port]
        if i < 0:
            continue
        before = x.pose2[i]
        for k in range(3):
            for sign in range(-1, 2, 2):
                displace(&x.pose2[i], port - x.port_of_body[i], sign * (k + 1) * span)
                wrenches_at_end(self, late, now.u)
                vt_add_row(x.ports, DIFFERENCE[k] * sign / span, now.u, by.late + port * <Py_ssize_t>x.ports)
                x.pose2[i] = before


cdef void turn_push(const vt_model* m, const Pose* pose, int body, const double* u, double* out) noexcept nogil:
    # out (nv, nv) += d(J^T u), rows of J^T u by columns of displacements, for a constant wrench u = (n, f) about the origin of
    # a body. With the arm r from the origin of joint i to it, (J^T u)_i = w_i.(n + r x f) + v_i.f, and a coordinate j
    #     rotates all of these by w_j, if it is inboard of i or of the same joint;
    #     moves the body by V_j, if it is outboard: w_i.(V_j x f)
    cdef Vec3 n = load3(u), f = load3(u + 3), w, v, wj, vj, r, rj, moment
    cdef const vt_body* b
    cdef const vt_body* other
    cdef double change
    cdef int i = body, j, k, l
    cdef bint outboard
    while i >= 0:
        b = &m.body[i]
        r = sub(pose[body].o, pose[i].o)
        moment = add(n, cross(r, f))
        for k in range(joint_nv(b)):
            joint_column(b, pose[i].R, k, &w, &v)
            j, outboard = body, body != i
            while j >= 0:
                outboard = outboard and j != i
                other = &m.body[j]
                rj = sub(pose[body].o, pose[j].o)
                for l in range(joint_nv(other)):
                    joint_column(other, pose[j].R, l, &wj, &vj)
                    if outboard:
                        change = dot(w, cross(add(cross(wj, rj), vj), f))
                    else:
                        change = (dot(cross(wj, w), moment) + dot(w, cross(cross(wj, r), f)) + dot(cross(wj, v), f))
                    out[(b.iv + k) * m.nv + other.iv + l] += change
                j = other.parent
        i = b.parent


cdef void turn_single(ModelStepper self, int c, const double* q, double size, double* out) noexcept nogil:
    # out (nv, nv) += the derivative of size times the row of a contact whose impulse is a number, by differences
    cdef const vt_model* m = self.shared.m
    cdef Touching* x = &self.contact
    cdef double* unit = x.v2
    cdef double* at = x.late
    cdef Pose* pose = self.post_contact.pose_told
    cdef int j, k, sign, i
    if on_coordinate(&self.touch[c]):
        return
    self.post_contact.placed_told = False
    memset(unit, 0, m.nv * sizeof(double))
    for j in range(m.nv):
        unit[j] = 1.0
        for k in range(3):
            for sign in range(-1, 2, 2):
                advance(m, q, sign * (k + 1) * SPAN, unit, self.post_contact.at_told)
                forward_kinematics(m, self.post_contact.at_told, pose)
                memset(at, 0, m.nv * sizeof(double))
                single_row(m, &self.touch[c], self.post_contact.at_told, pose, at)
                for i in range(m.nv):
                    out[i * m.nv + j] += size * DIFFERENCE[k] * sign / SPAN * at[i]
        unit[j] = 0.0


cdef void turn_ports(ModelStepper self, const double* q, const Pose* pose, const double* u, double* out) noexcept nogil:
    # out (nv, nv) = (dJ^T) u of constant u in all ports
    cdef Touching* x = &self.contact
    cdef int port = 0
    while port < x.ports:
        if x.owner[port] >= 0:
            turn_push(self.shared.m, pose, x.owner[port], u + port, out)
            port += 6
        else:
            turn_single(self, -1 - x.owner[port], q, u[port], out)
            port += 1


cdef void lay_rows(const Touching* x, const TouchRow* W, int rows, double* out) noexcept nogil:
    # (rows, ports)
    cdef int k
    for k in range(rows):
        add_touch_row(&W[k], 1.0, out + k * <Py_ssize_t>x.ports)


cdef void lay_ports(const Touching* x, double* rows, int nv, double* out) noexcept nogil:
    # (ports, nv)
    cdef int k
    for k in range(x.ports):
        add_port(x, rows, k, 1.0, out + k * <Py_ssize_t>nv)


cdef enum:
    SLOPE_RESULTS = 20          # of these


cdef tuple slope_shapes(int count, int n, int ports, int nv):
    return ((count,), (count, LEADS), (n,), (n,), (count, 5), (n, ports), (n, ports), (ports, nv), (ports, nv), (ports, n),
            (ports, count, LEADS), (ports, count, 3), (count, 2, 3), (ports, ports), (nv, nv), (ports,), (ports, ports),
            (nv, nv), (count, ports), (count, ports), (ports,), (count, 3), (count,), (count, n))


cdef int slope_rows(list made, int s, SlopeRows* to) except -1:
    cdef double** at = <double**>to
    cdef double[::1] flat
    cdef int k
    for k in range(len(made)):
        flat = made[k][s].reshape(-1)
        at[k] = &flat[0] if flat.shape[0] else NULL
    return 0


cdef void write_slopes(ModelStepper self, SomeMembers* some, const SlopeRows* to) noexcept nogil:
    # the derivatives of the contacts of a step that has been gathered
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef Moved now, by
    cdef double* spring
    cdef double A, slope, gap
    cdef bint yields = False, displaced, placed
    cdef int c, k, o
    measure_touches(self)
    for k in range(x.count):
        c, o, spring = x.member[k], y.row[k], to.springs + 5 * k
        if self.touch[c].stiffness == INFINITY:
            continue
        gap, yields = x.there[c].gap, True
        spring_impulses(&self.touch[c], self.lane.now.h, x.here[c].gap, gap, &A, spring, &slope)
        spring_slopes(&self.touch[c], self.lane.now.h, x.here[c].gap, gap, spring + 1)
        to.ends[k] = spring[0]
        # the impulse at the start is the recorded one without that at the end
        y.lam[o] -= spring[0] * (1.0 if is_single(&self.touch[c]) else dot(x.here[c].n, x.there[c].n))
        if y.dim[k] >= 3:
            y.lam[o + 1] -= spring[0] * dot(x.here[c].t1, x.there[c].n)
            y.lam[o + 2] -= spring[0] * dot(x.here[c].t2, x.there[c].n)
    now.w, now.lead, now.u, now.late, now.slip = to.w, to.leads, to.u, to.late, to.slip
    by.w, by.lead, by.u, by.late, by.slip = to.by_start, to.leads_by, to.u_by, to.late_by, to.slips_by
    displaced = differ(self, some, &now, &by)
    if yields:
        differ_late(self, to.ends, &now, &by)
    placed = differ_places(self, &now, to)
    if placed or displaced or yields:
        place_members(self, NULL, &now)
    write_rows(self, x.there, x.pose2, x.W2, True)
    lay_rows(x, x.W1, y.n, to.W1)
    lay_rows(x, x.W2, y.n, to.W2)
    if differ_ends(self, to.W2):
        place_members(self, NULL, &now)
    for k in range(x.count if placed else 0):
        for c in range(y.n):
            vt_add_row(x.ports, to.place_w[k * y.n + c], to.place_by + k * x.ports, to.W2 + c * x.ports)
    lay_ports(x, x.rows, self.nv, to.J1)
    turn_ports(self, x.at1, x.pose1, now.u, to.turn)
    for k in range(x.ports):
        if x.owner[k] < 0:
            c = -1 - x.owner[k]
            single_port(self.shared.m, &self.touch[c], x.at2, x.pose2, &x.tree[x.tree_of_port[k]], row_of(x, x.rows2, k))
        elif x.port_of_body[x.owner[k]] == k:
            body_ports(self.shared.m, x.pose2, x.owner[k], &x.tree[x.tree_of_port[k]], row_of(x, x.rows2, k))
    lay_ports(x, x.rows2, self.nv, to.J2)
    for k in range(x.count):
        to.bounds[k] = y.mu[k]
        if self.touch[x.member[k]].kind == AT_SPEED:
            by.w[x.port_of_member[k] * <Py_ssize_t>y.n + y.row[k]] = -1.0
        elif y.law[k] == CONE and y.dim[k] >= 3:
            store3(to.tangents + 6 * k, x.here[x.member[k]].t1)
            store3(to.tangents + 6 * k + 3, x.here[x.member[k]].t2)
    if yields:
        wrenches_at_end(self, to.ends, now.late)
        turn_ports(self, x.at2, x.pose2, now.late, to.late_turn)
    memcpy(to.lam, y.lam, y.n * sizeof(double))
    for k in range(y.n):
        to.w[k] /= self.lane.now.h
