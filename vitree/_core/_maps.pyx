# Maps of the whole body: center of mass, momentum and its matrix, Coriolis matrix, Jacobians of frames and their rates,
# regressors. One lane.
cimport cython
from libc.math cimport fabs
from libc.string cimport memcpy, memset, strlen

from vitree._core.types cimport *

import numpy as np

cimport numpy as cnp

cdef extern from *:
    """
    #undef I    /* of C's complex numbers, which NumPy brings; here it is an inertia */
    """

cnp.import_array()

include "lane/lane.pxi"
include "math/vec.pxi"
include "math/lie.pxi"
include "mechanism/numbers.pxi"
include "mechanism/joints.pxi"
include "mechanism/rigid_body.pxi"
include "sizes.pxi"
include "maps/job.pxi"
include "maps/bodies.pxi"
include "maps/centroidal.pxi"
include "maps/coriolis.pxi"
include "maps/frames.pxi"
include "maps/regressors.pxi"
include "maps/calls.pxi"
