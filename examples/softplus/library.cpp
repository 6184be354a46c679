#include "engine/op_library.h"
#include "engine/ops/softplus/softplus_functor.h"
#include "engine/ops/softplus/softplus_kernel.h"

// What a study's op_library loads: one line for each op.
HEADROOM_OP_LIBRARY(library_op<Softplus>("softplus", kernel::softplus_forward, kernel::softplus_backward))
