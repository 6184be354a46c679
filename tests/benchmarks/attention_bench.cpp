// attention-bench [THREADS [SECONDS]]: attention alone, forward and backward, at the shapes of the training workloads.
// One JSON line per shape: the best time of each in milliseconds, and the scores per nanosecond that the two together
// reach. Then forward alone at the shapes of decoding: few queries against many keys, which lie in one piece or in a
// longer key-value cache, and the bytes of keys and values per nanosecond.
#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>

#include "engine/context.h"
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
  int64_t window = 0;
};

constexpr Case cases[] = {
    {"ntp-h32", 32, 256, 32, 4, true, 0},
    {"ngram", 128, 64, 32, 8, true, 0},
    {"nanogpt-cpu", 12, 64, 4, 32, true, 0},
    {"ntp-h4", 32, 256, 4, 32, true, 0},
    {"mlm-h8", 32, 256, 8, 32, false, 0.1},
    {"induction", 64, 128, 8, 32, false, 0},
    {"eff-d4", 16, 256, 8, 4, false, 0},
    {"eff-d16", 16, 256, 8, 16, false, 0},
    {"eff-d64", 16, 256, 8, 64, false, 0},
    {"eff-d128", 16, 256, 8, 128, false, 0},
    {"gpt-wikitext", 8, 256, 8, 64, true, 0},
    {"gemma-full", 1, 2048, 4, 256, true, 0},
    {"gemma-window", 1, 2048, 4, 256, true, 0, 512},
};

struct DecodeCase {
  const char* name;
  int64_t heads, kv_heads, dim, window = 0;
};
constexpr DecodeCase decode_cases[] = {{"smollm2-135m", 9, 3, 64},
                                       {"llama-8b", 32, 8, 128},
                                       {"heads-of-8", 32, 32, 8},
                                       {"gemma-full", 4, 1, 256},
                                       {"gemma-window", 4, 1, 256, 512}};

double milliseconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

void time_case(const Case& c, double seconds) {
  const Shape shape{c.batch, c.length, c.heads, c.dim};
  const auto random = [&](uint64_t seed) { return random_normal(shape, 0, 1, {.seed = seed}); };
  const Tensor q = random(1), k = random(2), v = random(3), dy = random(4);  // (B, T, H, D)
  const AttentionOptions options{.causal = c.causal, .dropout = c.dropout, .window = c.window};
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

void time_decoding(const DecodeCase& c, int64_t queries, int64_t keys, double seconds) {
  constexpr int64_t spare = 64;  // tokens that the cache has room for
  const auto random = [&](const Shape& shape, uint64_t seed) { return random_normal(shape, 0, 1, {.seed = seed}); };
  const Tensor q = random({1, queries, c.heads, c.dim}, 1);  // (1, Tq, H, D)
  const Shape cache{1, keys + spare, c.kv_heads, c.dim};
  const Tensor k = random(cache, 2).slice(1, 0, keys), v = random(cache, 3).slice(1, 0, keys);  // (1, Tk, H_kv, D)
  const Tensor whole_k = k.clone(), whole_v = v.clone();
  double whole_us = std::numeric_limits<double>::infinity(), cache_us = whole_us;
  const auto microseconds = [&](const Tensor& keys_in, const Tensor& values_in) {
    constexpr int calls = 8;
    const auto before = std::chrono::steady_clock::now();
    for (int i = 0; i < calls; ++i) attention(q, keys_in, values_in, {}, {.causal = true, .window = c.window});
    return 1e3 * milliseconds_since(before) / calls;
  };
  const auto start = std::chrono::steady_clock::now();
  for (int step = 0; step < 3 || milliseconds_since(start) < 1e3 * seconds; ++step) {
    whole_us = std::min(whole_us, microseconds(whole_k, whole_v));
    cache_us = std::min(cache_us, microseconds(k, v));
  }
  const auto bytes = static_cast<double>(2 * 4 * keys * c.kv_heads * c.dim);
  fmt::print(
      "{{\"name\": \"{}\", \"queries\": {}, \"keys\": {}, \"threads\": {}, \"in_one_piece_us\": {:.1f}, "
      "\"in_cache_us\": "
      "{:.1f}, \"bytes_per_ns\": {:.1f}}}\n",
      c.name, queries, keys, num_threads(), whole_us, cache_us, bytes * 1e-3 / cache_us);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const ThreadScope threads(argc > 1 ? std::atoi(argv[1]) : num_threads());
    const double seconds = argc > 2 ? std::atof(argv[2]) : 1.0;
    for (const Case& c : cases) time_case(c, seconds);
    for (const DecodeCase& c : decode_cases)
      for (const int64_t queries : {1, 4})
        for (const int64_t keys : {128, 512, 2048, 4096}) time_decoding(c, queries, keys, seconds / 4);
  } catch (const headroom::Error& error) {
    fmt::print(stderr, "attention-bench: {}\n", error.what());
    return 1;
  }
}
