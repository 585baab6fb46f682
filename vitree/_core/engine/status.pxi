# The status with which a step ends, for the steppers of models and of vehicles.

from libc.math cimport INFINITY, NAN, fabs, isfinite, log
from libc.string cimport memcmp, memcpy, memset

import numpy as np

cdef enum:
    OK = 0
    NOT_CONVERGED = 1
    TURNED_TOO_FAR = 2
    NOT_FINITE = 3
    CALLBACK_FAILED = 4
    DEPENDENT = 5
    NO_STEP = 6
    WRONG_BRANCH = 7
    NO_MEMORY = 8
    JOINED = 9          # within a step: contacts have been added to the solve

cdef enum:
    WATCHED = 4         # numbers of a step in its records, before those of the specific kind of stepper
    TOUCHED = 9         # numbers of a contact in a recorded step
    TURNED = 6          # and of its torsional and rolling friction: the impulse of torques, the angular velocity
    FACET_ROW = 31      # and of a facet: point, normal, gap, and what it consists of

CONTACT_COLUMNS, TURNING_COLUMNS, FACET_COLUMNS = TOUCHED, TURNED, FACET_ROW
#: [m, rad, per s, or units of momentum] states beyond it have diverged
LARGEST = 1e100
cdef double MOST = LARGEST

#: statuses that the integrators distinguish
STATUS = {"callback failed": CALLBACK_FAILED, "dependent": DEPENDENT, "not converged": NOT_CONVERGED,
          "turned too far": TURNED_TOO_FAR, "not finite": NOT_FINITE}
STATUS_TEXT = {
    NOT_CONVERGED: "the residual stayed above the tolerance",
    TURNED_TOO_FAR: "a body turned by half a turn or more in a trial of the solver",
    NOT_FINITE: f"the state became infinite or NaN, or grew beyond {LARGEST:g}",
    DEPENDENT: "the constraints depend on each other: some are redundant, or the configuration is singular",
    WRONG_BRANCH: "the solution found is not the one that continues from no motion: dt is too long for this motion",
    NO_MEMORY: "there is no memory for so many contacts",
    NO_STEP: "no valid adaptive step length was found; use a smaller dt",
}


cdef bint unsolved(int status) noexcept nogil:
    # whether another guess or a shorter step may help
    return status == NOT_CONVERGED or status == TURNED_TOO_FAR or status == DEPENDENT or status == WRONG_BRANCH
