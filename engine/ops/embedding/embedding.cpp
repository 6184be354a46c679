#include "engine/ops/embedding/embedding.h"

#include <algorithm>
#include <cstring>
#include <utility>

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

Tensor as_i64(const Tensor& indices) { return indices.dtype() == DType::i32 ? indices.to(DType::i64) : indices; }

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

/// Throws Error naming `op` and the first index that is not a row of the table.
void check_indices(const char* op, const Tensor& indices, const Shape& table) {
  const auto* index = indices.data<int64_t>();
  for (int64_t i = 0; i < indices.numel(); ++i)
    if (index[i] < 0 || index[i] >= table[0])
      fail("{}: index {} at position {} is outside [0, {}): table {}, indices {}", op, index[i], i, table[0],
           table.str(), indices.shape().str());
}

void run(EmbeddingCall& c) {
  check_indices("embedding", c.indices, c.table.shape());
  const auto* index = c.indices.data<int64_t>();
  const int64_t bytes = c.table.dim(1) * size_of(c.table.dtype());
  const auto* from = static_cast<const char*>(c.table.raw());
  auto* to = static_cast<char*>(c.y.mutable_raw());
  parallel_for(c.indices.numel(), std::max<int64_t>(1, (int64_t{1} << 16) / std::max<int64_t>(1, bytes)),
               [&](int64_t i) { std::memcpy(to + i * bytes, from + index[i] * bytes, static_cast<size_t>(bytes)); });
}

template <class T>
void run_grad(EmbeddingGradCall& c,
              void (*add_rows)(const T* x, int64_t stride, const int64_t* rows, int64_t count, T* out, int64_t n)) {
  check_indices("embedding_grad", c.indices, c.dtable.shape());
  const int64_t vocabulary = c.dtable.dim(0), width = c.dtable.dim(1);
  const Order order(c.indices.data<int64_t>(), c.indices.numel(), vocabulary);
  const auto *first = order.begin.data<int64_t>(), *positions = order.positions.data<int64_t>();
  // A small vocabulary is cut along the width too: a few tokens may have most positions.
  const int64_t rows = (vocabulary + 63) / 64, columns = vocabulary <= 1024 ? std::min<int64_t>(64, width) : width;
  const int64_t row_tasks = (vocabulary + rows - 1) / rows, column_tasks = (width + columns - 1) / columns;
  const T* dy = c.dy.data<T>();
  T* dtable = c.dtable.mutable_data<T>();
  parallel_for(row_tasks * column_tasks, [&](int64_t task) {
    const int64_t begin = task / column_tasks * rows, end = std::min(begin + rows, vocabulary);
    const int64_t j = task % column_tasks * columns, n = std::min(columns, width - j);
    for (int64_t v = begin; v < end; ++v) {
      T* to = dtable + v * width + j;
      if (first[v] == first[v + 1]) std::fill(to, to + n, T{});
      else add_rows(dy + j, width, positions + first[v], first[v + 1] - first[v], to, n);
    }
  });
}

void add_rows_bf16(const bf16* x, int64_t stride, const int64_t* rows, int64_t count, bf16* out, int64_t n) {
  kernel::add_listed_rows_bf16(&x->bits, stride, rows, count, &out->bits, n);
}

}  // namespace

Op<EmbeddingCall> embedding_op{"embedding",
                               {{.name = "rows copied",
                                 .dtypes = DType::f32 | DType::f64 | DType::bf16 | DType::f16,
                                 .run = run,
                                 .is_reference = true}}};

Op<EmbeddingGradCall> embedding_grad_op{
    "embedding_grad", kernel_and_loops<EmbeddingGradCall>(
                          kernel::add_listed_rows.levels(),
                          [](EmbeddingGradCall& c) { run_grad<float>(c, kernel::add_listed_rows.best()); },
                          [](EmbeddingGradCall& c) { run_grad<float>(c, add_listed_rows_loop); },
                          [](EmbeddingGradCall& c) { run_grad<double>(c, add_listed_rows_loop); },
                          [](EmbeddingGradCall& c) { run_grad<bf16>(c, add_rows_bf16); })};

Op<EmbeddingOrderCall> embedding_order_op{"embedding_order", {}};

Tensor embedding(const Tensor& table, const Tensor& indices) {
  EmbeddingCall call{table, as_i64(indices)};
  embedding_op.check(call);
  require(table.rank() == 2, "embedding: table {} is not (V, C)", table.shape());
  Shape shape = indices.shape();
  shape.push_back(table.dim(1));
  call.y = Tensor::empty(shape, table.dtype(), table.device());  // (…, C)
  if (indices.numel() > 0) embedding_op.run(call);
  return call.y;
}

Tensor embedding_grad(const Tensor& dy, const Tensor& indices, int64_t vocabulary, const Tensor& place, bool adds,
                      const Tensor& order) {
  EmbeddingGradCall call{dy, as_i64(indices)};
  embedding_grad_op.check(call);
  require(dy.rank() > 0 && dy.shape().without(-1) == indices.shape() && vocabulary >= 0,
          "embedding_grad: dy {} does not fit indices {} and {} rows", dy.shape(), indices.shape(), vocabulary);
  const Shape shape{vocabulary, dy.dim(-1)};
  const bool is_placed = place.defined() && !dy.device().is_cpu() && place.shape() == shape && place.is_contiguous() &&
                         place.dtype() == statistic_dtype(dy.dtype());
  call.adds = is_placed && adds;
  call.order = order;
  call.dtable = is_placed ? place : Tensor::empty(shape, dy.dtype(), dy.device());  // (V, C)
  if (is_placed) place.use_on_stream();
  if (call.dtable.numel() > 0) embedding_grad_op.run(call);
  return call.dtable;
}

Tensor embedding_order(const Tensor& indices, int64_t vocabulary) {
  EmbeddingOrderCall call{as_i64(indices), vocabulary};
  if (embedding_order_op.has(indices.device().kind, DType::i64)) embedding_order_op.run(call);
  return call.order;
}

}  // namespace headroom::engine
