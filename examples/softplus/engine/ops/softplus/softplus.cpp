#include "engine/ops/softplus/softplus.h"

#include "engine/elementwise/unary.h"
#include "engine/ops/softplus/softplus_functor.h"
#include "engine/ops/softplus/softplus_kernel.h"

namespace headroom::engine {
namespace {

// The table: the SIMD kernels in f32, and the reference loops, which define the op.
const UnaryOp op{{"softplus", unary_rows<Softplus, kernel::softplus_forward>()},
                 {"softplus_grad", unary_grad_rows<Softplus, kernel::softplus_backward>()}};

}  // namespace

Tensor softplus(const Tensor& x) { return unary(op, x); }
Tensor softplus_grad(const Tensor& dy, const Tensor& x) { return unary_grad(op, dy, x, Tensor()); }

}  // namespace headroom::engine
