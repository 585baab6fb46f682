# Kinematics for tasks: errors and Jacobians of several tasks in one call, and steps towards their targets. One lane.
cimport cython
from libc.math cimport INFINITY, NAN, fabs, floor, isfinite, log, signbit, sqrt
from libc.string cimport memcpy, memset

from vitree._core.types cimport *

import numpy as np

include "lane/lane.pxi"
include "math/vec.pxi"
include "math/lie.pxi"
include "math/linear_algebra.pxi"
include "mechanism/numbers.pxi"
include "mechanism/joints.pxi"
include "mechanism/rigid_body.pxi"
include "geometry/convex.pxi"
include "geometry/gjk.pxi"
include "geometry/nearest.pxi"
include "sizes.pxi"
include "tasks/box.pxi"
include "tasks/rows.pxi"
include "tasks/gaps.pxi"
include "tasks/levels.pxi"
include "tasks/task_rows.pxi"
include "tasks/motion.pxi"
