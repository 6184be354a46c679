#include "engine/linalg/spd.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/error.h"
#include "engine/linalg/cholesky.h"
#include "engine/linalg/eigh.h"
#include "engine/parallel.h"

namespace headroom::engine::linalg {
namespace {

/// vectors · diag(f(values)) · vectorsᵀ for each matrix; f sees a value, the largest one and the name for errors.
template <class F>
Tensor function_of(const char* op, const Tensor& a, const F& f) {
  const Stack stack = square_stack_of(op, "a", a);
  const Output out(stack, stack.rows, stack.rows);
  parallel_for(stack.count, [&](int64_t i) {
    check_symmetric(op, stack, i);
    const Dense vectors = stack.dense(i);
    const std::vector<double> values = factor_eigh(vectors.view());
    const Dense scaled = Dense::copy_of(vectors.view());
    for (int64_t j = 0; j < stack.rows; ++j) {
      const double factor = f(values[static_cast<size_t>(j)], std::abs(values.back()), name_of_matrix(op, stack, i));
      for (int64_t p = 0; p < stack.rows; ++p) scaled.view()(p, j) *= factor;
    }
    to_rows(product_of({scaled.view(), vectors.view(), false, true}).view(), out.at(i));
  });
  return out.finish();
}

/// n times `f64` or, for f32, `f32`.
double times_dimension(const Tensor& a, double f64, double f32) {
  return static_cast<double>(a.rank() > 0 ? a.dim(-1) : 1) * (a.dtype() == DType::f32 ? f32 : f64);
}

}  // namespace

Tensor sqrt_spd(const Tensor& a) {
  const double allowed = times_dimension(a, 0x1p-48, 0x1p-20);
  return function_of("sqrt_spd", a, [&](double value, double largest, const std::string& name) {
    require(value >= -allowed * largest, "{}: not positive semidefinite: an eigenvalue is {:.6g}, the largest {:.6g}",
            name, value, largest);
    return std::sqrt(std::max(0.0, value));
  });
}

Tensor inverse_sqrt_spd(const Tensor& a) {
  const double allowed = times_dimension(a, 0x1p-52, 0x1p-23);
  return function_of("inverse_sqrt_spd", a, [&](double value, double largest, const std::string& name) {
    require(value > allowed * largest, "{}: not positive definite: an eigenvalue is {:.6g}, the largest {:.6g}", name,
            value, largest);
    return 1 / std::sqrt(value);
  });
}

}  // namespace headroom::engine::linalg
