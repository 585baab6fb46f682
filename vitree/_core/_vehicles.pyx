cimport cython

from vitree._core.types cimport Scratch

include "lane/lane.pxi"
include "math/vec.pxi"
include "math/lie.pxi"
include "sizes.pxi"
include "engine/status.pxi"
include "math/lu.pxi"
include "engine/memory.pxi"
include "engine/parts.pxi"
include "vehicles/lane.pxi"
include "engine/stepper.pxi"
include "vehicles/bodies.pxi"
include "vehicles/stepper.pxi"
include "vehicles/rigid.pxi"
include "vehicles/rolling.pxi"
include "vehicles/vehicle.pxi"
