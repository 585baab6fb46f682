# The tables of the methods: a function per entry. Unused entries of a method are NULL.

cdef void nothing_to_conclude(ModelStepper self, bint leading) noexcept nogil:
    pass


cdef int nothing_to_finish(ModelStepper self) noexcept nogil:
    return OK


cdef int make_field(ModelStepper self, dict options) except -1:
    if "contacts" in options:
        make_contacts(self, options)
        make_impacts(self)
    return 0


cdef void field_methods(Method* x) noexcept:
    # accelerations and forces of states; no steps
    x.make = make_field
    x.begin = x.on_impulse = begin_contacts
    x.accept, x.multiplier = model_accept, model_multiplier
    x.node_share = x.force_share = model_node_share
    x.solves_forces = model_solves_forces


cdef void explicit_methods(Method* x) noexcept:
    # (q2, v2) = F_h(q1, v1). Where v is changed from outside, contacts remain
    field_methods(x)
    x.begin, x.accept, x.on_impulse, x.multiplier = explicit_begin, explicit_accept, nothing, explicit_multiplier
    x.prepare, x.attempt, x.give_up, x.conclude = explicit_prepare, explicit_attempt, nothing, nothing_to_conclude
    x.first_guess, x.guess_again = explicit_first_guess, explicit_guess_again
    x.iterate_touches, x.finish, x.push_late = explicit_iterate_touches, nothing_to_finish, explicit_push_late


cdef void euler_methods(Method* x) noexcept:
    explicit_methods(x)
    euler_entries(x)
    x.make = make_euler


cdef void runge_kutta_methods(Method* x) noexcept:
    explicit_methods(x)
    runge_kutta_entries(x)
    x.make = make_runge_kutta


cdef void gauss_methods(Method* x) noexcept:
    field_methods(x)
    x.make = make_gauss
    x.begin, x.accept, x.on_impulse, x.step = gauss_begin, gauss_accept, gauss_on_impulse, gauss_step


cdef void variational_methods(Method* x) noexcept:
    # entries common to all discretisations
    field_methods(x)
    variational_entries(x)
    x.begin, x.accept, x.on_impulse = variational_begin, variational_accept, variational_on_impulse
    x.multiplier = variational_multiplier
    x.attempt, x.give_up, x.conclude = variational_attempt, variational_give_up, variational_conclude
    x.first_guess, x.guess_again = variational_first_guess, variational_guess_again
    x.iterate_touches, x.push_late = variational_iterate_touches, variational_push_late
    x.stand_touched = stand_trial
    x.reach_node, x.increment_to = variational_reach_node, variational_increment_to
    x.weight, x.dense = variational_weight, variational_dense
    x.front_sense, x.front_share = variational_front_sense, variational_front_share
    x.end_front, x.apply_by_plans = variational_end_front, variational_apply_by_plans


cdef void linear_time_methods(Method* x) noexcept:
    variational_methods(x)
    linear_time_entries(x)
    x.make = make_linear_time
    x.open_node, x.linearise_at_rest = linear_time_open_node, linear_time_linearise_at_rest
    x.answer_wrenches, x.displaced = linear_time_answer_wrenches, linear_time_displaced
    x.answer_joints = linear_time_answer_joints
    x.stand_touched = linear_time_stand_touched
    x.middle, x.increment_to, x.reach_node = linear_time_middle, linear_time_increment_to, linear_time_reach_node
    x.by_increments, x.solves_forces, x.weight = linear_time_by_increments, linear_time_solves_forces, linear_time_weight
    x.coupled_rows, x.front_block = linear_time_coupled_rows, linear_time_front_block
    x.place_front, x.front_share = linear_time_place_front, linear_time_front_share
    x.note_joints, x.end_front = linear_time_note_joints, linear_time_end_front


cdef void midpoint_methods(Method* x) noexcept:
    variational_methods(x)
    midpoint_entries(x)
    x.make = make_midpoint
    x.open_node, x.linearise_at_rest = midpoint_open_node, midpoint_linearise_at_rest
    x.middle, x.by_increments = midpoint_middle, midpoint_by_increments
    x.coupled_rows, x.dense, x.front_block = midpoint_coupled_rows, midpoint_dense, midpoint_front_block
    x.place_front, x.front_sense, x.note_joints = midpoint_place_front, midpoint_front_sense, midpoint_note_joints
    x.apply_by_plans = midpoint_apply_by_plans


cdef void sundman_methods(Method* x) noexcept:
    midpoint_methods(x)
    x.make, x.prepare = make_sundman, sundman_prepare
    x.finish = sundman_finish
    x.evaluate, x.linearise, x.sweep_out = sundman_evaluate, sundman_linearise, sundman_sweep_out
    x.guess_by_dynamics = sundman_guess_by_dynamics
    x.coupled_rows = sundman_coupled_rows
