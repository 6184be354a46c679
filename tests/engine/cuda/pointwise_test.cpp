// What tensors themselves need of a GPU: conversions, fills, random values, copies; and elementwise kernels where packs
// of 16 bytes end, begin unaligned, or do not fit an operand. The ops' mathematics is checked by the op suite.
#include <bit>
#include <cmath>
#include <limits>

#include "autograd/op_suite/data.h"
#include "engine/context.h"
#include "engine/ops/dropout/dropout.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/comparison.h"
#include "engine/ops/rope/rope.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using namespace headroom::engine;

constexpr Device cuda{Device::Kind::cuda, 0};
constexpr DType every[] = {DType::f32, DType::bf16, DType::f16, DType::f64,    DType::i64,
                           DType::i32, DType::i8,   DType::u8,  DType::boolean};

bool no_gpu() {
  if (has_device(Device::Kind::cuda)) return false;
  testing::skip("no CUDA device");
  return true;
}

/// Same shape, dtype and bytes, those of a NaN aside; a is on the GPU.
bool same_bits(const Tensor& a, const Tensor& b) {
  return a.device() == cuda && autograd::op_suite::compare_bits(a, b).empty();
}

/// Numbers of every kind, at the limits of some dtype and beyond.
std::vector<double> hard_numbers(size_t n) {
  const double inf = std::numeric_limits<double>::infinity();
  const std::vector<double> some{0,     -0.0,  1,      -1,  0.5,   -2.5, 127,   128,    -129,  255,  256,
                                 3e4,   65504, 65520,  1e5, 2.2e9, -3e9, 1e19,  -1e19,  1e-8,  6e-8, 3e-5,
                                 1e-40, 1e300, -1e300, inf, -inf,  NAN,  1.001, 1.0039, 33.25, 7,    2049};
  std::vector<double> values;
  for (size_t i = 0; i < n; ++i) values.push_back(some[i % some.size()]);
  return values;
}

}  // namespace

TEST_CASE("a GPU converts every dtype to every other with the CPU's bits") {
  if (no_gpu()) return;
  for (const DType from : every)
    for (const DType to : every) {
      if (from == to) continue;
      INFO(name_of(from) << " to " << name_of(to));
      for (const int64_t n : {1, 33, 300}) {
        const Tensor x = Tensor::from({n}, hard_numbers(static_cast<size_t>(n))).to(from);
        CHECK(same_bits(x.to(cuda).to(to), x.to(to)));
      }
      const auto view = [](const Tensor& t) { return t.slice(0, 1, 133).reshape({11, 12}).transpose(0, 1); };
      const Tensor x = Tensor::from({300}, hard_numbers(300)).to(from);
      CHECK(same_bits(view(x.to(cuda)).to(to), view(x).to(to)));
      CHECK(same_bits(x.to(cuda).slice(0, 3, 203).to(to), x.slice(0, 3, 203).to(to)));
      CHECK(same_bits(x.slice(0, 1, 2).to(cuda).expand({7, 16}).to(to), x.slice(0, 1, 2).expand({7, 16}).to(to)));
    }
}

/// What PTX's cvt.rn.bf16.f32 gives: of the two bf16 around x the nearer, the even one of equally near ones, 2^128
/// being infinity; 0x7fff for a NaN.
uint16_t nearest_bf16(float x) {
  const auto bits = std::bit_cast<uint32_t>(x);
  if (std::isnan(x)) return 0x7fff;
  if (std::isinf(x)) return static_cast<uint16_t>(bits >> 16);
  const auto below = static_cast<uint16_t>(bits >> 16), above = static_cast<uint16_t>(below + 1);  // by magnitude
  const auto magnitude = [](uint16_t of) {
    const uint32_t exponent = (of >> 7) & 0xffu, fraction = of & 0x7fu;
    return exponent == 0 ? std::ldexp(double(fraction), -133) : std::ldexp(double(fraction + 128), int(exponent) - 134);
  };
  const double value = std::fabs(double(x)), down = value - magnitude(below), up = magnitude(above) - value;
  return down < up || (down == up && below % 2 == 0) ? below : above;
}

TEST_CASE("a GPU rounds f32 to bf16 as cvt.rn.bf16.f32 is defined") {
  if (no_gpu()) return;
  // Every upper half, with lower halves around a tie.
  std::vector<float> x;
  for (uint32_t upper = 0; upper < 65536; ++upper)
    for (const uint32_t lower : {0u, 1u, 0x7fffu, 0x8000u, 0x8001u, 0xffffu})
      x.push_back(std::bit_cast<float>(upper << 16 | lower));
  const Tensor given = Tensor::from({static_cast<int64_t>(x.size())}, x).to(cuda);
  const Tensor got = given.to(DType::bf16).to(cpu);
  size_t wrong = 0;
  for (size_t i = 0; i < x.size(); ++i) wrong += got.data<bf16>()[i].bits != nearest_bf16(x[i]);
  CHECK(wrong == 0);
}

TEST_CASE("a NaN is the same whatever its bits, and no number") {
  if (no_gpu()) return;
  // A GPU's conversions and arithmetic give the first, x86's the second.
  const Tensor gpu = Tensor::from<float>({2}, {1, std::bit_cast<float>(0x7fffffffu)}),
               x86 = Tensor::from<float>({2}, {1, std::bit_cast<float>(0x7fc00000u)});
  CHECK(same_bits(gpu.to(cuda), x86));
  CHECK(same_bits(gpu.to(DType::f16).to(cuda), x86.to(DType::f16)));
  CHECK_FALSE(same_bits(gpu.to(cuda), Tensor::from<float>({2}, {1, 1})));
  CHECK_FALSE(same_bits(Tensor::from<float>({2}, {1, 1}).to(cuda), x86));
  CHECK_FALSE(same_bits(Tensor::from<float>({1}, {0.0f}).to(cuda), Tensor::from<float>({1}, {-0.0f})));
}

TEST_CASE("a GPU fills tensors of every dtype and size") {
  if (no_gpu()) return;
  for (const DType dtype : every)
    for (const Shape& shape : {Shape{}, {0}, {1}, {3, 5}, {16}, {17}, {5, 1031}})
      for (const double value : {0.0, 1.0, -3.7, 1e9}) {
        INFO(name_of(dtype) << " " << shape.str() << " " << value);
        CHECK(same_bits(Tensor::full(shape, value, dtype, cuda), Tensor::full(shape, value, dtype)));
      }
}

TEST_CASE("random fills on a GPU have the CPU's bits") {
  if (no_gpu()) return;
  const RngKey key{0x123456789abcdef0u, 9, 12};
  for (const Shape& shape : {Shape{}, {0}, {1}, {7}, {3, 1033}})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor uniform = random_uniform(shape, -0.3, 1.7, key, dtype),
                   tight = random_uniform(shape, 100, 100.0001, key, dtype),
                   normal = random_normal(shape, 2, 0.02, key, dtype), integers = random_integers(shape, -5, 1000, key);
      const DeviceScope scope(cuda);
      CHECK(same_bits(random_uniform(shape, -0.3, 1.7, key, dtype), uniform));
      CHECK(same_bits(random_uniform(shape, 100, 100.0001, key, dtype), tight));
      CHECK(same_bits(random_normal(shape, 2, 0.02, key, dtype), normal));
      CHECK(same_bits(random_integers(shape, -5, 1000, key), integers));
    }
}

TEST_CASE("a key's base is read on the GPU, when the values are made") {
  if (no_gpu()) return;
  const Tensor start = Tensor::full({1}, 40, DType::i64, cuda);
  const RngKey here{7, 3, 48};
  RngKey there{7, 3, 8};
  there.base = reinterpret_cast<const uint64_t*>(start.data<int64_t>());
  const Tensor x = random_normal({2, 1031}, 0, 1, RngKey{1, 2, 0});
  CHECK(same_bits(dropout(x.to(cuda), 0.3, there), dropout(x, 0.3, here)));
  const Tensor apart = x.reshape({2062}).slice(0, 1, 2000);  // packs do not begin here
  CHECK(same_bits(dropout(x.to(cuda).reshape({2062}).slice(0, 1, 2000), 0.3, there), dropout(apart, 0.3, here)));
  const Tensor uniform = random_uniform({101}, 0, 1, here), normal = random_normal({101}, 0, 1, here);
  const DeviceScope scope(cuda);
  CHECK(same_bits(random_uniform({101}, 0, 1, there), uniform));
  const std::vector<double> got = random_normal({101}, 0, 1, there).to_vector<double>(),
                            want = normal.to_vector<double>();
  for (size_t i = 0; i < want.size(); ++i) CHECK(got[i] == Approx(want[i]).epsilon(1e-6));
  copy_inplace(start, Tensor::full({1}, 0, DType::i64, cuda));
  CHECK_FALSE(same_bits(random_uniform({101}, 0, 1, there), uniform));
  CHECK(testing::error_of([&] { dropout(x.to(cuda), 0.3, RngKey{1, 2, 6}); }).find("offset 6") != std::string::npos);
}

TEST_CASE("elementwise kernels write nothing beside their results, whatever their place in memory") {
  if (no_gpu()) return;
  for (const int64_t n : {1, 7, 64, 1027})
    for (const int64_t begin : {0, 1, 2, 4, 8})
      for (const DType dtype : {DType::f32, DType::bf16, DType::f64}) {
        INFO(n << " elements from " << begin << ", " << name_of(dtype));
        const Tensor x = random_normal({n}, 0, 1, RngKey{3, 1, 0}).to(dtype);
        const Tensor all = Tensor::full({n + 16}, 9, dtype, cuda), y = all.slice(0, begin, begin + n);
        copy_inplace(y, x.to(cuda));
        add_inplace(y, x.to(cuda));
        CHECK(same_bits(y, add(x, x)));
        CHECK(same_bits(all.slice(0, 0, begin), Tensor::full({begin}, 9, dtype)));
        CHECK(same_bits(all.slice(0, begin + n, n + 16), Tensor::full({16 - begin}, 9, dtype)));
      }
}

TEST_CASE("an operand added to its own other half is read before it is written") {
  if (no_gpu()) return;
  const Tensor x = random_normal({300}, 0, 1, RngKey{5, 1, 0});
  const auto added = [](const Tensor& t) {
    add_inplace(t.slice(0, 1, 201), t.slice(0, 0, 200));
    return t;
  };
  CHECK(same_bits(added(x.to(cuda).clone()), added(x.clone())));
}

TEST_CASE("broadcast operands with axes that packs fit, and with others") {
  if (no_gpu()) return;
  const auto x = [](const Shape& shape) { return random_normal(shape, 0, 1, RngKey{4, 2, 0}); };
  for (const auto& [a, b] : std::vector<std::pair<Shape, Shape>>{{{6, 5, 32}, {32}},
                                                                 {{6, 5, 32}, {5, 1}},
                                                                 {{6, 1, 32}, {5, 1}},
                                                                 {{6, 5, 31}, {6, 1, 31}},
                                                                 {{4, 1, 8, 1, 16}, {1, 3, 1, 2, 16}},
                                                                 {{2, 1, 2, 1, 2, 1, 2, 8}, {1, 3, 1, 3, 1, 3, 1, 8}},
                                                                 {{}, {1000}}})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      INFO(a.str() << " and " << b.str() << ", " << name_of(dtype));
      const Tensor p = x(a).to(dtype), q = x(b).to(dtype);
      CHECK(same_bits(sub(p.to(cuda), q.to(cuda)), sub(p, q)));
      CHECK(same_bits(less(p.to(cuda), q.to(cuda)), less(p, q)));
      // Rows that begin where packs do, but end within one.
      const auto cut = [](const Tensor& t) { return t.rank() > 0 && t.dim(-1) == 32 ? t.slice(-1, 0, 30) : t; };
      CHECK(same_bits(sub(cut(p.to(cuda)), cut(q.to(cuda))), sub(cut(p), cut(q))));
      CHECK(same_bits(cut(p.to(cuda)).clone(), cut(p)));
      const int last = p.rank() - 1;
      if (last < 1) continue;
      const auto turned = [&](const Tensor& t) { return t.transpose(0, last).clone().transpose(0, last); };
      CHECK(same_bits(sub(turned(p.to(cuda)), q.to(cuda)), sub(p, q)));
    }
}

TEST_CASE("a rotary table is made where the positions are") {
  if (no_gpu()) return;
  const Tensor positions = Tensor::from<int64_t>({2, 3}, {0, 5, -7, 1000000, 3, 12});
  for (const bool interleaved : {false, true})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor want = rope_table(positions, rope_frequencies(12, 1e4), interleaved, dtype).angles;
      const Tensor got = rope_table(positions.to(cuda), rope_frequencies(12, 1e4), interleaved, dtype).angles;
      CHECK(got.device() == cuda);
      REQUIRE(got.shape() == want.shape());
      const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
      for (size_t i = 0; i < b.size(); ++i) CHECK(a[i] == Approx(b[i]).margin(1e-7));
    }
}
