# Steps of several instances at once, an instance per lane, on models without loads, constraints, contacts and
# prescribed motion: the text of engine/, with VT_WIDTH instances in each number. A lane that leaves the common branch
# (a step to be halved, another branch, a state that diverges) is left to a stepper of one instance.

include "../engine/status.pxi"
include "../math/lu.pxi"
include "../math/port_rows.pxi"
include "../math/rows.pxi"
include "../math/cones.pxi"
include "../math/condensed.pxi"
include "../engine/memory.pxi"
include "../engine/parts.pxi"
include "../loops/parts.pxi"
include "../engine/state.pxi"
include "../methods/many_sides.pxi"
include "../methods/mass_sides.pxi"
include "../mechanism/touches.pxi"
include "../mechanism/fields.pxi"
include "../contact/tolerances.pxi"
include "../contact/touch_rows.pxi"
include "home.pxi"

cdef class ModelStepper


include "plan.pxi"
include "../engine/method.pxi"
include "../engine/dynamics.pxi"
include "../engine/newton.pxi"
include "../engine/linear_time.pxi"
include "../engine/midpoint.pxi"
include "../explicit/runge_kutta.pxi"
include "alone.pxi"
include "contact.pxi"
include "numbers.pxi"
include "block.pxi"
