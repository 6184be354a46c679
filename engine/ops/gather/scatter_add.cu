#include "engine/ops/gather/scatter_add.cuh"

#include <algorithm>

#include "engine/cuda/launch.cuh"
#include "engine/cuda/number.cuh"
#include "engine/cuda/sort.cuh"
#include "engine/transfer.h"

namespace headroom::engine::cuda {
namespace {

/// Sorted positions whose rows one block adds one after the other; sums that reach over several chunks are joined
/// after.
constexpr int chunk = 64, ahead = 8;

/// The same sums seen as rows: row `key` of y is the sum of the rows `position` of x. A row has `columns` elements, in
/// runs of `inner`; from run to run x and y move by a step.
struct RowSums {
  int64_t n, rows, columns, inner, step_x, step_y;
  const int64_t *keys, *positions;
  bool adds;  ///< to what y holds
  __device__ int64_t in_x(int64_t row, int64_t column) const {
    return row * inner + column / inner * step_x + column % inner;
  }
  __device__ int64_t in_y(int64_t row, int64_t column) const {
    return row * inner + column / inner * step_y + column % inner;
  }
  __device__ bool begins(int64_t i) const { return i == 0 || keys[i - 1] != keys[i]; }
  __device__ bool ends(int64_t i) const { return i + 1 == n || keys[i + 1] != keys[i]; }
};

template <class R>
__device__ inline void put(const RowSums& s, R& to, Compute<R> sum) {
  store(to, s.adds ? load(to) + sum : sum);
}

/// Block (c, …) adds the rows of chunk c. A row of y whose positions all lie in it is written; the first sum, if it
/// began earlier, goes to heads[c], the last, if it goes on, to tails[c].
template <class T, class R>
__global__ void add_chunks(RowSums s, const T* x, R* y, Compute<T>* heads, Compute<T>* tails) {
  __shared__ int64_t keys[chunk], positions[chunk];
  __shared__ bool goes_on;
  const int64_t begin = int64_t{blockIdx.x} * chunk;
  const int count = static_cast<int>(s.n - begin < chunk ? s.n - begin : chunk);
  for (int i = static_cast<int>(threadIdx.x); i < count; i += static_cast<int>(blockDim.x)) {
    keys[i] = s.keys[begin + i];
    positions[i] = s.positions[begin + i];
  }
  if (threadIdx.x == 0) goes_on = !s.ends(begin + count - 1);
  __syncthreads();
  const bool began_before = !s.begins(begin);
  for (int64_t column = int64_t{blockIdx.y} * blockDim.x + threadIdx.x; column < s.columns;
       column += int64_t{gridDim.y} * blockDim.x) {
    Compute<T> sum = 0;
    bool is_head = began_before;
    for (int first = 0; first < count; first += ahead) {
      Compute<T> values[ahead];  // read before the first is added
      for (int k = 0; k < ahead; ++k) {
        const bool is_there = first + k < count && keys[first + k] < s.rows;
        values[k] = is_there ? load(x[s.in_x(positions[first + k], column)]) : Compute<T>(0);
      }
      for (int k = 0; k < ahead; ++k) {
        const int i = first + k;
        if (i >= count || keys[i] >= s.rows) break;
        sum += values[k];
        const bool is_last = i + 1 == count;
        if (!is_last && keys[i + 1] == keys[i]) continue;
        const int64_t partial = int64_t{blockIdx.x} * s.columns + column;
        if (is_head) heads[partial] = sum;
        else if (is_last && goes_on) tails[partial] = sum;
        else put(s, y[s.in_y(keys[i], column)], sum);
        sum = 0;
        is_head = false;
      }
    }
  }
}

/// Block (c, …): where chunk c begins a sum that goes on, adds up its parts.
template <class R>
__global__ void join_chunks(RowSums s, const Compute<R>* heads, const Compute<R>* tails, R* y) {
  const int64_t begin = int64_t{blockIdx.x} * chunk, end = s.n - begin < chunk ? s.n : begin + chunk;
  const int64_t key = s.keys[end - 1];
  const bool is_one_sum = s.keys[begin] == key && !s.begins(begin);
  if (key >= s.rows || s.ends(end - 1) || is_one_sum) return;
  for (int64_t column = int64_t{blockIdx.y} * blockDim.x + threadIdx.x; column < s.columns;
       column += int64_t{gridDim.y} * blockDim.x) {
    Compute<R> sum = tails[int64_t{blockIdx.x} * s.columns + column];
    for (int64_t c = int64_t{blockIdx.x} + 1; c * chunk < s.n && s.keys[c * chunk] == key; ++c)
      sum += heads[c * s.columns + column];
    put(s, y[s.in_y(key, column)], sum);
  }
}

template <class T, class R>
void add_rows(const RowSums& s, const Tensor& y, const Tensor& x) {
  const int64_t chunks = (s.n + chunk - 1) / chunk;
  const unsigned threads = s.columns >= 128 ? 128u : 32u;
  const int64_t across = (s.columns + threads - 1) / threads;
  const Extents blocks(chunks, std::min<int64_t>(across, 65535));
  const Tensor parts = Tensor::empty({2, chunks, s.columns}, dtype_of<Compute<T>>(), x.device());
  auto *heads = parts.mutable_data<Compute<T>>(), *tails = heads + chunks * s.columns;
  launch_kernel("scatter_add: chunks", add_chunks<T, R>, {blocks, threads}, s, x.data<T>(), y.mutable_data<R>(), heads,
                tails);
  launch_kernel("scatter_add: join", join_chunks<R>, {blocks, threads}, s, heads, tails, y.mutable_data<R>());
}

/// The row of dx that element i of the indices names, in a count of rows over everything that has rows of its own;
/// `rows` for an index out of range.
struct RowOfIndex {
  GatherLayout at;
  int64_t per_row, rows;  ///< elements that are rows of their own: inner, or 1
  const int64_t* indices;
  int64_t* keys;
  __device__ void operator()(int64_t i) const {
    const int64_t j = i % per_row, k = i / per_row % at.m, o = i / per_row / at.m;
    const int64_t index = indices[o * at.stride_o + k * at.stride_k + j * at.stride_j];
    keys[i] = index >= 0 && index < at.n ? (o * at.n + index) * per_row + j : rows;
  }
};

/// The layout of what is sorted: `n` of `rows` rows, each of `runs` runs of `inner` elements.
struct SortedLayout {
  int64_t per_row, n, rows, inner, runs;
  explicit SortedLayout(const GatherLayout& at) {
    const bool varies_o = at.stride_o != 0, varies_j = at.stride_j != 0;
    const int64_t outer = varies_o || varies_j ? at.outer : 1;
    per_row = varies_j ? at.inner : 1;
    n = outer * at.m * per_row;
    rows = outer * at.n * per_row;
    inner = at.inner / per_row;
    runs = at.outer / outer;
  }
};

/// By sorting: for many elements of one sum.
template <class T, class R>
void add_sorted(const Tensor& dx, const Tensor& dy, const Tensor& order, const GatherLayout& at, bool adds) {
  const SortedLayout l(at);
  const auto* keys = order.data<int64_t>();
  add_rows<T, R>({l.n, l.rows, l.runs * l.inner, l.inner, at.m * l.inner, at.n * l.inner, keys, keys + l.n, adds}, dx,
                 dy);
}

/// One thread owns every place that it adds to: for few elements of one sum.
template <class T>
struct AddColumn {
  GatherLayout at;
  const T* dy;
  const int64_t* indices;
  Compute<T>* dx;
  __device__ void operator()(int64_t i) const {
    const int64_t o = i / at.inner, j = i % at.inner;
    for (int64_t k = 0; k < at.m; ++k) {
      const int64_t index = indices[o * at.stride_o + k * at.stride_k + j * at.stride_j];
      if (index >= 0 && index < at.n) dx[(o * at.n + index) * at.inner + j] += load(dy[(o * at.m + k) * at.inner + j]);
    }
  }
};

template <class T, class R>
void run(const Tensor& dx, const Tensor& dy, const Tensor& indices, const GatherLayout& at, bool adds,
         const Tensor& order) {
  using C = Compute<T>;
  const int64_t columns = at.outer * at.inner;
  const bool sorts = at.m > few_rows && columns < 65536;
  const bool is_wide = !sorts && dtype_of<C>() != dtype_of<R>();  // columns add to dx again and again: in f32
  const Tensor sums = is_wide ? Tensor::empty(dx.shape(), dtype_of<C>(), dx.device()) : dx;
  if (!adds)
    fill_bytes(sums.device(), sums.mutable_raw(), 0, static_cast<size_t>(sums.numel() * size_of(sums.dtype())));
  if (sorts) return add_sorted<T, R>(dx, dy, order.defined() ? order : sorted_rows(indices, at), at, adds);
  launch("scatter_add: columns", columns,
         AddColumn<T>{at, dy.data<T>(), indices.data<int64_t>(), sums.mutable_data<C>()});
  if (is_wide) convert_elements(dx, sums);
}

}  // namespace

Tensor sorted_rows(const Tensor& indices, const GatherLayout& at) {
  const SortedLayout l(at);
  const Tensor keys = Tensor::empty({l.n}, DType::i64, indices.device());
  launch("scatter_add: keys", l.n,
         RowOfIndex{at, l.per_row, l.rows, indices.data<int64_t>(), keys.mutable_data<int64_t>()});
  return sort_keys(keys, l.rows + 1);
}

void scatter_add(const Tensor& dx, const Tensor& dy, const Tensor& indices, const GatherLayout& at, bool adds,
                 const Tensor& order) {
  if (dy.dtype() == DType::f32) run<float, float>(dx, dy, indices, at, adds, order);
  else if (dy.dtype() == DType::f64) run<double, double>(dx, dy, indices, at, adds, order);
  else if (dx.dtype() == DType::f32) run<bf16, float>(dx, dy, indices, at, adds, order);
  else run<bf16, bf16>(dx, dy, indices, at, adds, order);
}

}  // namespace headroom::engine::cuda
