// Products on the GPU that the op suite does not reach: f64, TF32, quantised matrices against the CPU's bits.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/context.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/linear/linear.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/quantized_linear/quantized_linear.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/ops/sum/sum.h"
#include "engine/ops/swiglu/swiglu.h"
#include "engine/profile.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/op_suite/quantized_data.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using engine::BlockFormat;
using engine::Device;
using engine::DType;
using engine::QuantizedMatrix;
using engine::Shape;
using engine::Tensor;
using testing::error_of;
using testing::relative_distance;

constexpr Device cuda{Device::Kind::cuda, 0};

Tensor random(const engine::Shape& shape, uint64_t seed, DType dtype = DType::f32) {
  return engine::random_uniform(shape, -1, 1, engine::RngKey{seed, 0}).to(dtype);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.to(engine::cpu).contiguous(), y = b.to(engine::cpu).contiguous();
  return x.shape() == y.shape() &&
         std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.numel() * engine::size_of(x.dtype()))) == 0;
}

/// Rows of the operation in a profile of what f queues.
template <class F>
int64_t count_of(const std::string& name, const F& f) {
  const engine::Profile profile(cuda);
  f();
  const auto ops = profile.ops();
  return std::count_if(ops.begin(), ops.end(), [&](const auto& op) { return op.name == name; });
}

/// A parameter as an arena holds it: room for a multiple of eight rows, of zeros, and behind that what is not its own.
struct Room {
  Tensor whole, matrix;

  explicit Room(const Tensor& x) {
    const int64_t wide = x.numel() / x.dim(0), rows = (x.dim(0) + 7) / 8 * 8;
    std::vector<float> numbers = x.to_vector<float>();
    numbers.resize(static_cast<size_t>(rows * wide), 0);
    numbers.resize(static_cast<size_t>(rows * wide + 64), 7);
    whole = Tensor::from({rows * wide + 64}, numbers).to(x.dtype()).to(cuda);
    whole.declare_padding(x.numel(), rows * wide, 0, true);
    matrix = whole.slice(0, 0, x.numel()).reshape(x.shape());
  }
  bool is_intact() const {
    const std::vector<float> numbers = whole.to_vector<float>();
    const auto padding = numbers.begin() + matrix.numel(), beyond = numbers.end() - 64;
    return std::all_of(padding, beyond, [](float v) { return v == 0; }) &&
           std::all_of(beyond, numbers.end(), [](float v) { return v == 7; });
  }
};

}  // namespace

TEST_CASE("a layer in f64, whose bias the library cannot add", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor x = random({7, 13}, 1, DType::f64), w = random({5, 13}, 2, DType::f64),
               bias = random({5}, 3, DType::f64);
  const Tensor dy = random({7, 5}, 4, DType::f64);
  CHECK(relative_distance(engine::linear(x.to(cuda), w.to(cuda), bias.to(cuda)), engine::linear(x, w, bias)) < 1e-14);
  const auto got = engine::linear_grad(dy.to(cuda), x.to(cuda), w.to(cuda), true, true, true, true);
  const auto want = engine::linear_grad(dy, x, w, true, true, true, true);
  CHECK(relative_distance(got.dx, want.dx) < 1e-14);
  CHECK(relative_distance(got.dweight, want.dweight) < 1e-14);
  CHECK(relative_distance(got.dbias, want.dbias) < 1e-14);
}

TEST_CASE("a layer's gradients are the same bits whichever are asked for", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor x = random({33, 20}, 1).to(cuda), w = random({9, 20}, 2).to(cuda), dy = random({33, 9}, 3).to(cuda);
  const auto all = engine::linear_grad(dy, x, w, true, true, true, true);
  CHECK(same_bits(engine::linear_grad(dy, x, w, false, true, false, true).dweight, all.dweight));
  CHECK(same_bits(engine::linear_grad(dy, x, w, false, false, true, true).dbias, all.dbias));
}

TEST_CASE("a layer's gradients are written to their places, those of bf16 unrounded", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    INFO(engine::name_of(dtype));
    const Tensor x = random({33, 20}, 1, dtype).to(cuda), w = random({9, 20}, 2, dtype).to(cuda),
                 dy = random({33, 9}, 3, dtype).to(cuda);
    const engine::LinearPlaces places{Tensor::empty({9, 20}, DType::f32, cuda), Tensor::empty({9}, DType::f32, cuda)};
    const auto got = engine::linear_grad(dy, x, w, false, true, true, true, places);
    CHECK(got.dweight.raw() == places.dweight.raw());
    CHECK(got.dbias.raw() == places.dbias.raw());
    const auto want = engine::linear_grad(dy, x, w, false, true, true, true);
    CHECK(want.dweight.dtype() == dtype);
    CHECK(same_bits(got.dweight.to(dtype), want.dweight));
    CHECK(same_bits(got.dbias.to(dtype), want.dbias));
    const auto exact =
        engine::linear_grad(dy.to(DType::f64), x.to(DType::f64), w.to(DType::f64), false, true, true, true);
    CHECK(relative_distance(got.dweight, exact.dweight) < 1e-6);
    CHECK(relative_distance(got.dbias, exact.dbias) < 1e-6);
    // One place for two gradients that are one product: neither is written there.
    const auto apart = engine::linear_grad(dy, x, w, false, true, true, true, {places.dweight, {}});
    CHECK(apart.dweight.raw() != places.dweight.raw());
    CHECK(same_bits(apart.dweight, want.dweight));
  }
}

TEST_CASE("a bias's gradient by itself: packs, rows in chunks, rows with gaps", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const DType dtype : {DType::bf16, DType::f32, DType::f64})
    for (const auto& [rows, width] : {std::pair{1, 1}, {3, 515}, {64, 8}, {65, 256}, {1030, 77}, {9000, 40}}) {
      CAPTURE(engine::name_of(dtype), rows, width);
      const Tensor dy = random({rows, width}, 1, dtype), exact = engine::sum(dy.to(DType::f64), {0}, false);
      const Tensor gaps = engine::padded_rows({rows, width}, dtype, cuda);
      engine::copy_inplace(gaps, dy.to(cuda));
      const Tensor x = random({rows, 8}, 2, dtype).to(cuda), w = random({width, 8}, 3, dtype).to(cuda);
      const DType kept = dtype == DType::f64 ? dtype : DType::f32;
      const engine::LinearPlaces places{Tensor::empty({width, 8}, kept, cuda), Tensor::empty({width}, kept, cuda)};
      const auto got = engine::linear_grad(dy.to(cuda), x, w, false, true, true, true, places);
      CHECK(relative_distance(got.dbias, exact) < (dtype == DType::f64 ? 1e-14 : 2e-6));
      CHECK(same_bits(engine::linear_grad(gaps, x, w, false, false, true, true).dbias.to(dtype), got.dbias.to(dtype)));
    }
}

TEST_CASE("logits of an odd width are padded rows, which products take as aligned ones", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  // Set for layers-without-alignments: unaligned rows are then refused, and in bf16 extents that are no multiples of 8.
  const char* const refused = std::getenv("HEADROOM_CUDA_REFUSES");
  const bool are_refused = refused && refused == std::string("alignments");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    INFO(engine::name_of(dtype));
    const double bound = dtype == DType::f32 ? 1e-6 : 8e-3;
    const Room of_w(random({67, 24}, 2, dtype)), of_bias(random({67}, 3, dtype)), of_dw(Tensor::zeros({67, 24})),
        of_db(Tensor::zeros({67}));
    const Tensor x = random({2, 36, 24}, 1, dtype).to(cuda), w = of_w.matrix.clone(), bias = of_bias.matrix.clone(),
                 added = random({2, 36, 24}, 5, dtype).to(cuda);
    Tensor y, y_packed;
    CHECK(count_of("plain product", [&] { y = engine::linear(x, of_w.matrix, of_bias.matrix, true); }) == 0);
    CHECK(count_of("plain product", [&] { y_packed = engine::linear(x, w, bias); }) == (are_refused ? 1 : 0));
    CHECK(y.row_stride() == (dtype == DType::f32 ? 68 : 72));
    CHECK(relative_distance(y, y_packed) < bound);
    const Tensor dy_packed = random({2, 36, 67}, 4, dtype).to(cuda),
                 dy = engine::padded_rows({2, 36, 67}, dtype, cuda, true),
                 gaps = dy.as_rows().with_padding(72, engine::padded_width(67, dtype), true);
    engine::copy_inplace(gaps, Tensor::zeros(gaps.shape(), dtype, cuda));
    engine::copy_inplace(dy, dy_packed);
    engine::LinearGrad got, want;
    const engine::LinearPlaces places{of_dw.matrix, of_db.matrix};
    CHECK(count_of("plain product",
                   [&] { got = engine::linear_grad(dy, x, of_w.matrix, true, true, true, true, places, added); }) == 0);
    CHECK(count_of("plain product", [&] {
            want = engine::linear_grad(dy_packed, x, w, true, true, true, true, {}, added);
          }) == (are_refused ? 2 : 0));
    CHECK(got.dweight.raw() == of_dw.matrix.raw());
    CHECK(relative_distance(got.dx, want.dx) < bound);
    CHECK(relative_distance(got.dweight, want.dweight) < bound);
    CHECK(relative_distance(got.dbias, want.dbias) < bound);
    for (const Room* room : {&of_w, &of_bias, &of_dw, &of_db}) CHECK(room->is_intact());
    CHECK(engine::linear(x.slice(1, 0, 1).slice(0, 0, 1), w, bias, true).is_contiguous());
    CHECK(engine::linear(x, w.slice(0, 0, 63), {}, true).is_contiguous());
  }
}

TEST_CASE("SwiGLU's hidden values of an odd width stay padded rows between products", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const DType dtype : {DType::f32, DType::bf16}) {
    INFO(engine::name_of(dtype));
    const int64_t wide = engine::padded_width(67, dtype);
    const Room gate(random({67, 24}, 1, dtype)), up(random({67, 24}, 2, dtype));
    const Tensor x = random({2, 36, 24}, 3, dtype).to(cuda), down = random({24, 67}, 4, dtype).to(cuda),
                 dy = random({2, 36, 24}, 5, dtype).to(cuda);
    // A matrix as an arena holds one of padded rows.
    const auto with_gaps = [&](DType kept) {
      const Tensor whole = Tensor::zeros({24, wide}, kept, cuda);
      whole.declare_padding(67, wide, wide, true);
      return whole.slice(1, 0, 67);
    };
    const Tensor down_gaps = with_gaps(dtype), of_down_gaps = with_gaps(DType::f32);
    engine::copy_inplace(down_gaps, down);
    const auto run = [&](bool pads_rows) {
      const auto check = [&](const Tensor& hidden, bool has_zeros) {
        CHECK(hidden.row_stride() == (pads_rows ? wide : 67));
        if (!pads_rows || !has_zeros) return;
        const Tensor all = hidden.as_rows().with_padding(72, wide, true);  // (72, wide)
        REQUIRE(all.defined());
        CHECK(all.slice(1, 67, wide).to_vector<float>() ==
              std::vector<float>(static_cast<size_t>(72 * (wide - 67)), 0));
      };
      const Tensor g = engine::linear(x, gate.matrix, {}, pads_rows), u = engine::linear(x, up.matrix, {}, pads_rows);
      const Tensor h = engine::swiglu(g, u);  // (2, 36, 67)
      check(h, true);
      const Tensor w = pads_rows ? down_gaps : down, place = pads_rows ? of_down_gaps : Tensor();
      const Tensor y = engine::linear(h, w, {});
      const auto of_down = engine::linear_grad(dy, h, w, true, true, false, false, {place, {}});
      CHECK((!pads_rows || of_down.dweight.raw() == place.raw()));
      check(of_down.dx, false);
      const auto of_h = engine::swiglu_grad(of_down.dx, g, u, true, true);
      check(of_h.dgate, true);
      check(of_h.dup, true);
      const auto of_gate = engine::linear_grad(of_h.dgate, x, gate.matrix, true, true, false, false);
      const auto of_up = engine::linear_grad(of_h.dup, x, up.matrix, true, true, false, false, {}, of_gate.dx);
      return std::vector{y, of_down.dx, of_down.dweight.to(dtype), of_gate.dweight, of_up.dweight, of_up.dx};
    };
    std::vector<Tensor> got, want;
    CHECK(count_of("product: padded copy", [&] { got = run(true); }) == 0);
    want = run(false);
    for (size_t i = 0; i < want.size(); ++i)
      CHECK(relative_distance(got[i], want[i]) < (dtype == DType::f32 ? 1e-6 : 1e-2));
    CHECK(gate.is_intact());
    CHECK(up.is_intact());
  }
}

TEST_CASE("padding is what was declared, and nothing else", "[cuda]") {
  const Tensor whole = Tensor::zeros({40});
  whole.declare_padding(15, 20, 0, true);
  whole.declare_padding(30, 32, 0, false);
  const Tensor matrix = whole.slice(0, 0, 15).reshape({5, 3});
  CHECK(matrix.with_padding(5, 3, true).raw() == matrix.raw());
  CHECK(matrix.with_padding(6, 3, true).shape() == Shape{6, 3});
  CHECK_FALSE(matrix.with_padding(7, 3, true).defined());                 // six elements
  CHECK_FALSE(matrix.with_padding(5, 4, true).defined());                 // columns
  CHECK_FALSE(matrix.slice(0, 0, 4).with_padding(5, 3, true).defined());  // ends before it
  CHECK_FALSE(matrix.slice(1, 0, 2).with_padding(6, 2, true).defined());  // does not end where the rows do
  CHECK_FALSE(matrix.transpose(0, 1).with_padding(3, 6, true).defined());
  const Tensor other = whole.slice(0, 20, 30).reshape({5, 2});
  CHECK(other.with_padding(6, 2, false).dim(0) == 6);
  CHECK_FALSE(other.with_padding(6, 2, true).defined());  // anything may be there
  const Tensor rows = Tensor::zeros({3, 8});
  rows.declare_padding(6, 8, 8, true);
  CHECK(rows.slice(1, 0, 6).with_padding(3, 8, true).shape() == Shape{3, 8});
  CHECK(rows.slice(1, 2, 6).slice(0, 1, 3).with_padding(2, 6, true).raw() == rows.slice(1, 2, 6).slice(0, 1, 3).raw());
  CHECK_FALSE(rows.slice(1, 0, 6).with_padding(3, 9, true).defined());
  CHECK_FALSE(rows.slice(1, 0, 5).with_padding(3, 8, true).defined());
  CHECK_FALSE(rows.slice(1, 0, 6).with_padding(4, 6, true).defined());
}

TEST_CASE("long products in bf16 take copies with extents of whole packs", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const auto near = [](const Tensor& got, const Tensor& a, const Tensor& b, bool transpose_a, bool transpose_b,
                       const Tensor& added) {
    const auto exact = [](const Tensor& x) { return x.defined() ? x.to(engine::cpu).to(DType::f32) : Tensor(); };
    return relative_distance(got, engine::matmul(exact(a), exact(b), transpose_a, transpose_b, exact(added))) < 8e-3;
  };
  const auto made = [](int64_t rows, int64_t columns, uint64_t seed) {
    return random({rows, columns}, seed, DType::bf16).to(cuda);
  };
  constexpr int64_t m = 401, n = 397, k = 1027;
  const Tensor added = made(m, n, 9);
  for (const bool transpose_a : {false, true})
    for (const bool transpose_b : {false, true})
      for (const bool adds : {false, true}) {
        CAPTURE(transpose_a, transpose_b, adds);
        const Tensor a = transpose_a ? made(k, m, 1) : made(m, k, 1), b = transpose_b ? made(n, k, 2) : made(k, n, 2);
        const Tensor more = adds ? added : Tensor();
        Tensor got;
        CHECK(count_of("product: padded copy", [&] { got = engine::matmul(a, b, transpose_a, transpose_b, more); }) ==
              (adds ? 4 : 3));
        CHECK(near(got, a, b, transpose_a, transpose_b, more));
        // The same matrices, stored the other way round.
        const Tensor turned = engine::matmul(a.transpose(0, 1), b.transpose(0, 1), !transpose_a, !transpose_b, more);
        CHECK(same_bits(turned, got));
      }
  const Tensor x = made(m, k, 1), w = made(n, k, 2), bias = random({n}, 3, DType::bf16).to(cuda);
  CHECK(near(engine::linear(x, w, bias), x, w, false, true, bias.expand({m, n}).contiguous()));
  const Tensor place = Tensor::full({261, k}, 7, DType::f32, cuda);
  const Tensor tall = made(1 << 10, 261, 5), input = made(1 << 10, k, 6);
  CHECK(count_of("product: padded copy", [&] {
          engine::linear_grad(tall, input, w, false, true, false, false, {place, {}});
        }) == 3);
  CHECK(near(place, tall, input, true, false, {}));
  // Many rows are worth it even of few columns: those of a real-valued token.
  const Tensor token = made(1 << 10, 3, 7), wide = made(1 << 10, 64, 8);
  engine::LinearGrad got;
  CHECK(count_of("product: padded copy",
                 [&] { got = engine::linear_grad(wide, token, made(64, 3, 9), false, true, false, false); }) == 2);
  CHECK(near(got.dweight, wide, token, true, false, {}));
  CHECK(count_of("product: padded copy", [&] { engine::matmul(made(64, 133, 1), made(133, 65, 2)); }) == 0);  // short
}

TEST_CASE("a product adds what it is given", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int64_t k : {7, 0}) {
      const Tensor a = random({2, 5, k}, 1, dtype), b = random({k, 6}, 2, dtype), added = random({2, 5, 6}, 3, dtype);
      const Tensor want = engine::matmul(a, b, false, false, added);
      CHECK(relative_distance(want, engine::add(engine::matmul(a, b), added)) == 0);
      CHECK(relative_distance(engine::matmul(a.to(cuda), b.to(cuda), false, false, added.to(cuda)), want) < 1e-6);
    }
  CHECK(error_of([&] {
          engine::matmul(random({5, 7}, 1), random({7, 6}, 2), false, false, random({6}, 3));
        }).find("matmul: added (6) does not fit y (5, 6)") != std::string::npos);
}

TEST_CASE("stacks of matrices are read where they lie", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor x = random({3, 4, 5, 6}, 1);  // as (B, T, H, d), heads to be the stack
  const auto product = [](const Tensor& of) {
    const Tensor heads = of.permute({0, 2, 1, 3});     // (B, H, T, d)
    return engine::matmul(heads, heads, false, true);  // (B, H, T, T)
  };
  CHECK(relative_distance(product(x.to(cuda)), product(x)) < 1e-6);
  const Tensor columns = random({6, 8}, 2).slice(1, 2, 7);  // rows with a gap
  CHECK(relative_distance(engine::matmul(x.to(cuda), columns.to(cuda)), engine::matmul(x, columns)) < 1e-6);
}

TEST_CASE("TF32 is off unless it is asked for", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor a = random({16, 64}, 1), b = random({64, 16}, 2), want = engine::matmul(a, b);
  CHECK(relative_distance(engine::matmul(a.to(cuda), b.to(cuda)), want) < 1e-6);
  const engine::Tf32Scope scope;
  const double error = relative_distance(engine::matmul(a.to(cuda), b.to(cuda)), want);
  CHECK(error < 2e-3);
  // cuBLASLt may, and need not, round the operands of so small a product.
  if (engine::cuda_status().starts_with("Emulated")) CHECK(error > 1e-5);
  CHECK(relative_distance(engine::matmul(a, b), want) == 0);
}

TEST_CASE("quantised rows have the CPU's bits on the GPU", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const Tensor indices = Tensor::from<int64_t>({4}, {2, 0, 2, 1});
  for (const BlockFormat format : engine::block_formats) {
    INFO(engine::traits_of(format).name);
    const QuantizedMatrix w = autograd::op_suite::random_blocks("rows on CUDA", format, 3, 512);
    const Tensor got = engine::quantized_rows(w.to(cuda), indices.to(cuda), DType::f32);
    CHECK(same_bits(got, engine::quantized_rows(w, indices, DType::f32)));
    CHECK(same_bits(w.to(cuda).dequantize(), w.dequantize()));
  }
}

TEST_CASE("quantised products of few and of many rows agree with the CPU's", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  for (const BlockFormat format : engine::block_formats)
    for (const int64_t rows : {1, 3, 8, 9})
      for (const bool is_int8 : {false, true}) {
        INFO(engine::traits_of(format).name << ", " << rows << " rows, int8 " << is_int8);
        const engine::ActivationsScope scope(is_int8 ? engine::Activations::int8 : engine::Activations::exact);
        const QuantizedMatrix w = autograd::op_suite::random_blocks("products on CUDA", format, 71, 768);
        const Tensor x = random({rows, 768}, 1), bias = random({71}, 2);
        const Tensor want = engine::quantized_linear(x, w, bias);
        const QuantizedMatrix there = w.to(cuda);
        CHECK(relative_distance(engine::quantized_linear(x.to(cuda), there, bias.to(cuda)), want) < 2e-6);
        // What begins where no word does: all rows but the first, and x one number further on.
        const Tensor shifted = random({rows * 768 + 1}, 3).slice(0, 1, rows * 768 + 1).reshape({rows, 768});
        const Tensor rest = engine::quantized_linear(shifted.contiguous(), w.rows_between(1, 71), {});
        const Tensor got = engine::quantized_linear(shifted.to(cuda), there.rows_between(1, 71), {});
        CHECK(relative_distance(got, rest) < 2e-6);
      }
}

TEST_CASE("a product with 8-bit activations is NaN where a block of them is not finite", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const engine::ActivationsScope scope(engine::Activations::int8);
  std::vector<float> numbers(512, 0.5f);
  numbers[40] = -INFINITY;
  for (size_t i = 256; i < 288; ++i) numbers[i] = 1e-35f;  // a block that counts as zeros
  const Tensor x = Tensor::from<float>({2, 256}, numbers);
  for (const BlockFormat format : {BlockFormat::q8_0, BlockFormat::q4_0, BlockFormat::q4_k, BlockFormat::q6_k}) {
    const QuantizedMatrix w = autograd::op_suite::random_blocks("not finite", format, 3, 256);
    const auto y = engine::quantized_linear(x.to(cuda), w.to(cuda), {}).to_vector<float>();
    const auto want = engine::quantized_linear(x, w, {}).to_vector<float>();
    for (size_t o = 0; o < 3; ++o) {
      CHECK(std::isnan(y[o]));
      CHECK(std::abs(y[3 + o] - want[3 + o]) <= 1e-5f * std::abs(want[3 + o]) + 1e-4f);
    }
  }
}

TEST_CASE("a row that is not there is NaN on the GPU, and a matrix elsewhere is refused", "[cuda]") {
  if (!engine::has_device(Device::Kind::cuda)) return testing::skip("no CUDA device");
  const QuantizedMatrix w = autograd::op_suite::random_blocks("bad rows", BlockFormat::q4_1, 2, 32);
  const Tensor indices = Tensor::from<int64_t>({3}, {1, 2, -1}).to(cuda);
  const auto rows = engine::quantized_rows(w.to(cuda), indices, DType::f32).to_vector<float>();
  CHECK(std::isfinite(rows[0]));
  CHECK(std::isnan(rows[32]));
  CHECK(std::isnan(rows[64]));
  const std::string error = error_of([&] { engine::quantized_linear(random({1, 32}, 1).to(cuda), w, {}); });
  CHECK(error.find("different devices") != std::string::npos);
  CHECK(error.find("q4_1 (2, 32) on cpu") != std::string::npos);
  CHECK_FALSE(error_of([&] { engine::quantized_rows(w, indices, DType::f32); }).empty());
}
