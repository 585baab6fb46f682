include "kernels.pxi"
include "lanes/steps.pxi"
