# The dynamics with which steps of a model begin, of one instance or of several, a lane each. The terms of a single
# instance (mechanics.pxi) are added by `accelerate_under`.

cdef void drive_trial(ModelStepper self, double share) noexcept nogil:
    # the forces of the drives, and their slopes, at a fraction of the trial's motion
    cdef Servos* x = &self.lane.servos
    memset(x.force, 0, self.nv * sizeof(vt_real))
    memset(x.slope, 0, self.nv * sizeof(vt_real))
    drive_step(self.shared.drive, self.shared.ndrive, self.lane.state.q, self.lane.newton.y, share, self.lane.now.h,
               self.lane.drive.u, x.force, x.slope)


cdef void acceleration_in_step(ModelStepper self, double t, const vt_real* q, const vt_real* v, vt_real* out) noexcept nogil:
    # a for which y = h v + s h^2 a, with the fraction s of the first node, solves the step if its forces are linear in
    # y:
    #     (M + s h (damping + slopes of drives)) a = forces, with those of drives along y = h v
    cdef Servos* x = &self.lane.servos
    cdef const vt_model* m = self.shared.m
    cdef double h = self.lane.now.h, share = self.method.node_share(self)
    cdef int i, k
    if not (self.shared.ndrive and h > 0.0):
        model_acceleration(self, t, q, v, out)
        return
    for k in range(self.nv):
        x.ahead_y[k] = h * v[k]
        x.stiff[k] = armature_of(m, k)
    memset(x.ahead_force, 0, self.nv * sizeof(vt_real))
    memset(x.ahead_slope, 0, self.nv * sizeof(vt_real))
    drive_step(self.shared.drive, self.shared.ndrive, q, x.ahead_y, self.method.force_share(self), h, self.lane.drive.u,
               x.ahead_force, x.ahead_slope)
    for i in range(m.nbody):
        if not joint_multi(&m.body[i]):
            k = m.body[i].iv
            x.stiff[k] = x.stiff[k] + share * h * (damping_of(m, k) + x.ahead_slope[k])
    x.ahead = True
    model_acceleration(self, t, q, v, out)
    x.ahead = False


cdef void model_acceleration(ModelStepper self, double t, const vt_real* q, const vt_real* v, vt_real* out) noexcept nogil:
    # M a = tau - damping v - friction + drives + loads - c(q, v) - gravity + Dh^T lam, Dh a = -D2h(v, v)
    # (Johnson & Murphey 2009, eqs. 28, 29, 36)
    cdef const vt_model* m = self.shared.m
    cdef vt_real* force = self.lane.bodies.force
    cdef int k
    for k in range(self.nv):
        force[k] = self.lane.drive.tau[k] - damping_of(m, k) * v[k]
    if m.rubbing:
        add_friction(m, 1.0, v, -1.0, force)
    if self.lane.servos.ahead:
        for k in range(self.nv):
            force[k] = force[k] + self.lane.servos.ahead_force[k]
    elif self.shared.ndrive:
        add_drives(self.shared.drive, self.shared.ndrive, q, v, self.lane.drive.u, force)
    accelerate_under(self, t, q, v, force, out)


cdef double model_node_share(ModelStepper self) noexcept nogil:
    # fraction of the step's impulse at the first node; and the point of the motion at which drives act
    return 0.5


cdef bint model_solves_forces(ModelStepper self) noexcept nogil:
    # whether a step solves for forces: the prediction of the dynamics has their values at the start only
    return self.shared.m.damped or self.shared.m.rubbing or self.shared.ndrive > 0


cdef bint model_loaded(ModelStepper self) noexcept nogil:
    return self.shared.nload > 0 or self.shared.user_rests or self.shared.user_moves
