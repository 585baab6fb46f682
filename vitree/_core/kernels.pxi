# Everything that is compiled once for each width.
cimport cython
from cpython.exc cimport PyErr_CheckSignals
from libc.math cimport INFINITY, NAN, fabs, floor, isfinite, log, signbit, sqrt
from libc.string cimport memcpy, memset

from vitree._core.types cimport *

include "lane/lane.pxi"
include "math/vec.pxi"
include "math/lie.pxi"
include "math/se3.pxi"
include "math/linear_algebra.pxi"
include "mechanism/numbers.pxi"
include "mechanism/joints.pxi"
include "mechanism/rigid_body.pxi"
include "mechanism/dynamics_derivatives.pxi"
include "mechanism/tables.pxi"
include "mechanism/constraints.pxi"
include "mechanism/constraint_slopes.pxi"
include "mechanism/friction.pxi"
include "mechanism/drives.pxi"
include "methods/trees.pxi"
include "methods/body_lanes.pxi"
include "methods/linear_time.pxi"
include "methods/midpoint.pxi"
include "methods/midpoint_trees.pxi"
include "methods/node_slopes.pxi"
include "methods/mass_slopes.pxi"
include "methods/bodies.pxi"
include "methods/gauss.pxi"
include "engine/guess.pxi"
include "engine/factor_reuse.pxi"
include "engine/certificate.pxi"
include "sizes.pxi"
include "runs.pxi"
include "doors.pxi"
include "se3_doors.pxi"

#: Lanes: states, or instances, that are computed together
VT_LANES = VT_WIDTH
