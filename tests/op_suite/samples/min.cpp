#include "engine/ops/min/min.h"
#include "autograd/ops.h"
#include "tests/op_suite/extremum_samples.h"

namespace headroom::autograd {

OpSamples min_samples() { return extremum_samples("min", min); }

}  // namespace headroom::autograd
