cimport cython

from vitree._core.types cimport Scratch

include "lane/lane.pxi"
include "math/vec.pxi"
include "math/lie.pxi"
include "sizes.pxi"
include "steppers/status.pxi"
include "math/lu.pxi"
include "steppers/memory.pxi"
include "steppers/parts.pxi"
include "vehicles/lane.pxi"
include "steppers/stepper.pxi"
include "vehicles/bodies.pxi"
include "vehicles/stepper.pxi"
include "vehicles/rigid.pxi"
include "vehicles/rolling.pxi"
include "vehicles/vehicle.pxi"
