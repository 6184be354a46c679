#include <fmt/core.h>

#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"
#include "engine/ops/attention/attention.h"

namespace headroom::autograd {

namespace {

/// The sizes of one sample.
struct Sizes {
  int64_t batch = 2, queries = 5, keys = 5, heads = 2, kv_heads = 2, qk_dim = 4, v_dim = 4;
};

struct Extras {
  bool causal = false, alibi = false;
  std::optional<double> scale{}, key_mask{};  ///< key_mask: probability that a key may be attended
  double dropout = 0;
  uint64_t offset = 0;  ///< of the dropout key
  int64_t window = 0;
};

std::vector<Input> inputs(const Sizes& s, const Extras& e) {
  std::vector<Input> out{normal("q", {s.batch, s.queries, s.heads, s.qk_dim}),
                         normal("k", {s.batch, s.keys, s.kv_heads, s.qk_dim}),
                         normal("v", {s.batch, s.keys, s.kv_heads, s.v_dim})};
  if (e.alibi) out.push_back(uniform("slopes", {s.heads}, 0.05, 0.5));
  if (e.key_mask) out.push_back(booleans("key_mask", {s.batch, s.keys}, *e.key_mask));
  return out;
}

auto calls(Var (*op)(const Var&, const Var&, const Var&, const Var&, const AttentionOptions&), const Extras& e) {
  return [=](const std::vector<Var>& in) {
    AttentionOptions options{.causal = e.causal, .scale = e.scale, .dropout = e.dropout, .window = e.window};
    options.dropout_key = {.seed = 11, .stream = 5, .offset = e.offset};
    if (e.key_mask) options.key_mask = in.back().value();
    return op(in[0], in[1], in[2], e.alibi ? in[3] : Var(), options);
  };
}

/// Keys and values that are the middle of a longer key-value cache.
Sample cached(const std::string& label, Sizes sizes, const Extras& extras = {}) {
  const auto from_cache = [=](const auto& run) {
    return [=](std::vector<Var> in) {
      std::vector<size_t> cut{1, 2};  // k, v and the key mask are (B, Tk, …)
      if (extras.key_mask) cut.push_back(in.size() - 1);
      for (const size_t i : cut) in[i] = slice(in[i], 1, 2, 2 + sizes.keys);
      return run(in);
    };
  };
  Sizes cache = sizes;
  cache.keys += 5;
  return {label, inputs(cache, extras), from_cache(calls(attention, extras)),
          from_cache(calls(attention_composed, extras))};
}

Sample sample(const std::string& label, const Sizes& sizes, const Extras& extras = {}) {
  return {label, inputs(sizes, extras), calls(attention, extras), calls(attention_composed, extras)};
}

/// Windows narrower than, as wide as and wider than tiles and chunks, by each kernel.
std::vector<Sample> window_samples() {
  const Sizes one{.batch = 1, .heads = 1, .kv_heads = 1};
  const auto sized = [&](int64_t queries, int64_t keys, int64_t qk_dim, int64_t v_dim) {
    Sizes s = one;
    s.queries = queries, s.keys = keys, s.qk_dim = qk_dim, s.v_dim = v_dim;
    return s;
  };
  std::vector<Sample> out{
      sample("window", {}, {.causal = true, .window = 2}),
      sample("window of every key", {}, {.causal = true, .window = 5}),
      sample("window beyond the keys", {.queries = 9, .keys = 4}, {.causal = true, .window = 3}),
      sample("window, groups, ALiBi, mask and dropout",
             {.queries = 19, .keys = 23, .heads = 4, .qk_dim = 8, .v_dim = 5},
             {.causal = true, .alibi = true, .key_mask = 0.8, .dropout = 0.3, .offset = 4, .window = 6}),
      sample("window, many tiles", sized(201, 201, 3, 2), {.causal = true, .window = 17}),
      sample("window of a tile", sized(150, 150, 16, 8), {.causal = true, .window = 64}),
      sample("window across tiles", sized(140, 211, 2, 2), {.causal = true, .window = 70}),
      sample("window, heads as wide as Gemma's",
             {.batch = 1, .queries = 70, .keys = 70, .heads = 4, .kv_heads = 1, .qk_dim = 256, .v_dim = 256},
             {.causal = true, .window = 32}),
      sample("window, one query", sized(1, 90, 8, 8), {.causal = true, .window = 12}),
      sample("window, one query, chunks", sized(1, 700, 16, 4), {.causal = true, .window = 300}),
      sample("window, few queries",
             {.batch = 2, .queries = 4, .keys = 300, .heads = 6, .kv_heads = 2, .qk_dim = 17, .v_dim = 33},
             {.causal = true, .alibi = true, .key_mask = 0.7, .window = 5}),
      cached("window, cache", {.queries = 3, .keys = 18, .heads = 4, .kv_heads = 2}, {.causal = true, .window = 7}),
  };
  return out;
}

/// Few queries against many keys, more than one chunk of them, and keys and values in a cache.
std::vector<Sample> decoding_samples() {
  std::vector<Sample> out{
      sample("one query, chunks and a rest",
             {.batch = 1, .queries = 1, .keys = 603, .heads = 1, .kv_heads = 1, .qk_dim = 16, .v_dim = 16},
             {.causal = true}),
      sample("one query, group of three", {.queries = 1, .keys = 33, .heads = 6, .kv_heads = 2, .qk_dim = 8},
             {.causal = true, .alibi = true}),
      sample("one query, everything masked", {.queries = 1, .keys = 9}, {.key_mask = 0.0}),
      sample("one query, dropout", {.queries = 1, .keys = 9}, {.dropout = 0.3}),
      sample("last chunk hidden from all but one",
             {.batch = 1, .queries = 4, .keys = 257, .heads = 1, .kv_heads = 1, .qk_dim = 2, .v_dim = 2},
             {.causal = true}),
      sample("first chunk masked", {.batch = 1, .queries = 2, .keys = 300, .heads = 2, .kv_heads = 1, .qk_dim = 1},
             {.alibi = true, .scale = 0.7, .key_mask = 0.02}),
      sample("five queries, group of two", {.queries = 5, .keys = 70, .heads = 4, .kv_heads = 2}, {.causal = true}),
      sample("many queries, groups of three and of seven",
             {.batch = 1, .queries = 70, .keys = 73, .heads = 7, .kv_heads = 1, .qk_dim = 2, .v_dim = 3},
             {.causal = true}),
      cached("cache, one query", {.queries = 1, .keys = 21, .heads = 4, .kv_heads = 2, .qk_dim = 8, .v_dim = 16},
             {.causal = true, .alibi = true}),
      cached("cache, tiles", {.queries = 9, .keys = 21, .heads = 4, .kv_heads = 2}, {.causal = true}),
      cached("cache, key mask", {.queries = 3, .keys = 18}, {.key_mask = 0.7}),
  };
  for (const int64_t dim : {1, 3, 4, 7, 8, 9, 15, 16, 17, 31, 33, 64, 80, 128})
    out.push_back(sample(fmt::format("few queries, widths {} and {}", dim, dim + dim % 3),
                         {.batch = 1,
                          .queries = 1 + dim % 4,
                          .keys = 7 + dim,
                          .heads = 3,
                          .kv_heads = 1,
                          .qk_dim = dim,
                          .v_dim = dim + dim % 3},
                         {.causal = dim % 2 == 0}));
  return out;
}

}  // namespace

OpSamples attention_samples() {
  OpSamples out;
  out.samples = {
      sample("typical", {}),
      sample("causal", {}, {.causal = true}),
      sample("alibi", {}, {.alibi = true}),
      sample("causal alibi, wide", {.queries = 19, .keys = 19, .qk_dim = 8, .v_dim = 8},
             {.causal = true, .alibi = true}),
      sample("key mask", {.queries = 9, .keys = 11}, {.key_mask = 0.6}),
      sample("everything masked", {}, {.key_mask = 0.0}),
      sample("first queries see nothing", {.queries = 9, .keys = 4}, {.causal = true}),
      sample("causal key mask, some rows empty", {.batch = 4, .queries = 6, .keys = 6},
             {.causal = true, .key_mask = 0.4}),
      sample("more keys than queries, causal", {.queries = 3, .keys = 12}, {.causal = true, .alibi = true}),
      sample("one query", {.queries = 1, .keys = 21, .qk_dim = 8, .v_dim = 8}, {.causal = true}),
      sample("logit scale", {}, {.scale = 1.7}),
      sample("scale 0", {}, {.scale = 0.0}),
      sample("grouped heads", {.heads = 6, .kv_heads = 2}, {.causal = true}),
      sample("one key-value head", {.heads = 3, .kv_heads = 1, .qk_dim = 3, .v_dim = 5}, {.alibi = true}),
      sample("dropout", {.queries = 7, .keys = 7}, {.dropout = 0.3}),
      sample("dropout, rows of four", {.queries = 8, .keys = 24, .qk_dim = 8, .v_dim = 8},
             {.dropout = 0.1, .offset = 64}),
      sample("dropout, everything at once", {.queries = 9, .keys = 13, .heads = 4, .qk_dim = 3, .v_dim = 2},
             {.causal = true, .alibi = true, .scale = 0.4, .key_mask = 0.8, .dropout = 0.4, .offset = 4}),
      sample("tiles and a rest", {.batch = 1, .queries = 67, .keys = 67, .heads = 1, .kv_heads = 1}, {.causal = true}),
      sample("many keys", {.batch = 1, .queries = 3, .keys = 301, .heads = 1, .kv_heads = 1, .qk_dim = 2, .v_dim = 1},
             {.alibi = true, .key_mask = 0.9, .dropout = 0.2}),
      sample("many queries, causal",
             {.batch = 1, .queries = 147, .keys = 131, .heads = 1, .kv_heads = 1, .qk_dim = 1, .v_dim = 2},
             {.causal = true}),
      sample("wide tiles and a rest",
             {.batch = 1, .queries = 37, .keys = 71, .heads = 1, .kv_heads = 1, .qk_dim = 16, .v_dim = 8},
             {.causal = true}),
      sample("a head in each lane", {.batch = 16, .heads = 4, .kv_heads = 4, .qk_dim = 3, .v_dim = 1},
             {.causal = true}),
      sample("a head in each lane, everything at once",
             {.batch = 23, .queries = 4, .keys = 4, .heads = 6, .kv_heads = 3, .qk_dim = 2, .v_dim = 5},
             {.causal = true, .alibi = true, .scale = 0.4, .key_mask = 0.8, .window = 2}),
      sample("size-1", {.batch = 1, .queries = 1, .keys = 1, .heads = 1, .kv_heads = 1, .qk_dim = 1, .v_dim = 1}),
      sample("empty batch", {.batch = 0}),
      sample("no tokens", {.queries = 0, .keys = 0}),
      sample("no queries", {.queries = 0}),
      sample("no keys", {.keys = 0}),
  };
  // Over a single key the gradients of q and k are differences of two equal numbers, which a GPU rounds apart.
  for (Sample& of : out.samples)
    if (of.label == "size-1") of.tolerances.gradient.least = of.tolerances.twin.least = 1;
  for (Sample& windowed : window_samples()) out.samples.push_back(std::move(windowed));
  for (Sample& decoding : decoding_samples()) out.samples.push_back(std::move(decoding));
  for (const auto& [qk_dim, v_dim] : std::vector<std::pair<int64_t, int64_t>>{{1, 1},
                                                                              {1, 8},
                                                                              {2, 2},
                                                                              {2, 128},
                                                                              {3, 5},
                                                                              {5, 3},
                                                                              {8, 1},
                                                                              {8, 8},
                                                                              {64, 3},
                                                                              {64, 64},
                                                                              {80, 80},
                                                                              {128, 2},
                                                                              {128, 128}})
    out.samples.push_back(
        sample(fmt::format("widths {} and {}", qk_dim, v_dim),
               {.batch = 1, .queries = 6, .keys = 9, .heads = 2, .kv_heads = 1, .qk_dim = qk_dim, .v_dim = v_dim},
               {.causal = true}));
  const auto refuse = [&](const std::string& label, std::vector<Input> in, std::vector<std::string> mentions,
                          const Extras& e = {}) {
    mentions.emplace_back("attention");
    out.refusals.push_back({label, std::move(in), calls(attention, e), std::move(mentions)});
  };
  const Shape x{2, 5, 4, 8};
  refuse("rank", {normal("q", {5, 4, 8}), normal("k", x), normal("v", x)}, {"(5, 4, 8)"});
  refuse("batch", {normal("q", x), normal("k", {3, 5, 4, 8}), normal("v", {3, 5, 4, 8})}, {"(3, 5, 4, 8)"});
  refuse("length", {normal("q", x), normal("k", x), normal("v", {2, 6, 4, 8})}, {"(2, 6, 4, 8)"});
  refuse("width", {normal("q", x), normal("k", {2, 5, 4, 7}), normal("v", x)}, {"(2, 5, 4, 7)"});
  refuse("width 0", {normal("q", x), normal("k", x), normal("v", {2, 5, 4, 0})}, {"(2, 5, 4, 0)"});
  refuse("heads", {normal("q", x), normal("k", {2, 5, 3, 8}), normal("v", {2, 5, 3, 8})}, {"4", "3"});
  refuse("slopes", {normal("q", x), normal("k", x), normal("v", x), normal("slopes", {3})}, {"(3)"}, {.alibi = true});
  refuse("mask shape", {normal("q", x), normal("k", x), normal("v", x), booleans("key_mask", {2, 4}, 0.5)}, {"(2, 4)"},
         {.key_mask = 0.5});
  refuse("mask dtype", {normal("q", x), normal("k", x), normal("v", x), integers("key_mask", {2, 5}, 0, 2)}, {"i64"},
         {.key_mask = 0.5});
  refuse("dropout", inputs({}, {}), {"dropout 1"}, {.dropout = 1.0});
  refuse("window", inputs({}, {}), {"window of -1"}, {.causal = true, .window = -1});
  refuse("window, not causal", inputs({}, {}), {"window of 3 without causality"}, {.window = 3});
  refuse("integers", {integers("q", x, 0, 3), normal("k", x), normal("v", x)}, {"i64"});
  out.value = {4, 2e-6}, out.gradient = {4, 4e-6};
  return out;
}

}  // namespace headroom::autograd
