#include "engine/ops/rope/rope.h"

#include <cmath>

#include "engine/cpu/widened.h"
#include "engine/error.h"
#include "engine/ops/rope/rope_kernel.h"
#include "engine/parallel.h"

namespace headroom::engine {
namespace {

void check_heads(const Tensor& x) {
  if (x.rank() != 4 || x.dim(3) % 2 != 0) fail("rope: expected x (B, T, H, D) with an even D: x {}", x.shape().str());
}

/// Cosine and signed sine of every element's angle at one position: the sine is negative for the first of a pair.
template <class T>
void angles(double position, const double* frequency, int64_t dim, bool interleaved, T* cosine, T* sine, T* back) {
  for (int64_t i = 0; i < dim / 2; ++i) {
    const int64_t first = interleaved ? 2 * i : i, second = interleaved ? 2 * i + 1 : i + dim / 2;
    const double angle = position * frequency[i];
    cosine[first] = cosine[second] = static_cast<T>(std::cos(angle));
    sine[second] = back[first] = static_cast<T>(std::sin(angle));
    sine[first] = back[second] = -sine[second];
  }
}

/// The formula: `rows` rows at one position.
template <class T>
void rotate_loop(const T* x, T* y, const T* cosine, const T* sine, int64_t rows, int64_t dim, bool interleaved) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t e = 0; e < dim; ++e) {
      const int64_t partner = interleaved ? e ^ 1 : (e + dim / 2) % dim;
      y[row * dim + e] = x[row * dim + e] * cosine[e] + x[row * dim + partner] * sine[e];
    }
}

/// A place with gaps is not written to.
void make_contiguous(Tensor& y) {
  if (!y.is_contiguous()) y = Tensor::empty(y.shape(), y.dtype());
}

template <class T>
using Loop = void (*)(const T* x, T* y, const T* cosine, const T* sine, int64_t rows, int64_t dim, bool interleaved);

template <class T>
void run(RopeCall& c, Loop<T> loop) {
  const int64_t heads = c.x.dim(2), dim = c.x.dim(3), span = heads * dim, rows = c.angles.numel() / (3 * dim);
  const T *x = c.x.data<T>(), *angles = c.angles.data<T>();
  make_contiguous(c.y);
  T* y = c.y.mutable_data<T>();
  parallel_for(c.x.dim(0) * c.x.dim(1), 16, [&](int64_t row) {
    const T* cosine = angles + row % rows * 3 * dim;
    loop(x + row * span, y + row * span, cosine, cosine + c.sine * dim, heads, dim, c.interleaved);
  });
}

/// In bf16 by the f32 kernel, one position at a time; the table is f32.
void run_widened(RopeCall& c) {
  const int64_t heads = c.x.dim(2), dim = c.x.dim(3), span = heads * dim, rows = c.angles.numel() / (3 * dim);
  const bf16* x = c.x.data<bf16>();
  const float* angles = c.angles.data<float>();
  make_contiguous(c.y);
  bf16* y = c.y.mutable_data<bf16>();
  parallel_ranges(c.x.dim(0) * c.x.dim(1), 16, [&](int64_t begin, int64_t end) {
    const WidenedBlocks f32(2, span);
    for (int64_t row = begin; row < end; ++row) {
      const float* cosine = angles + row % rows * 3 * dim;
      kernel::rope_rows(f32.widen(0, x + row * span, span), f32[1], cosine, cosine + c.sine * dim, heads, dim,
                        c.interleaved);
      f32.narrow(1, y + row * span, span);
    }
  });
}

const std::initializer_list<Implementation<RopeCall>> implementations{
    {.name = "simd", .dtypes = DType::bf16, .run = run_widened, .levels = kernel::rope_rows.levels()},
    {.name = "simd",
     .dtypes = DType::f32,
     .run = [](RopeCall& c) { run<float>(c, kernel::rope_rows.best()); },
     .levels = kernel::rope_rows.levels()},
    {.name = "loops",
     .dtypes = DType::f32,
     .run = [](RopeCall& c) { run<float>(c, rotate_loop); },
     .is_reference = true},
    {.name = "loops",
     .dtypes = DType::f64,
     .run = [](RopeCall& c) { run<double>(c, rotate_loop); },
     .is_reference = true}};
Tensor rotate(const Op<RopeCall>& op, const Tensor& x, const RopeTable& table, int64_t sine, const Tensor& place = {}) {
  RopeCall call{x, table.angles, table.interleaved, sine};
  op.check(call);
  check_heads(x);
  const int64_t batch = x.dim(0), length = x.dim(1), dim = x.dim(3);
  const Shape& shape = table.angles.shape();
  if (shape != Shape{length, 3, dim} && shape != Shape{batch, length, 3, dim})
    fail("rope: table {}, expected ({}, 3, {}) or ({}, {}, 3, {}): x {}", shape.str(), length, dim, batch, length, dim,
         x.shape().str());
  require(!place.defined() || place.shape() == x.shape(), "rope: the place {} does not fit {}", place, x);
  const bool takes = place.defined() && place.dtype() == x.dtype();
  call.y = takes ? place : Tensor::empty(x.shape(), x.dtype(), x.device());  // (B, T, H, D)
  if (call.y.numel() > 0) op.run(call);
  return call.y;
}

/// The angles of positions, in T.
template <class T>
void fill_table(const RopeTableCall& c, const Tensor& frequencies) {
  const int64_t dim = c.table.dim(-1);
  const auto* positions = c.positions.data<int64_t>();
  T* table = c.table.mutable_data<T>();
  parallel_for(c.positions.numel(), 16, [&](int64_t row) {
    T* cosine = table + row * 3 * dim;
    angles(static_cast<double>(positions[row]), frequencies.data<double>(), dim, c.interleaved, cosine, cosine + dim,
           cosine + 2 * dim);
  });
}

void run_table(RopeTableCall& c) {
  const Tensor frequencies = c.frequencies.defined() ? c.frequencies : rope_frequencies(c.table.dim(-1), c.base);
  if (c.table.dtype() == DType::f32) fill_table<float>(c, frequencies);
  else fill_table<double>(c, frequencies);
}

/// Fills the call's table (…, 3, dim) of a dtype.
RopeTable made(RopeTableCall call, int64_t dim, DType dtype) {
  Shape shape = call.positions.shape();
  shape.push_back(3);
  shape.push_back(dim);
  call.table = Tensor::empty(shape, dtype, call.positions.device());  // (T, 3, D) or (B, T, 3, D)
  rope_table_op.check(call);
  if (call.table.numel() > 0) rope_table_op.run(call);
  return {call.table, call.interleaved};
}

void check_base(int64_t dim, double base) {
  require(dim >= 0 && dim % 2 == 0, "rope: {} elements are no pairs", dim);
  require(base > 0 && std::isfinite(base), "rope: base {} is not a positive number", base);
}

}  // namespace

Op<RopeCall> rope_op{"rope", implementations}, rope_grad_op{"rope_grad", implementations};
Op<RopeTableCall> rope_table_op{"rope_table",
                                {{.name = "loops", .dtypes = DType::i64, .run = run_table, .is_reference = true}}};

Tensor rope_frequencies(int64_t dim, double base) {
  check_base(dim, base);
  const Tensor frequencies = Tensor::empty({dim / 2}, DType::f64);
  for (int64_t i = 0; i < dim / 2; ++i)
    frequencies.mutable_data<double>()[i] = std::pow(base, -2.0 * static_cast<double>(i) / static_cast<double>(dim));
  return frequencies;
}

RopeTable rope_table(const Tensor& positions, const Tensor& frequencies_in, bool interleaved, DType dtype) {
  require(positions.defined() && positions.dtype() == DType::i64 && (positions.rank() == 1 || positions.rank() == 2),
          "rope: positions {}, expected i64 (T) or (B, T)", positions);
  require(frequencies_in.defined() && frequencies_in.dtype() == DType::f64 && frequencies_in.rank() == 1,
          "rope: frequencies {}, expected f64 (D/2)", frequencies_in);
  require(dtype == DType::f32 || dtype == DType::f64, "rope: a table in {}, expected f32 or f64", name_of(dtype));
  const Tensor frequencies = frequencies_in.to(positions.device()).contiguous();
  return made({positions, frequencies, 0, interleaved}, 2 * frequencies.numel(), dtype);
}

Tensor rope(const Tensor& x, const RopeTable& table) { return rotate(rope_op, x, table, 1); }

Tensor rope_grad(const Tensor& dy, const RopeTable& table, const Tensor& place) {
  return rotate(rope_grad_op, dy, table, 2, place);
}

RopeTable rope_table(const Tensor& x, const Tensor& positions, double base, bool interleaved) {
  // A dtype without an implementation is refused by name, before a table is made.
  RopeCall call{x, Tensor::empty({0}, statistic_dtype(x.dtype()), x.device()), interleaved, 1};
  rope_op.check(call);
  check_heads(x);
  const bool shared = positions.defined() && positions.shape() == Shape{x.dim(1)};
  const bool own = positions.defined() && positions.shape() == Shape{x.dim(0), x.dim(1)};
  if (!(shared || own) || positions.dtype() != DType::i64)
    fail("rope: positions {}, expected i64 ({}) or ({}, {}): x {}", positions.str(), x.dim(1), x.dim(0), x.dim(1),
         x.shape().str());
  check_base(x.dim(3), base);
  return made({positions, Tensor(), base, interleaved}, x.dim(3), statistic_dtype(x.dtype()));
}

Tensor rope(const Tensor& x, const Tensor& positions, double base, bool interleaved) {
  return rope(x, rope_table(x, positions, base, interleaved));
}

}  // namespace headroom::engine
