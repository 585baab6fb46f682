# The tables of the methods.

cdef void plain_struck(ModelStepper self) noexcept nogil:
    Stepper.struck(self)


cdef bint plain_tells(ModelStepper self, bint by_momentum, double* v) noexcept nogil:
    return Stepper.tells(self, by_momentum, v)


cdef double plain_multiplier(ModelStepper self, int c) noexcept nogil:
    return Stepper.multiplier(self, c)


cdef void plain_begin(ModelStepper self) noexcept nogil:
    Stepper.begin(self)


cdef int plain_note_part(ModelStepper self) noexcept nogil:
    return Stepper.note_part(self)


cdef int plain_rows_each(ModelStepper self) noexcept nogil:
    return Stepper.rows_each(self)


cdef void plain_accept(ModelStepper self) noexcept nogil:
    Stepper.accept(self)


cdef int plain_log_row(ModelStepper self, long row) noexcept nogil:
    return Stepper.log_row(self, row)


cdef void plain_close_step(ModelStepper self) noexcept nogil:
    Stepper.close_step(self)


cdef int plain_step(ModelStepper self) noexcept nogil:
    return Stepper.step(self)


cdef int plain_advance(ModelStepper self) noexcept nogil:
    return Stepper.advance(self)


cdef void plain_start_run(ModelStepper self) noexcept nogil:
    Stepper.start_run(self)


cdef void plain_open_step(ModelStepper self) noexcept nogil:
    Stepper.open_step(self)


cdef void model_methods(Method* x) noexcept:
    x.struck = plain_struck
    x.tells = plain_tells
    x.multiplier = plain_multiplier
    x.begin = plain_begin
    x.note_part = plain_note_part
    x.rows_each = plain_rows_each
    x.accept = plain_accept
    x.log_row = plain_log_row
    x.close_step = plain_close_step
    x.step = plain_step
    x.advance = plain_advance
    x.start_run = plain_start_run
    x.open_step = plain_open_step
    x.multiplier = model_multiplier
    x.accept = model_accept
    x.node_share = model_node_share
    x.solves_forces = model_solves_forces


cdef void contact_methods(Method* x) noexcept:
    model_methods(x)
    x.begin = contact_begin
    x.note_touch = contact_note_touch
    x.put_back_touch = contact_put_back_touch
    x.log_row = contact_log_row
    x.learn_push = contact_learn_push
    x.let_bounce = contact_let_bounce
    x.trees_apart = contact_trees_apart
    x.ports_at_hand = contact_ports_at_hand


cdef void impact_methods(Method* x) noexcept:
    contact_methods(x)
    x.free_step = impact_free_step
    x.node_velocity = impact_node_velocity
    x.measure_falls = impact_measure_falls
    x.let_bounce = impact_let_bounce


cdef void settled_methods(Method* x) noexcept:
    impact_methods(x)
    x.start_run = settled_start_run
    x.begin = settled_begin
    x.note_touch = settled_note_touch
    x.put_back_touch = settled_put_back_touch
    x.open_step = settled_open_step
    x.close_step = settled_close_step
    x.tells = settled_tells


cdef void located_methods(Method* x) noexcept:
    settled_methods(x)
    x.note_part = located_note_part
    x.part = located_part
    x.attempt_opened = located_attempt_opened
    x.open_anew = located_open_anew
    x.end_velocity = located_end_velocity
    x.lose_history = located_lose_history
    x.measure_falls = located_measure_falls


cdef void explicit_methods(Method* x) noexcept:
    located_methods(x)
    x.trees_apart = explicit_trees_apart
    x.begin = explicit_begin
    x.struck = explicit_struck
    x.accept = explicit_accept
    x.node_velocity = explicit_node_velocity
    x.end_velocity = explicit_end_velocity
    x.measure_falls = explicit_measure_falls
    x.advance = explicit_advance
    x.part = explicit_part
    x.free_step = explicit_free_step
    x.attempt_opened = explicit_attempt_opened


cdef void explicit_map_methods(Method* x) noexcept:
    explicit_methods(x)
    x.multiplier = explicit_multiplier


cdef void euler_methods(Method* x) noexcept:
    explicit_map_methods(x)
    x.step = euler_step


cdef void runge_kutta_methods(Method* x) noexcept:
    explicit_map_methods(x)
    x.rows_each = runge_kutta_rows_each
    x.step = runge_kutta_step


cdef void gauss_methods(Method* x) noexcept:
    model_methods(x)
    x.rows_each = gauss_rows_each
    x.begin = gauss_begin
    x.struck = gauss_struck
    x.step = gauss_step
    x.accept = gauss_accept


cdef void variational_methods(Method* x) noexcept:
    located_methods(x)
    x.weight = variational_weight
    x.coupled_rows = variational_coupled_rows
    x.dense = variational_dense
    x.front_block = variational_front_block
    x.prepare = variational_prepare
    x.open_node = variational_open_node
    x.evaluate = variational_evaluate
    x.measure = variational_measure
    x.kinetic = variational_kinetic
    x.tree_momentum = variational_tree_momentum
    x.impulse = variational_impulse
    x.linearise = variational_linearise
    x.linearise_at_rest = variational_linearise_at_rest
    x.apply_inverse = variational_apply_inverse
    x.place_front = variational_place_front
    x.front_sense = variational_front_sense
    x.front_share = variational_front_share
    x.note_joints = variational_note_joints
    x.end_front = variational_end_front
    x.reach_node = variational_reach_node
    x.increment_to = variational_increment_to
    x.by_increments = variational_by_increments
    x.by_velocities = variational_by_velocities
    x.middle = variational_middle
    x.finish = variational_finish
    x.pass_on = variational_pass_on
    x.leave = variational_leave
    x.forget = variational_forget
    x.begin = variational_begin
    x.struck = variational_struck
    x.multiplier = variational_multiplier
    x.guess_by_dynamics = variational_guess_by_dynamics
    x.apply_by_plans = variational_apply_by_plans
    x.substep = variational_substep
    x.attempt = variational_attempt
    x.step = variational_step


cdef void touching_methods(Method* x) noexcept:
    variational_methods(x)
    x.forget = touching_forget
    x.struck = touching_struck
    x.substep = touching_substep
    x.accept = touching_accept
    x.learn_push = touching_learn_push
    x.attempt = touching_attempt
    x.part = touching_part
    x.lose_history = touching_lose_history
    x.open_anew = touching_open_anew
    x.end_velocity = touching_end_velocity
    x.attempt_opened = touching_attempt_opened
    x.free_step = touching_free_step
    x.trees_apart = touching_trees_apart
    x.ports_at_hand = touching_ports_at_hand


cdef void composed_methods(Method* x) noexcept:
    touching_methods(x)
    x.rows_each = composed_rows_each
    x.advance = composed_advance


cdef void linear_time_methods(Method* x) noexcept:
    composed_methods(x)
    x.coupled_rows = linear_time_coupled_rows
    x.weight = linear_time_weight
    x.solves_forces = linear_time_solves_forces
    x.front_block = linear_time_front_block
    x.leave = linear_time_leave
    x.middle = linear_time_middle
    x.increment_to = linear_time_increment_to
    x.reach_node = linear_time_reach_node
    x.by_velocities = linear_time_by_velocities
    x.by_increments = linear_time_by_increments
    x.prepare = linear_time_prepare
    x.open_node = linear_time_open_node
    x.evaluate = linear_time_evaluate
    x.measure = linear_time_measure
    x.kinetic = linear_time_kinetic
    x.tree_momentum = linear_time_tree_momentum
    x.impulse = linear_time_impulse
    x.linearise = linear_time_linearise
    x.place_front = linear_time_place_front
    x.front_share = linear_time_front_share
    x.note_joints = linear_time_note_joints
    x.end_front = linear_time_end_front
    x.linearise_at_rest = linear_time_linearise_at_rest
    x.apply_inverse = linear_time_apply_inverse
    x.finish = linear_time_finish
    x.pass_on = linear_time_pass_on


cdef void midpoint_methods(Method* x) noexcept:
    composed_methods(x)
    x.coupled_rows = midpoint_coupled_rows
    x.open_node = midpoint_open_node
    x.node_share = midpoint_node_share
    x.dense = midpoint_dense
    x.prepare = midpoint_prepare
    x.middle = midpoint_middle
    x.sweep_out = midpoint_sweep_out
    x.evaluate = midpoint_evaluate
    x.measure = midpoint_measure
    x.kinetic = midpoint_kinetic
    x.tree_momentum = midpoint_tree_momentum
    x.impulse = midpoint_impulse
    x.linearise = midpoint_linearise
    x.front_block = midpoint_front_block
    x.front_sense = midpoint_front_sense
    x.apply_by_plans = midpoint_apply_by_plans
    x.note_joints = midpoint_note_joints
    x.place_front = midpoint_place_front
    x.linearise_at_rest = midpoint_linearise_at_rest
    x.apply_inverse = midpoint_apply_inverse
    x.by_increments = midpoint_by_increments
    x.finish = midpoint_finish


cdef void sundman_methods(Method* x) noexcept:
    midpoint_methods(x)
    x.coupled_rows = sundman_coupled_rows
    x.prepare = sundman_prepare
    x.guess_by_dynamics = sundman_guess_by_dynamics
    x.sweep_out = sundman_sweep_out
    x.evaluate = sundman_evaluate
    x.linearise = sundman_linearise
    x.finish = sundman_finish
