#include "engine/sequences/argsort.h"

#include <algorithm>
#include <numeric>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::engine {

/// i64 needs its own numbers: f64 does not hold all of them.
template <class T>
static Tensor order_of_rows(const Tensor& given, bool descending) {
  const Tensor rows = given.to(dtype_of<T>()).contiguous(), order = Tensor::empty(rows.shape(), DType::i64);
  const int64_t n = rows.dim(-1), count = n > 0 ? rows.numel() / n : 0;
  int64_t* to = order.mutable_data<int64_t>();
  parallel_for(count, std::max<int64_t>(1, (int64_t{1} << 12) / std::max<int64_t>(n, 1)), [&](int64_t row) {
    const T* x = rows.data<T>() + row * n;
    // A number is less than NaN; NaN than nothing.
    const auto less = [x](int64_t i, int64_t j) { return x[i] < x[j] || (x[i] == x[i] && x[j] != x[j]); };
    std::iota(to + row * n, to + (row + 1) * n, int64_t{0});
    std::stable_sort(to + row * n, to + (row + 1) * n,
                     [&](int64_t i, int64_t j) { return descending ? less(j, i) : less(i, j); });
  });
  return order;
}

Tensor argsort(const Tensor& x, int axis, bool descending) {
  require(x.defined(), "argsort: operand x is undefined");
  const int along = x.shape().index(axis, "argsort");
  const Tensor rows = x.to(cpu).transpose(along, -1);
  const Tensor order =
      is_floating(x.dtype()) ? order_of_rows<double>(rows, descending) : order_of_rows<int64_t>(rows, descending);
  return order.transpose(along, -1).contiguous().to(x.device());
}

}  // namespace headroom::engine
