#include "engine/backend.h"

#include "engine/error.h"

namespace headroom::engine {
bool use_fast(const Tensor& x) { return x.dtype() == DType::f32 && x.device().is_cpu() && !reference_only(); }

void check_floating(const char* op, std::initializer_list<const Tensor*> tensors) {
  const Tensor& first = **tensors.begin();
  for (const Tensor* x : tensors) {
    require(x->defined(), "{}: an operand is undefined", op);
    if (x->dtype() != first.dtype() || x->device() != first.device())
      fail("{}: operands differ in dtype or device: {} on {}, {} on {}", op, first.str(), first.device().str(),
           x->str(), x->device().str());
  }
  require(first.dtype() == DType::f32 || first.dtype() == DType::f64, "{}: dtype {} is not f32 or f64", op,
          name_of(first.dtype()));
}

void no_kernel(const char* op, const Tensor& x) { fail("{}: no kernel for {} on {}", op, x.str(), x.device().str()); }

}  // namespace headroom::engine
