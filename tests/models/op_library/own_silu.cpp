#include "engine/op_library.h"
#include "engine/ops/elementwise/activations.h"
#include "tests/models/op_library/own_silu_kernel.h"

HEADROOM_OP_LIBRARY(library_op<Silu>("own_silu", kernel::own_silu_forward, kernel::own_silu_backward))
