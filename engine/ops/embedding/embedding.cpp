#include "engine/ops/embedding/embedding.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/backend.h"
#include "engine/error.h"
#include "engine/ops/embedding/embedding_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

template <class T>
void add_listed_rows_loop(const T* x, int64_t stride, const int64_t* rows, int64_t count, T* out, int64_t n) {
  std::fill(out, out + n, T(0));
  for (int64_t k = 0; k < count; ++k)
    for (int64_t j = 0; j < n; ++j) out[j] += x[rows[k] * stride + j];
}

Tensor as_i64(const Tensor& indices) {
  require(indices.dtype() == DType::i64 || indices.dtype() == DType::i32, "embedding: indices {} are not i64 or i32",
          indices.str());
  return indices.to(DType::i64).contiguous();
}

/// Positions ordered by their index (counting sort, stable): those of row v are positions[begin[v], begin[v + 1]).
struct Order {
  Tensor begin, positions;
  Order(const int64_t* index, int64_t count, int64_t vocabulary)
      : begin(Tensor::zeros({vocabulary + 1}, DType::i64)), positions(Tensor::empty({count}, DType::i64)) {
    auto *first = begin.mutable_data<int64_t>(), *out = positions.mutable_data<int64_t>();
    for (int64_t i = 0; i < count; ++i) ++first[index[i]];
    int64_t next = 0;
    for (int64_t v = 0; v <= vocabulary; ++v) next += std::exchange(first[v], next);
    for (int64_t i = 0; i < count; ++i) out[first[index[i]]++] = i;
    // Each entry has moved to where the next row begins.
    for (int64_t v = vocabulary; v > 0; --v) first[v] = first[v - 1];
    first[0] = 0;
  }
};

}  // namespace

Tensor embedding(const Tensor& table_in, const Tensor& indices_in) {
  check_floating("embedding", {&table_in});
  require(table_in.rank() == 2, "embedding: table {} is not (V, C)", table_in.shape().str());
  const Tensor table = table_in.contiguous(), indices = as_i64(indices_in);
  const int64_t vocabulary = table.dim(0), width = table.dim(1), count = indices.numel();
  const auto* index = indices.data<int64_t>();
  for (int64_t i = 0; i < count; ++i)
    if (index[i] < 0 || index[i] >= vocabulary)
      fail("embedding: index {} at position {} is outside [0, {}): table {}, indices {}", index[i], i, vocabulary,
           table.shape().str(), indices.shape().str());
  Shape shape = indices.shape();
  shape.push_back(width);
  Tensor y = Tensor::empty(shape, table.dtype());  // (…, C)
  const int64_t bytes = width * size_of(table.dtype());
  const auto* from = static_cast<const char*>(table.raw());
  auto* to = static_cast<char*>(y.mutable_raw());
  parallel_ranges(count, std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, bytes)),
                  [&](int64_t begin, int64_t end) {
                    for (int64_t i = begin; i < end; ++i)
                      std::memcpy(to + i * bytes, from + index[i] * bytes, static_cast<size_t>(bytes));
                  });
  return y;
}

Tensor embedding_grad(const Tensor& dy_in, const Tensor& indices_in, int64_t vocabulary) {
  const Tensor dy = dy_in.contiguous(), indices = as_i64(indices_in);
  const int64_t width = dy.dim(-1);
  Tensor dtable = Tensor::empty({vocabulary, width}, dy.dtype());  // (V, C)
  if (dtable.numel() == 0) return dtable;
  const Order order(indices.data<int64_t>(), indices.numel(), vocabulary);
  const auto *first = order.begin.data<int64_t>(), *positions = order.positions.data<int64_t>();
  // A small vocabulary is cut along the width too: a few tokens may have most positions.
  const int64_t rows = (vocabulary + 63) / 64, columns = vocabulary <= 1024 ? std::min<int64_t>(64, width) : width;
  const int64_t row_tasks = (vocabulary + rows - 1) / rows, column_tasks = (width + columns - 1) / columns;
  visit_real("embedding", dy, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(row_tasks * column_tasks, [&](int64_t task) {
      const int64_t begin = task / column_tasks * rows, end = std::min(begin + rows, vocabulary);
      const int64_t j = task % column_tasks * columns, n = std::min(columns, width - j);
      for (int64_t v = begin; v < end; ++v) {
        const int64_t* list = positions + first[v];
        const int64_t count = first[v + 1] - first[v];
        const T* from = dy.data<T>() + j;
        T* to = dtable.mutable_data<T>() + v * width + j;
        if (count == 0) {
          std::memset(to, 0, static_cast<size_t>(n) * sizeof(T));
          continue;
        }
        if constexpr (std::is_same_v<T, float>) {
          if (!reference_only()) {
            kernel::add_listed_rows(from, width, list, count, to, n);
            continue;
          }
        }
        add_listed_rows_loop(from, width, list, count, to, n);
      }
    });
  });
  return dtable;
}

}  // namespace headroom::engine
