#include "engine/ops/max/max.h"
#include "autograd/ops.h"
#include "tests/op_suite/extremum_samples.h"

namespace headroom::autograd {

OpSamples max_samples() { return extremum_samples("max", max); }

}  // namespace headroom::autograd
