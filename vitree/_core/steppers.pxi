# What runs many steps without Python, of one lane: included behind kernels.pxi.

include "steppers/status.pxi"
include "math/lu.pxi"
include "mechanism/tree_derivatives.pxi"
include "mechanism/loads.pxi"
include "steppers/stepper.pxi"
include "steppers/explicit.pxi"
include "steppers/variational.pxi"
include "steppers/linear_time.pxi"
include "steppers/midpoint.pxi"
include "steppers/sundman.pxi"
