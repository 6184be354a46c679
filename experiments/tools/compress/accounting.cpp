#include "experiments/tools/compress/accounting.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "engine/device_stream.h"
#include "experiments/tools/compress/divergence.h"
#include "models/costs.h"
#include "models/files/file_size.h"
#include "models/generation/recorded_decoder.h"
#include "models/model_cache.h"
#include "tasks/theory/model_costs.h"

namespace headroom::experiments {
namespace {

double seconds_of(engine::Device device, const auto& run) {
  const auto start = std::chrono::steady_clock::now();
  run();
  engine::synchronize(device);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Any tokens: speed does not depend on which.
engine::Tensor some_tokens(int64_t count, int64_t vocab) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < count; ++i) ids.push_back((7 * i + 3) % vocab);
  return engine::Tensor::from({1, count}, ids);
}

/// So many tokens, as `generate` has them: on a device that can, each is one graph.
void decode(const models::Transformer& model, models::ModelCache& state, const engine::Tensor& next, int64_t tokens) {
  models::RecordedDecoder recorded(model);
  auto token = static_cast<int64_t>(next.item());
  for (int64_t t = 0; t < tokens; ++t) {
    const std::optional<int64_t> chosen =
        recorded.is_possible() ? recorded.next(token, state, {}) : std::optional<int64_t>();
    if (chosen) token = *chosen;
    else model.decode(next, state, {}, 1);
  }
}

}  // namespace

std::pair<MeasuredSpeed, MeasuredSpeed> measure_speeds(const models::Transformer& first,
                                                       const models::Transformer& second, int64_t prompt_tokens,
                                                       int64_t decoded_tokens) {
  constexpr size_t rounds = 3;
  const std::array<const models::Transformer*, 2> both{&first, &second};
  std::array<std::array<double, rounds>, 2> prompts{}, decodes{};
  for (size_t round = 0; round < rounds; ++round)
    for (size_t which = 0; which < both.size(); ++which) {
      const models::Transformer& model = *both[which];
      const engine::Tensor prompt = some_tokens(prompt_tokens, model.config().vocab),  // (1, prompt_tokens)
          next = some_tokens(1, model.config().vocab);                                 // (1, 1)
      models::ModelCache state(model.config());
      prompts[which][round] = seconds_of(model.device(), [&] { model.decode(prompt, state, {}, 1); });
      decodes[which][round] = seconds_of(model.device(), [&] { decode(model, state, next, decoded_tokens); });
    }
  const auto median = [](std::array<double, rounds> seconds) {
    std::sort(seconds.begin(), seconds.end());
    return seconds[rounds / 2];
  };
  const auto speed = [&](size_t which) {
    return MeasuredSpeed{prompt_tokens, decoded_tokens, static_cast<double>(prompt_tokens) / median(prompts[which]),
                         static_cast<double>(decoded_tokens) / median(decodes[which])};
  };
  return {speed(0), speed(1)};
}

ModelAccount counted(const models::TransformerConfig& config, int64_t context) {
  const tasks::ModelCosts costs = tasks::model_costs(config, 1, context, tasks::widths_of(4));
  return {.parameters = costs.parameters,
          .flops = costs.forward_flops,
          .cache_bytes = static_cast<double>(models::cache_bytes(config, {engine::BlockFormat::f16, true})),
          .names_types = models::names_cache_types(config)};
}

std::string table_of(const ModelAccount& before, const ModelAccount& after, int64_t context) {
  std::string text = fmt::format("{:<28}{:>16}{:>16}   ratio\n", "", "before", "after");
  const auto add = [&](const std::string& name, double old_value, double new_value, const auto& words) {
    text += fmt::format("{:<28}{:>16}{:>16}   {:.3f}\n", name, words(old_value), words(new_value),
                        old_value > 0 ? new_value / old_value : 1);
  };
  const auto digits = [](int count) { return [count](double value) { return fmt::format("{:.{}f}", value, count); }; };
  if (after.bytes > 0)
    add("files on disk", static_cast<double>(before.bytes), static_cast<double>(after.bytes),
        [](double bytes) { return models::size_text(static_cast<uint64_t>(bytes)); });
  add(after.names_types ? "cache bytes/token" : "cache bytes/token (f16)", before.cache_bytes, after.cache_bytes,
      digits(0));
  add("parameters", static_cast<double>(before.parameters), static_cast<double>(after.parameters), digits(0));
  add(fmt::format("MFLOPs/token, {} keys", context), before.flops / 1e6, after.flops / 1e6, digits(3));
  if (const MeasuredSpeed& speed = before.speed; speed.prompt > 0) {
    add(fmt::format("prompt of {}, tokens/s", speed.prompt_tokens), speed.prompt, after.speed.prompt, digits(1));
    add(fmt::format("decode of {}, tokens/s", speed.decoded_tokens), speed.decode, after.speed.decode, digits(1));
  }
  if (!after.perplexity) return text;
  add("perplexity, computed in f32", before.perplexity->ppl, after.perplexity->ppl, digits(4));
  return text + divergence_text(*after.perplexity, "the original");
}

nlohmann::ordered_json json_of(const ModelAccount& account) {
  nlohmann::ordered_json out{{"parameters", account.parameters},
                             {"flops_per_token", account.flops},
                             {"kv_cache_bytes_per_token", account.cache_bytes}};
  if (account.bytes > 0) out["file_bytes"] = account.bytes;
  if (account.speed.prompt > 0) {
    out["prompt_tokens_per_second"] = account.speed.prompt;
    out["decode_tokens_per_second"] = account.speed.decode;
  }
  if (account.perplexity) {
    out["perplexity"] = account.perplexity->ppl;
    out["nll"] = account.perplexity->nll;
    out["nll_stderr"] = account.perplexity->stderr_windows;
    if (account.perplexity->against) add_divergence(*account.perplexity, out);
  }
  return out;
}

}  // namespace headroom::experiments
