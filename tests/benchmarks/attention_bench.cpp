// attention-bench [THREADS [SECONDS]]: attention alone, forward and backward, at the shapes of the training workloads.
// One JSON line per shape: the best time of each in milliseconds, and the scores per nanosecond that the two together
// reach.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "engine/error.h"
#include "engine/ops/attention/attention.h"
#include "engine/parallel.h"

namespace {

using namespace headroom::engine;

struct Case {
  const char* name;
  int64_t batch, length, heads, dim;
  bool causal;
  double dropout;
};

constexpr Case cases[] = {
    {"ntp-h32", 32, 256, 32, 4, true, 0},     {"ngram", 128, 64, 32, 8, true, 0},
    {"nanogpt-cpu", 12, 64, 4, 32, true, 0},  {"ntp-h4", 32, 256, 4, 32, true, 0},
    {"mlm-h8", 32, 256, 8, 32, false, 0.1},   {"induction", 64, 128, 8, 32, false, 0},
    {"eff-d4", 16, 256, 8, 4, false, 0},      {"eff-d16", 16, 256, 8, 16, false, 0},
    {"eff-d64", 16, 256, 8, 64, false, 0},    {"eff-d128", 16, 256, 8, 128, false, 0},
    {"gpt-wikitext", 8, 256, 8, 64, true, 0},
};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void time_case(const Case& c, double seconds) {
  const Shape shape{c.batch, c.length, c.heads, c.dim};
  const auto random = [&](uint64_t seed) { return random_normal(shape, 0, 1, {.seed = seed}); };
  const Tensor q = random(1), k = random(2), v = random(3), dy = random(4);  // (B, T, H, D)
  const AttentionOptions options{.causal = c.causal, .dropout = c.dropout};
  double forward_ms = std::numeric_limits<double>::infinity(), backward_ms = forward_ms;
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < 3 || milliseconds_since(start) < 1e3 * seconds; ++step) {
    const auto before = std::chrono::steady_clock::now();
    const Attention forward = attention(q, k, v, {}, options);
    const double ms = milliseconds_since(before);
    const auto between = std::chrono::steady_clock::now();
    attention_grad(dy, q, k, v, {}, forward, options);
    if (step == 0) continue;
    forward_ms = std::min(forward_ms, ms);
    backward_ms = std::min(backward_ms, milliseconds_since(between));
  }
  const auto scores = static_cast<double>(c.batch * c.heads * c.length * c.length) / (c.causal ? 2 : 1);
  fmt::print(
      "{{\"name\": \"{}\", \"shape\": [{}, {}, {}, {}], \"causal\": {}, \"dropout\": {}, \"threads\": {}, "
      "\"forward_ms\": {:.3f}, \"backward_ms\": {:.3f}, \"scores_per_ns\": {:.3f}}}\n",
      c.name, c.batch, c.length, c.heads, c.dim, c.causal, c.dropout, num_threads(), forward_ms, backward_ms,
      scores * 1e-6 / (forward_ms + backward_ms));
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const ThreadScope threads(argc > 1 ? std::atoi(argv[1]) : num_threads());
    for (const Case& c : cases) time_case(c, argc > 2 ? std::atof(argv[2]) : 1.0);
  } catch (const headroom::Error& error) {
    fmt::print(stderr, "attention-bench: {}\n", error.what());
    return 1;
  }
}
