# Features that only steps of one instance have: stubs for lanes.

cdef inline bint in_contact(ModelStepper self) noexcept nogil: return self.contact != NULL and self.contact.count > 0
cdef inline void lock_increment(ModelStepper self) noexcept nogil: pass
cdef inline void lock_node(ModelStepper self, int ahead) noexcept nogil: pass
cdef inline void lock_rates(ModelStepper self, int ahead) noexcept nogil: pass
cdef inline void lock_end(ModelStepper self) noexcept nogil: pass
cdef inline void scale_by_motion(ModelStepper self, Pass* p) noexcept nogil: pass
cdef inline void ask_at_start(ModelStepper self) noexcept nogil: pass
cdef inline bint ask_in_middle(ModelStepper self) noexcept nogil: return True
cdef inline int ask_within(ModelStepper self, double t, double share, const vt_real* q, const vt_real* v) noexcept nogil: return OK
cdef inline vt_real held_residual(ModelStepper self, vt_real e) noexcept nogil: return e
cdef inline double held_error(ModelStepper self, const Pass* p, double closed) noexcept nogil: return p.error
cdef inline double variational_closed(ModelStepper self) noexcept nogil: return 0.0
cdef inline void predict_multipliers(ModelStepper self) noexcept nogil: pass
cdef inline void learn_multipliers(ModelStepper self) noexcept nogil: pass
cdef inline void correct_multipliers(ModelStepper self) noexcept nogil: pass
cdef inline void shorten_multipliers(ModelStepper self, double share) noexcept nogil: pass
cdef inline void no_multipliers(ModelStepper self) noexcept nogil: pass
cdef inline void note_multipliers(ModelStepper self) noexcept nogil: pass
cdef inline void note_tangent(ModelStepper self) noexcept nogil: pass
cdef inline void variational_broyden(ModelStepper self, int k) noexcept nogil: pass
cdef inline const vt_real* wrench_at_node(ModelStepper self, double t, const vt_real* q) noexcept nogil: return NULL
cdef inline const vt_real* load_middle(ModelStepper self) noexcept nogil: return NULL
cdef inline void add_load_forces(ModelStepper self, vt_real* weight) noexcept nogil: pass
cdef inline bint inputs_load(ModelStepper self) noexcept nogil: return False
cdef inline int predict_forces(ModelStepper self) noexcept nogil: return OK
cdef inline int predict_answers(ModelStepper self) noexcept nogil: return OK
cdef inline void forces_in_middle(ModelStepper self) noexcept nogil: pass
cdef inline void place_springs(ModelStepper self) noexcept nogil: pass
cdef inline void spring_trial(ModelStepper self) noexcept nogil: pass
cdef inline void couple_springs(ModelStepper self, const LinearTimeStep* step, bint moved) noexcept nogil: pass
cdef inline void stand_at_end(ModelStepper self) noexcept nogil: pass
cdef inline void push_springs(ModelStepper self, const LinearTimeStep* step, vt_real* force) noexcept nogil: pass
cdef inline int linear_time_dense_operator(ModelStepper self, const LinearTimeStep* step) noexcept nogil: return OK
cdef inline void sweep_tree(ModelStepper self) noexcept nogil: pass
cdef inline void project_on_tree(ModelStepper self) noexcept nogil: pass
cdef inline void midpoint_answer_at_rest(ModelStepper self, const vt_real* r, vt_real* d) noexcept nogil: pass


cdef inline vt_real halfway(const vt_contact* e, const Touch* x) noexcept nogil: return vt_set1(0.0)
cdef inline double held_least(const ContactProblem* x) noexcept nogil: return 0.0
cdef inline bint cone_by_trees(ContactProblem* x) noexcept nogil: return False
cdef inline void blocks_free(PortBlocks* z) noexcept nogil: pass
cdef inline vt_real cone_unscaled(ContactProblem* x) noexcept nogil: return vt_set1(0.0)
cdef inline void wide_law(const ContactProblem* x, int i, const vt_real* lam, const vt_real* w, vt_real* F, vt_real* S, vt_real* L) noexcept nogil: pass
cdef inline vt_real wide_proximal(const ContactProblem* x, int i, int j) noexcept nogil: return vt_set1(0.0)
cdef inline void held_block(const ContactProblem* x, int i, vt_real* D, bint* found) noexcept nogil: none_of(found)
cdef inline void wide_block(const ContactProblem* x, int i, vt_real* D, bint* found) noexcept nogil: none_of(found)


cdef inline int linearise_by(ModelStepper self, const vt_model* m, double left) noexcept nogil:
    factor_joints(self, m, NULL, NULL)
    return OK


# ---- the dynamics, and the operator of all joints --------------------------------------------------------


cdef void model_velocity(ModelStepper self, const vt_real* q, const vt_real* p, vt_real* out) noexcept nogil:
    # M v = p
    aba(self.shared.m, NO_GRAVITY, q, self.shared.zeros, p, NULL, out, self.lane.bodies.aba)


cdef void accelerate_under(ModelStepper self, double t, const vt_real* q, const vt_real* v, vt_real* force,
                           vt_real* out) noexcept nogil:
    # M a = force - c(q, v) - gravity
    cdef const vt_model* m = self.shared.m
    if self.lane.servos.ahead:
        aba_stiff(m, self.lane.servos.stiff, m.g, q, v, force, NULL, out, self.lane.bodies.aba)
    else:
        aba(m, m.g, q, v, force, NULL, out, self.lane.bodies.aba)


cdef int variational_factor(ModelStepper self) noexcept nogil:
    # -dr/dy at y, of the lanes that use another operator
    cdef Newton* x = &self.lane.newton
    cdef Operator* op = self.lane.operator
    cdef vt_mask some = where(x.factors)
    cdef bint all = vt_all(some)
    cdef int i, signs_ok[MOST_LANES]
    memcpy(signs_ok, op.pivot_signs, VT_WIDTH * sizeof(int))
    if not all:
        keep_operator(self, some, False)
    self.method.linearise(self)
    if not all:
        keep_operator(self, some, True)
    for i in range(VT_WIDTH):
        if x.factors[i]:
            self.lane.reuse[i].have, self.lane.reuse[i].age = True, 0
        else:
            op.pivot_signs[i] = signs_ok[i]
    return OK


cdef void keep_operator(ModelStepper self, vt_mask some, bint back) noexcept nogil:
    # its data are put aside; or are restored in the lanes that keep theirs
    cdef OperatorPart part[OPERATOR_PARTS]
    cdef int k
    self.method.operator_parts(self, part)
    for k in range(OPERATOR_PARTS):
        keep_lanes(some, back, part[k].at, self.aside[k], part[k].size)


cdef inline void keep_lanes(vt_mask some, bint back, void* at, void* aside, size_t size) noexcept nogil:
    cdef vt_real* x = <vt_real*>at
    cdef const vt_real* y = <const vt_real*>aside
    cdef size_t k
    if not back:
        memcpy(aside, at, size)
        return
    for k in range(size // sizeof(vt_real)):
        x[k] = vt_select(some, x[k], y[k])


cdef inline long step_number(ModelStepper self, int lane) noexcept nogil:
    # of steps that an instance has taken
    if self.contact != NULL:
        return self.contact.home[lane].number + self.contact.home[lane].steps
    return self.lane.clock.steps


cdef int direction(ModelStepper self) noexcept nogil:
    # the correction d of y: J d = r
    cdef Newton* x = &self.lane.newton
    cdef int i
    self.method.apply_inverse(self, x.r, 0, self.shared.m.nbody, x.d)
    for i in range(VT_WIDTH):
        x.now[i].signs_ok = self.lane.operator.pivot_signs[i] >= x.now[i].required_signs
    return OK


cdef vt_real impulse_residual(ModelStepper self, vt_real e) noexcept nogil:
    # r - the impulse of the momentum at the start of the step
    cdef vt_mask finite = vt_lt(vt_abs(e), vt_set1(INFINITY))
    vt_add_row(self.nv, vt_set1(-1.0), self.lane.newton.impulse, self.lane.newton.r)
    return vt_select(finite, largest(self.lane.newton.r, self.nv), e)
