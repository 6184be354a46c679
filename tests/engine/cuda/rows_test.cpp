// Row kernels and reductions on the GPU where the op suite's shapes do not reach: several blocks per result, widths
// around a warp's, a block's and a pack's edges, rows whose squares overflow, and what kernels do with bad values.
#include <algorithm>
#include <cmath>

#include "engine/context.h"
#include "engine/ops/argmax/argmax.h"
#include "engine/ops/cross_entropy/cross_entropy.h"
#include "engine/ops/kl_divergence/kl_divergence.h"
#include "engine/ops/layer_norm/layer_norm.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "engine/ops/max/max.h"
#include "engine/ops/min/min.h"
#include "engine/ops/rms_norm/rms_norm.h"
#include "engine/ops/rows/padded_rows.h"
#include "engine/ops/softmax/softmax.h"
#include "engine/ops/sum/sum.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/engine/cuda/gpu.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

namespace {

using namespace headroom;
using engine::Device;
using engine::DType;
using engine::Shape;
using engine::Tensor;

using testing::gpu;
using testing::has_gpu;
using testing::relative_distance;

Tensor normal(const Shape& shape, uint64_t seed = 1) {
  return engine::random_normal(shape, 0, 1, {seed, 0, 0}, DType::f64);
}

bool same_bits(const Tensor& a, const Tensor& b) { return a.to_vector<double>() == b.to_vector<double>(); }

/// x in `dtype` on the GPU, one element into its storage: no pack of it is aligned.
Tensor shifted(const Tensor& x) {
  const Tensor view = Tensor::zeros({x.numel() + 1}, x.dtype(), x.device()).slice(0, 1, x.numel() + 1);
  engine::copy_inplace(view, x.reshape({x.numel()}));
  return view.reshape(x.shape());
}

constexpr double bound(DType dtype) { return dtype == DType::f64 ? 1e-13 : dtype == DType::f32 ? 2e-6 : 1.0 / 128; }

}  // namespace

TEST_CASE("sums of few results over many terms, along any axis, and their bits wherever the tensor lies") {
  if (!has_gpu()) return;
  const engine::ReferenceScope reference;
  for (const auto& [shape, axes] : {std::pair<Shape, std::vector<int>>{{40009}, {}},
                                    {{3, 16384}, {1}},
                                    {{3, 8193}, {1}},
                                    {{8193, 3}, {0}},
                                    {{1031, 36}, {0}},
                                    {{2, 259, 40}, {1}},
                                    {{2, 259, 40}, {0, 2}},
                                    {{600, 40}, {1}},
                                    {{5, 1024}, {1}},
                                    {{17, 3, 5}, {1}}})
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      CAPTURE(shape.str(), engine::name_of(dtype));
      const Tensor x = normal(shape).to(dtype), on_gpu = x.to(gpu);
      const Tensor got = engine::sum(on_gpu, axes, false);
      const Tensor want = engine::sum(x.to(DType::f64), axes, false);
      CHECK(relative_distance(got, want) < bound(dtype));
      CHECK(same_bits(engine::sum(shifted(on_gpu), axes, false), got));
    }
}

TEST_CASE("extrema of long rows: the first of equal ones over all chunks, the first NaN") {
  if (!has_gpu()) return;
  std::vector<float> values(3 * 20001);
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 977);
  values[20001 + 19999] = NAN;
  values[20001 + 8192] = NAN;
  values[2 * 20001 + 16390] = 5000;
  values[2 * 20001 + 20000] = 5000;
  for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
    const Tensor on_cpu = Tensor::from<float>({3, 20001}, values).to(dtype).to(DType::f32);
    const Tensor x = on_cpu.to(dtype).to(gpu);
    const auto [y, index] = engine::max(x, {1}, false);
    const auto [y_want, index_want] = engine::max(on_cpu, {1}, false);
    CHECK((index.to_vector<int64_t>() == index_want.to_vector<int64_t>()));
    CHECK(index.to_vector<int64_t>()[1] == 8192);
    CHECK(relative_distance(y, y_want) == 0);
    CHECK((engine::min(x, {1}, false).index.to_vector<int64_t>() ==
           engine::min(on_cpu, {1}, false).index.to_vector<int64_t>()));
    CHECK(engine::argmax(x.slice(0, 2, 3)).item() == 16390);
  }
}

TEST_CASE("softmax, its logarithm and gradients at widths around a warp's and a block's") {
  if (!has_gpu()) return;
  const engine::ReferenceScope reference;
  for (const int64_t n : {31, 32, 33, 1023, 1024, 1025, 1028, 4099})
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      CAPTURE(n, engine::name_of(dtype));
      const Tensor x = normal({3, n}).to(dtype), dy = normal({3, n}, 2).to(dtype);
      const Tensor y = engine::softmax(x.to(gpu)), logs = engine::log_softmax(x.to(gpu));
      const Tensor wide = x.to(DType::f64), wide_dy = dy.to(DType::f64);
      CHECK(relative_distance(y, engine::softmax(wide)) < bound(dtype));
      CHECK(relative_distance(logs, engine::log_softmax(wide)) < bound(dtype));
      CHECK(relative_distance(engine::softmax_grad(dy.to(gpu), y),
                              engine::softmax_grad(wide_dy, y.to(engine::cpu).to(DType::f64))) < 2 * bound(dtype));
      CHECK(relative_distance(engine::log_softmax_grad(dy.to(gpu), logs),
                              engine::log_softmax_grad(wide_dy, logs.to(engine::cpu).to(DType::f64))) <
            2 * bound(dtype));
      CHECK(same_bits(engine::softmax(shifted(x.to(gpu))), y));
    }
}

TEST_CASE("softmax of rows with infinities and NaN is what it is on the CPU") {
  if (!has_gpu()) return;
  const float inf = HUGE_VALF;
  const Tensor x = Tensor::from<float>({5, 3}, {1, -inf, 2, -inf, -inf, -inf, 1, inf, 2, 1, NAN, 2, -inf, -inf, 3});
  CHECK(relative_distance(engine::softmax(x.to(gpu)), engine::softmax(x)) < 1e-6);
}

TEST_CASE("norms of rows whose squares leave the dtype's range") {
  if (!has_gpu()) return;
  for (const int64_t n : {7, 64, 1030})
    for (const double size : {1e-36, 1e-30, 1.0, 1e25, 1e37})
      for (const double eps : {0.0, 1e-5}) {
        CAPTURE(n, size, eps);
        const Tensor x = engine::random_uniform({3, n}, 0.2 * size, size, {5, 0, 0}, DType::f64).to(DType::f32);
        const Tensor w = normal({n}, 3).to(DType::f32), b = normal({n}, 4).to(DType::f32);
        const auto rms = engine::rms_norm(x.to(gpu), w.to(gpu), eps);
        const auto rms_want = engine::rms_norm(x.to(DType::f64), w.to(DType::f64), eps);
        CHECK(relative_distance(rms.y, rms_want.y) < 1e-5);
        CHECK(relative_distance(rms.inv_rms, rms_want.inv_rms) < 1e-5);
        const auto layer = engine::layer_norm(x.to(gpu), w.to(gpu), b.to(gpu), eps);
        const auto layer_want = engine::layer_norm(x.to(DType::f64), w.to(DType::f64), b.to(DType::f64), eps);
        CHECK(relative_distance(layer.y, layer_want.y) < 2e-5);
      }
  for (const double size : {1e-300, 1e200, 1e305}) {
    CAPTURE(size);
    const Tensor x = engine::random_uniform({2, 33}, 0.2 * size, size, {6, 0, 0}, DType::f64), w = normal({33});
    CHECK(relative_distance(engine::rms_norm(x.to(gpu), w.to(gpu), 0).y, engine::rms_norm(x, w, 0).y) < 1e-13);
    CHECK(relative_distance(engine::layer_norm(x.to(gpu), w.to(gpu), {}, 0).y, engine::layer_norm(x, w, {}, 0).y) <
          1e-12);
  }
}

TEST_CASE("gradients of norms' weights over many rows, and the dtype of what a norm saves") {
  if (!has_gpu()) return;
  for (const DType dtype : {DType::f32, DType::bf16}) {
    const Tensor x = normal({1031, 40}).to(dtype), dy = normal({1031, 40}, 2).to(dtype), w = normal({40}, 3).to(dtype);
    const auto y = engine::layer_norm(x.to(gpu), w.to(gpu), {}, 1e-5);
    CHECK(y.mean.dtype() == DType::f32);
    CHECK(y.inv_std.dtype() == DType::f32);
    const auto got = engine::layer_norm_grad(dy.to(gpu), x.to(gpu), w.to(gpu), y.mean, y.inv_std, true, true);
    const Tensor x64 = x.to(DType::f64), dy64 = dy.to(DType::f64), w64 = w.to(DType::f64);
    const auto y64 = engine::layer_norm(x64, w64, {}, 1e-5);
    const auto want = engine::layer_norm_grad(dy64, x64, w64, y64.mean, y64.inv_std, true, true);
    CHECK(relative_distance(got.dx, want.dx) < bound(dtype));
    CHECK(relative_distance(got.dweight, want.dweight) < bound(dtype));
    CHECK(relative_distance(got.dbias, want.dbias) < bound(dtype));
  }
}

TEST_CASE("cross_entropy of long rows, held in shared memory or read again, and of bf16 logits an f32 loss") {
  if (!has_gpu()) return;
  for (const auto& [n, dtype] : {std::pair{int64_t{2048}, DType::f32},
                                 {int64_t{4099}, DType::f32},
                                 {int64_t{4100}, DType::bf16},
                                 {int64_t{26000}, DType::f32},
                                 {int64_t{2050}, DType::f64}}) {
    CAPTURE(n, engine::name_of(dtype));
    const Tensor x = normal({4, n}).to(dtype), targets = Tensor::from<int64_t>({4}, {0, n - 1, -100, n / 2});
    const auto got = engine::cross_entropy(x.to(gpu), targets.to(gpu), true, -100, true);
    const auto want = engine::cross_entropy(x.to(DType::f64), targets, true, -100, true);
    CHECK(got.loss.dtype() == engine::statistic_dtype(dtype));
    CHECK(got.dlogits.dtype() == dtype);
    CHECK(relative_distance(got.loss, want.loss) < 2e-6);
    CHECK(relative_distance(got.dlogits, want.dlogits) < bound(dtype));
    const auto alone = engine::cross_entropy(x.to(gpu), targets.to(gpu), true, -100, false);
    CHECK(same_bits(alone.loss, got.loss));
  }
}

TEST_CASE("cross_entropy of padded rows: the numbers of packed ones, and zeros in the gaps") {
  if (!has_gpu()) return;
  for (const auto& [n, dtype] : {std::pair{int64_t{67}, DType::f32},
                                 {int64_t{65}, DType::bf16},
                                 {int64_t{4099}, DType::bf16},
                                 {int64_t{26001}, DType::f32},
                                 {int64_t{2051}, DType::f64}}) {
    CAPTURE(n, engine::name_of(dtype));
    const Tensor x = normal({2, 3, n}).to(dtype);
    const Tensor padded = engine::padded_rows(x.shape(), dtype, gpu);
    engine::copy_inplace(padded, x.to(gpu));
    for (const int64_t last : {n - 2, n}) {  // n: no class
      const Tensor scored = Tensor::from<int64_t>({2, 3}, {0, n - 1, -100, n / 2, 1, last});
      const auto got = engine::cross_entropy(padded, scored.to(gpu), true, -100, true);
      const auto want = engine::cross_entropy(x.to(gpu), scored.to(gpu), true, -100, true);
      CHECK(relative_distance(got.loss, want.loss) < 2e-6);
      CHECK(std::isnan(got.loss.item()) == (last == n));
      CHECK(relative_distance(got.dlogits, want.dlogits) < bound(dtype));
      const int64_t stride = got.dlogits.row_stride();
      REQUIRE(stride == engine::padded_width(n, dtype));
      const Tensor whole = Tensor::empty({6, stride}, dtype);
      engine::copy_bytes(engine::cpu, whole.mutable_raw(), gpu, got.dlogits.raw(),
                         static_cast<size_t>(whole.numel() * engine::size_of(dtype)));
      const auto gaps = whole.slice(1, n, stride).to_vector<double>();
      CHECK(std::all_of(gaps.begin(), gaps.end(), [](double v) { return v == 0; }));
      const Tensor factor = Tensor::full({}, -2.5, got.loss.dtype()).to(gpu);
      const auto scaled = engine::cross_entropy_grad(factor, got.dlogits);
      CHECK(scaled.shares_storage(got.dlogits));
      CHECK(relative_distance(scaled, engine::cross_entropy_grad(factor, want.dlogits)) < bound(dtype));
    }
  }
}

TEST_CASE("cross_entropy: a target that is no class gives NaN for its row alone") {
  if (!has_gpu()) return;
  const Tensor x = normal({3, 40}).to(DType::f32), targets = Tensor::from<int64_t>({3}, {1, 40, -1});
  const auto got = engine::cross_entropy(x.to(gpu), targets.to(gpu), false, -100, true);
  CHECK(std::isnan(got.loss.item()));
  const auto d = got.dlogits.to_vector<float>();
  CHECK(std::all_of(d.begin(), d.begin() + 40, [](float v) { return std::isfinite(v); }));
  CHECK(std::all_of(d.begin() + 40, d.end(), [](float v) { return std::isnan(v); }));
}

TEST_CASE("a loss's gradient times dy, where dy is 1 and where it is not") {
  if (!has_gpu()) return;
  for (const int64_t n : {7, 4096}) {
    const Tensor d = normal({3, n}).to(DType::f32);
    const auto times = [&](double dy) {
      return engine::cross_entropy_grad(Tensor::full({}, dy).to(gpu), d.to(gpu).clone());
    };
    CHECK(same_bits(times(1), d));
    CHECK(relative_distance(times(-2.5), engine::cross_entropy_grad(Tensor::full({}, -2.5), d)) < 1e-7);
  }
}

TEST_CASE("kl_divergence of long rows; equal logits give exactly 0") {
  if (!has_gpu()) return;
  const Tensor x = normal({5, 2051}).to(DType::f32), teacher = normal({5, 2051}, 2).to(DType::f32);
  const Tensor counted = Tensor::from<bool>({5}, {true, false, true, true, false});
  const auto got = engine::kl_divergence(x.to(gpu), teacher.to(gpu), counted.to(gpu), true, true);
  const auto want = engine::kl_divergence(x.to(DType::f64), teacher.to(DType::f64), counted, true, true);
  CHECK(relative_distance(got.loss, want.loss) < 2e-6);
  CHECK(relative_distance(got.dlogits, want.dlogits) < 4e-6);
  CHECK(engine::kl_divergence(x.to(gpu), x.to(gpu), {}, true, false).loss.item() == 0);
}
