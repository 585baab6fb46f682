include "kernels.pxi"
include "steppers.pxi"
include "calls.pxi"
include "told.pxi"
