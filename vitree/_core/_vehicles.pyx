cimport cython

from vitree._core.types cimport Scratch

include "lane/lane.pxi"
include "math/vec.pxi"
include "math/lie.pxi"
include "sizes.pxi"
include "engine/status.pxi"
include "engine/guess.pxi"
include "engine/factor_reuse.pxi"
include "math/lu.pxi"
include "engine/memory.pxi"
include "engine/parts.pxi"
include "vehicles/state.pxi"
include "engine/stepper.pxi"
include "vehicles/method.pxi"
include "vehicles/bodies.pxi"
include "vehicles/newton.pxi"
include "vehicles/rates.pxi"
include "vehicles/rigid.pxi"
include "vehicles/rolling.pxi"
include "vehicles/python.pxi"
include "vehicles/vehicle.pxi"
