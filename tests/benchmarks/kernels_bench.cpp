// kernels-bench: least microseconds of each op's f32 kernels on one thread, at sizes of a training step that stay in
// the second-level cache. Run it once per HEADROOM_ISA and divide: what a level gains over the one below.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <vector>

#include "engine/context.h"
#include "engine/isa.h"
#include "engine/ops/cross_entropy/cross_entropy.h"
#include "engine/ops/dropout/dropout.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/embedding/embedding.h"
#include "engine/ops/layer_norm/layer_norm.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/max/max.h"
#include "engine/ops/rms_norm/rms_norm.h"
#include "engine/ops/softmax/softmax.h"
#include "engine/ops/sum/sum.h"
#include "engine/ops/swiglu/swiglu.h"
#include "engine/ops/where/where.h"
#include "engine/rng.h"

namespace {

using namespace headroom::engine;

/// The least of many runs: what disturbs a run only adds to it.
void time(const char* name, const std::function<void()>& f) {
  using Clock = std::chrono::steady_clock;
  double least = 1e30;
  const auto begin = Clock::now();
  while (std::chrono::duration<double>(Clock::now() - begin).count() < 0.25) {
    const auto t = Clock::now();
    for (int i = 0; i < 8; ++i) f();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - t).count() / 8);
  }
  fmt::print("{:<20} {:10.3f}\n", name, least * 1e6);
}

}  // namespace

int main() {
  const ThreadScope one_thread(1);
  const ProductPathScope own(ProductPath::own);
  fmt::print("# {} {}, microseconds\n", cpu_name(), name_of(active_isa()));
  const auto normal = [](const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {seed, 0, 0}); };
  const Tensor x = normal({128, 256}, 1), dy = normal({128, 256}, 2), y = softmax(x);   // (rows, C)
  const Tensor positive = exp(x), w = normal({256}, 3), b = normal({256}, 4);           // (rows, C), (C)
  const Tensor ids = random_integers({128}, 0, 256, {5, 0, 0});                         // (rows)
  const Tensor tokens = random_integers({128}, 0, 64, {6, 0, 0});                       // (rows)
  const Tensor keep = random_integers({128, 256}, 0, 2, {7, 0, 0}).to(DType::boolean);  // (rows, C)
  const LayerNorm ln = layer_norm(x, w, b, 1e-5);
  const RmsNorm rms = rms_norm(x, w, 1e-6);
  time("add", [&] { add(x, dy); });
  time("mul, row", [&] { mul(x, w); });
  time("div", [&] { div(x, positive); });
#define HEADROOM_TIME(NAME, FUNCTOR)    \
  time(#NAME, [&] { NAME(positive); }); \
  time(#NAME "_grad", [&] { NAME##_grad(dy, positive, positive); });
  HEADROOM_UNARY_OPS(HEADROOM_TIME)
#undef HEADROOM_TIME
  time("softmax", [&] { softmax(x); });
  time("softmax_grad", [&] { softmax_grad(dy, y); });
  time("log_softmax", [&] { log_softmax(x); });
  time("log_softmax_grad", [&] { log_softmax_grad(dy, y); });
  time("layer_norm", [&] { layer_norm(x, w, b, 1e-5); });
  time("layer_norm_grad", [&] { layer_norm_grad(dy, x, w, ln.mean, ln.inv_std, true, true); });
  time("rms_norm", [&] { rms_norm(x, w, 1e-6); });
  time("rms_norm_grad", [&] { rms_norm_grad(dy, x, w, rms.inv_rms, true, true); });
  time("cross_entropy", [&] { cross_entropy(x, ids, true, -100, true); });
  time("swiglu", [&] { swiglu(x, dy); });
  time("swiglu_grad", [&] { swiglu_grad(dy, x, positive, true, true); });
  time("dropout", [&] { dropout(x, 0.1, {8, 0, 0}); });
  time("where", [&] { where(keep, x, dy); });
  time("max", [&] { max(x, {1}, false); });
  time("sum, rows", [&] { sum(x, {1}, false); });
  time("sum, columns", [&] { sum(x, {0}, false); });
  time("embedding_grad", [&] { embedding_grad(dy, tokens, 64); });
  time("matmul", [&] { matmul(x, dy, true); });
}
