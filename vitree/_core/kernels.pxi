# Everything that is compiled once for each width.
from libc.math cimport floor

from vitree._core.lane cimport *
from vitree._core.types cimport *

include "vec.pxi"
include "lie.pxi"
include "joints.pxi"
include "rigid_body.pxi"
include "constraints.pxi"
include "friction.pxi"
include "linear_time.pxi"
include "midpoint.pxi"
include "entry.pxi"
