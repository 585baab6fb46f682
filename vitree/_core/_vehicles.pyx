from vitree._core.lane cimport *
from vitree._core.types cimport Scratch

include "vec.pxi"
include "lie.pxi"
include "vehicle_steps.pxi"
include "holonomic.pxi"
include "nonholonomic.pxi"
