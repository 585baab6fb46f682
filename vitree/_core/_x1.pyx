include "kernels.pxi"
include "steppers.pxi"
