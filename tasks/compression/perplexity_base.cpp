#include "tasks/compression/perplexity_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/error.h"

namespace headroom::tasks {
namespace {

/// Between kept states, so that they take at most that many bytes.
int64_t stride_of(const models::TransformerConfig& config, size_t tokens, double most_bytes) {
  const double bytes =
      4.0 * static_cast<double>(config.width) * static_cast<double>(tokens) * static_cast<double>(config.layers);
  return std::clamp<int64_t>(static_cast<int64_t>(std::ceil(bytes / most_bytes)), 1, config.layers);
}

std::vector<Tensor> some_of(const std::vector<Tensor>& states, int64_t first, size_t count) {
  return {states.begin() + first, states.begin() + first + static_cast<std::ptrdiff_t>(count)};
}

}  // namespace

PerplexityBase::PerplexityBase(const models::Transformer& base, const models::Tokenizer& tokenizer,
                               std::vector<int32_t> tokens, const PerplexityOptions& options, double most_bytes)
    : base_(base),
      tokenizer_(tokenizer),
      tokens_(std::move(tokens)),
      options_(options),
      states_(base, stride_of(base.config(), tokens_.size(), most_bytes)) {
  PerplexityOptions keeping = options_;
  keeping.hidden = [&](const TokenBatch& windows, int64_t) {
    states_.add(windows);
    return some_of(states_.final(), std::ssize(states_.final()) - std::ssize(windows), windows.size());
  };
  uncompressed_ = measure_perplexity(base_, tokenizer_, tokens_, keeping);
}

Perplexity PerplexityBase::measure(const models::Transformer& model, int64_t first) const {
  PerplexityOptions options = options_;
  options.hidden = [&](const TokenBatch& windows, int64_t window) {
    return states_.run(model, first, static_cast<size_t>(window), windows.size());
  };
  options.base_hidden = [&](const TokenBatch& windows, int64_t window) {
    return some_of(states_.final(), window, windows.size());
  };
  return measure_perplexity(model, tokenizer_, tokens_, options, &base_);
}

std::shared_ptr<const PerplexityBase> perplexity_base(StudiedModel& model, const std::string& text,
                                                      std::span<const int32_t> tokens, int64_t context,
                                                      engine::Device device, PerplexityProtocol protocol) {
  const std::string name = fmt::format("perplexity {} {} {} {}", text, context, name_of(protocol), device.str());
  return model.once<PerplexityBase>(name, [&] {
    return PerplexityBase(model.transformer(device), *model.tokenizer(), {tokens.begin(), tokens.end()},
                          {.protocol = protocol, .context = context, .bos = model.description().text_begin()});
  });
}

}  // namespace headroom::tasks
