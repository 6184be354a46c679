// Drawing a token from logits on the GPU: the same token as on the CPU for the same random number.
#include "engine/sampling/choose_token.h"

#include <cmath>

#include "engine/transfer.h"
#include "tests/engine/cuda/gpu.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using namespace headroom::engine;

using testing::gpu;
using testing::has_gpu;

int64_t token(const Tensor& logits, const TokenFilter& filter, uint64_t draw) {
  return static_cast<int64_t>(choose_token(logits, filter, {3, 7, 4 * draw}).item());
}

}  // namespace

TEST_CASE("a token drawn on the GPU is the CPU's for every filter, equal logits among them") {
  if (!has_gpu()) return;
  for (const int64_t vocab : {1, 5, 1500}) {
    const Tensor smooth = random_normal({vocab}, 0, 3, {vocab == 5 ? 9u : 1u, 0, 0}, DType::f32);
    std::vector<double> rounded = smooth.to_vector<double>();
    for (double& logit : rounded) logit = std::round(logit);  // many are equal, 0 and -0 among them
    for (const Tensor& logits : {smooth, Tensor::from(Shape{vocab}, rounded).to(DType::f32), smooth.to(DType::f64)})
      for (const TokenFilter& filter :
           {TokenFilter{}, TokenFilter{.temperature = 1}, TokenFilter{.temperature = 0.3, .top_k = 3},
            TokenFilter{.temperature = 2, .top_p = 0.7}, TokenFilter{.temperature = 1, .min_p = 0.2},
            TokenFilter{.temperature = 1.5, .top_k = 40, .top_p = 0.9, .min_p = 0.01}})
        for (uint64_t draw = 0; draw < (vocab > 100 ? 3 : 12); ++draw) {
          CAPTURE(vocab, name_of(logits.dtype()), filter.temperature, filter.top_k, filter.top_p, filter.min_p, draw);
          CHECK(token(logits.to(gpu), filter, draw) == token(logits, filter, draw));
        }
  }
}

TEST_CASE("logits from which no token can be drawn give -1 on both devices") {
  const float inf = HUGE_VALF;
  for (const std::vector<float>& logits : {std::vector<float>{1, NAN, 2}, {1, inf, 2}, {-inf, -inf}})
    for (const double temperature : {0.0, 1.0}) {
      const Tensor x = Tensor::from<float>({static_cast<int64_t>(logits.size())}, logits);
      CHECK(token(x, {.temperature = temperature}, 0) == -1);
      if (has_device(gpu.kind)) CHECK(token(x.to(gpu), {.temperature = temperature}, 0) == -1);
    }
  CHECK(testing::error_of([] { choose_token(Tensor::zeros({2, 3}), {}, {}); }).find("choose_token: f32 (2, 3)") == 0);
  CHECK(testing::error_of([] { choose_token(Tensor::zeros({0}), {}, {}); }).find("choose_token") == 0);
}
