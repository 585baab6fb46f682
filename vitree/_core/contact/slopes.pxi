# Derivatives of what contacts do in a step, while those that push, stick and slide stay the same ones. Contacts depend on
# the poses of bodies at both nodes. By displacements (rotation, translation of the origin; world axes) of a body in contact:
#     node 2: the rows of Newton's method, which are exact;
#     node 1: central differences of order 6 of w, of slips, of the directions of friction and of wrenches u = W1 lam.
# By coordinates, with the rows J of bodies in contact (ports):
#     d(J^T u) = J^T du + (dJ^T) u,
# where the second term is that of constant wrenches: see `turn_push`. One lane.

#: [m or rad] between differences
cdef double SPAN = 2e-3
cdef double[3] DIFFERENCE = [45.0 / 60.0, -9.0 / 60.0, 1.0 / 60.0]


cdef struct Moved:              # what contacts have of the poses of bodies, or its derivatives by displacements of ports
    double* w                   # (rows,) h times the velocities
    double* lead                # (count, LEADS)
    double* slip                # (count, 3) world axes
    double* u                   # (ports,)
    double* late                # (ports,) wrenches of springs where the step ends


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


cdef void add_moved(ModelStepper self, const Moved* now, double size, Moved* to, int port) noexcept nogil:
    # to[port] += size times it
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    vt_add_row(y.n, size, now.w, to.w + port * <Py_ssize_t>y.n)
    vt_add_row(LEADS * x.count, size, now.lead, to.lead + port * <Py_ssize_t>(LEADS * x.count))
    vt_add_row(3 * x.count, size, now.slip, to.slip + port * <Py_ssize_t>(3 * x.count))
    vt_add_row(x.ports, size, now.u, to.u + port * <Py_ssize_t>x.ports)


cdef void place_members(ModelStepper self, const Moved* now) noexcept nogil:
    # w, leads and u of the members for the poses at both nodes
    cdef Touching* x = &self.contact
    cdef ContactProblem* y = &x.cones
    cdef const vt_contact* e
    cdef int k, c
    for k in range(x.count):
        c = x.member[k]
        e = &self.touch[c]
        touch_at(e, x.at1, x.pose1, NULL, facet_for(x, e), &x.here[c])
        face(self, c)
    centre_patches(self)
    write_rows(self, x.here, x.pose1, x.W1, False)
    measure_touches(self)
    for k in range(x.count):
        c = x.member[k]
        if self.touch[c].stiffness != INFINITY:
            x.w[y.row[k]] = x.there[c].gap / self.lane.now.h
        if y.law[k] == CONE and y.dim[k] >= 3:
            bound_friction(self, k, 1.0)
            store3(now.slip + 3 * k, scale(self.lane.now.h, axpy(x.w[y.row[k] + 1], x.here[c].t1, scale(
                x.w[y.row[k] + 2], x.here[c].t2))))
    for k in range(y.n):
        now.w[k] = self.lane.now.h * x.w[k]
    memcpy(now.lead, y.lead, LEADS * x.count * sizeof(double))
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


cdef void differ(ModelStepper self, const double* late, const Moved* now, Moved* by) noexcept nogil:
    # the derivatives of w, leads and u by displacements of bodies at node 1, and of `late` by those at node 2
    cdef Touching* x = &self.contact
    cdef Pose before
    cdef int port, i, k, sign
    cdef double size
    for port in range(x.ports):
        i = x.owner[port]
        if i < 0:
            continue
        before = x.pose1[i]
        for k in range(3):
            for sign in range(-1, 2, 2):
                size = sign * (k + 1) * SPAN
                displace(&x.pose1[i], port - x.port_of_body[i], size)
                place_members(self, now)
                add_moved(self, now, DIFFERENCE[k] * sign / SPAN, by, port)
                x.pose1[i] = before
        if late == NULL:
            continue
        before = x.pose2[i]
        for k in range(3):
            for sign in range(-1, 2, 2):
                size = sign * (k + 1) * SPAN
                displace(&x.pose2[i], port - x.port_of_body[i], size)
                wrenches_at_end(self, late, now.u)
                vt_add_row(x.ports, DIFFERENCE[k] * sign / SPAN, now.u, by.late + port * <Py_ssize_t>x.ports)
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
