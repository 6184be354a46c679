#include "experiments/tools/compress/possible_savings.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "models/costs.h"
#include "models/files/file_size.h"
#include "tasks/finetune/trained_part.h"

namespace headroom::experiments {
namespace {

int64_t matrix(int64_t in, int64_t out, int64_t rank) { return rank > 0 ? rank * (in + out) : in * out; }

double q8_0_bytes(int64_t numbers) {
  const int64_t blocks = (numbers + 31) / 32;
  return static_cast<double>(numbers + 2 * blocks);
}

std::string size(double bytes) { return models::size_text(static_cast<uint64_t>(bytes)); }

std::string percent_of(int64_t part, int64_t whole) {
  const double value = 100 * static_cast<double>(part) / static_cast<double>(whole);
  return value < 10 ? fmt::format("{:.1f} %", value) : fmt::format("{:.0f} %", value);
}

bool is_quantised(const PossibleSavings& s) { return s.bytes == 0 || s.bits_per_number() <= q8_0_bits + 0.5; }

/// Bytes of `numbers` of the files' numbers, at so many bits each.
double bytes_of(double numbers, double bits) { return numbers * bits / 8; }

double half_of_heads(const PossibleSavings& s) {
  return bytes_of(static_cast<double>(s.queries_keys) / 2, s.bits_per_number());
}

double files_q8_0(const PossibleSavings& s) { return bytes_of(static_cast<double>(s.parameters), q8_0_bits); }

}  // namespace

PossibleSavings possible_savings(const models::TransformerConfig& config, uint64_t bytes) {
  PossibleSavings out{
      .parameters = models::parameter_count(config), .queries_keys = tasks::query_key_count(config), .bytes = bytes};
  models::for_each_layer(config, [&](const models::LayerConfig& layer, int64_t times) {
    int64_t values = 0;
    for (const models::HeadGroup& g : layer.groups) {
      const int64_t kv_heads = g.key_value_heads();
      out.values_output += times * matrix(config.width, kv_heads * g.v_dim, g.v_rank);
      const auto cached = static_cast<double>(times * kv_heads);
      out.cache_f32 += cached * 4 * static_cast<double>(g.key_dim() + g.v_dim);
      out.cache_half_keys += cached * 4 * (static_cast<double>(g.key_dim()) / 2 + static_cast<double>(g.v_dim));
      out.cache_q8_0 += cached * (q8_0_bytes(g.key_dim()) + q8_0_bytes(g.v_dim));
      values += g.heads * g.v_dim;
    }
    out.values_output += times * matrix(values, config.width, layer.o_rank);
  });
  return out;
}

std::string advice_of(const PossibleSavings& s) {
  const std::string cache = fmt::format(
      "hange the cache's type first, and the heads after it: 8 bits (--cache-dtype q8_0) take {} a token instead of {} "
      "in f16; half the width of all keys leaves {}.",
      size(s.cache_q8_0), size(s.cache_f32 / 2), size(s.cache_half_keys / 2));
  if (is_quantised(s)) return "C" + cache;
  return fmt::format(
      "Quantise the weights first: 8 bits a number (headroom convert --dtype q8_0) leave about {} of {}. Then c{}",
      size(files_q8_0(s)), models::size_text(s.bytes), cache);
}

std::string reasons_of(const PossibleSavings& s) {
  std::string out = fmt::format(
      "Queries and keys are {} of the model's numbers, values and output projections {}: no narrower head saves more "
      "than that.",
      percent_of(s.queries_keys, s.parameters), percent_of(s.values_output, s.parameters));
  if (s.bytes > 0)
    out += fmt::format(
        " The files take {:.1f} bits a number: of their {}, half the width of all queries and keys saves "
        "at most {}.",
        s.bits_per_number(), models::size_text(s.bytes), size(half_of_heads(s)));
  out += fmt::format(" The other {} take other means: a pruner such as LLM-Pruner for the feed-forward network",
                     percent_of(s.parameters - s.queries_keys - s.values_output, s.parameters));
  constexpr double few_bits = 6;
  if (s.bytes > 0 && s.bits_per_number() > few_bits)
    out += ", 4-bit weights (headroom convert MODEL -o m.gguf --dtype q4_k)";
  return out + ".";
}

std::vector<SizeAfter> sizes_after(const PossibleSavings& s) {
  std::vector<SizeAfter> out;
  const auto add = [&](const char* name, double bytes, double of) { out.push_back({name, bytes, bytes / of}); };
  if (const auto files = static_cast<double>(s.bytes); s.bytes > 0) {
    add("weights now", files, files);
    if (!is_quantised(s)) add("weights: 8 bits", files_q8_0(s), files);
    add("weights: half of q and k", files - half_of_heads(s), files);
  }
  const double cache = s.cache_f32 / 2;
  if (!(cache > 0)) return out;
  add("cache now, f16", cache, cache);
  add("cache: 8 bits", s.cache_q8_0, cache);
  add("cache: half of keys", s.cache_half_keys / 2, cache);
  return out;
}

std::string text_of(const PossibleSavings& s) { return advice_of(s) + " " + reasons_of(s); }

nlohmann::ordered_json json_of(const PossibleSavings& s) {
  return {
      {"parameters", s.parameters},
      {"queries_and_keys", s.queries_keys},
      {"values_and_output", s.values_output},
      {"file_bytes", s.bytes},
      {"cache_bytes_per_token", {{"f32", s.cache_f32}, {"q8_0", s.cache_q8_0}, {"half_of_keys", s.cache_half_keys}}}};
}

}  // namespace headroom::experiments
