#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/tokenizers/tokenizer.h"
#include "models/transformer.h"

namespace headroom::tasks {

/// How a text's perplexity is measured. Always name the protocol with a figure: they differ by a quarter.
enum class PerplexityProtocol {
  disjoint,    ///< chunks of `context` tokens, the last shorter one dropped; all but each chunk's first are scored
  hf_strided,  ///< windows of `context` tokens every `stride`, each scoring what the previous one did not see (Hugging
               ///< Face, "Perplexity of fixed-length models"); a beginning token stands before the whole text
  llamacpp,    ///< beginning token and text, in chunks whose first token is replaced by the beginning token; the second
               ///< half of each is scored (llama.cpp's perplexity program)
};
/// "disjoint", "hf-strided", "llamacpp".
const char* name_of(PerplexityProtocol protocol);
/// Throws Error that lists the names.
PerplexityProtocol protocol_named(std::string_view name);

/// Tokens [begin, end) of a text pass through the model together; those from `first` on are scored.
struct ScoredWindow {
  int64_t begin = 0, end = 0, first = 0;
  int64_t targets() const { return end - first; }
  bool operator==(const ScoredWindow&) const = default;
};

/// True if the beginning token comes before the whole text instead of each window.
constexpr bool begins_whole(PerplexityProtocol protocol) { return protocol != PerplexityProtocol::disjoint; }
/// The places that a beginning token takes before a window's own tokens: 1 or 0.
constexpr int64_t places_before(PerplexityProtocol protocol, bool has_begin) {
  return has_begin && !begins_whole(protocol) ? 1 : 0;
}

/// A text's windows, in order; no token is scored twice. `tokens` includes the beginning token if begins_whole().
/// `stride` is hf_strided's. `has_begin`: if it comes before each window (places_before()), it takes one place of the
/// context and lets a window's first token be scored. Throws Error if the context has no token to score, stride is not
/// in [1, context], or the text is too short for one window.
std::vector<ScoredWindow> windows_of(PerplexityProtocol protocol, int64_t tokens, int64_t context, int64_t stride,
                                     bool has_begin = false);

/// Hidden states (1, T, D) before the final norm for consecutive windows of the text from window `first` on, given the
/// model's input tokens.
using HiddenSource =
    std::function<std::vector<engine::Tensor>(const std::vector<std::vector<int64_t>>& windows, int64_t first)>;

/// The settings of a perplexity measurement.
struct PerplexityOptions {
  PerplexityProtocol protocol = PerplexityProtocol::disjoint;
  int64_t context = 512;
  int64_t stride = 512;                  ///< of hf_strided
  std::optional<int64_t> bos{};          ///< the beginning-of-text token: before each window, or as the protocol says
  models::CacheTypes cache{};            ///< formats of the model's keys and values, but not of the base's
  int64_t windows_at_once = 8;           ///< run through one layer together; take more if weights come from a file
  HiddenSource hidden{}, base_hidden{};  ///< known hidden states; empty: hidden_states() runs the models
};

/// The distance between a model and its base, over the scored tokens.
struct Divergence {
  double kl_mean = 0;         ///< of KL(base ‖ model), nats
  double kl_p99 = 0;          ///< its 99th percentile over tokens
  double top1_agreement = 0;  ///< share of tokens with the same likeliest next token
  double nll_added = 0;       ///< the model's NLL per scored token minus the base's
  double stderr_added = 0;    ///< of nll_added, over windows; 0 with a single window
};

/// Sums over the tokens that a window scores.
struct WindowSums {
  double tokens = 0;
  double nll = 0, base_nll = 0, kl = 0, same_top1 = 0;  ///< but for nll, 0 without a base model
};

struct Perplexity {
  int64_t tokens_scored = 0, windows = 0;
  double nll_sum = 0;                   ///< nats
  double nll = 0;                       ///< per scored token
  double ppl = 0;                       ///< e^nll
  double stderr_tokens = 0;             ///< of nll, as if tokens were independent
  double stderr_windows = 0;            ///< of nll, over windows: the honest one; 0 with a single window
  double bits_per_byte = 0;             ///< over the bytes of the scored tokens
  std::optional<Divergence> against;    ///< with a base model
  std::vector<WindowSums> by_window{};  ///< (windows)
};

/// pseudo_values() of `perplexity`, and with a base model of `base_perplexity`, `ratio`, `kl` and `top1_agreement`,
/// over consecutive parts of the windows; none for fewer windows than parts.
std::map<std::string, std::vector<double>> perplexity_parts(const Perplexity& measured);

/// The result after some of the windows.
struct PerplexityProgress {
  int64_t windows_done = 0, windows = 0;
  double ppl = 0;
};

/// Measures a tokenised text's perplexity, and with `base` the divergence from it. Throws Error for a token outside the
/// vocabulary, models with different vocabularies, anything windows_of() refuses, and non-finite logits, naming the
/// place in the text.
Perplexity measure_perplexity(const models::Transformer& model, const models::Tokenizer& tokenizer,
                              const std::vector<int32_t>& tokens, const PerplexityOptions& options,
                              const models::Transformer* base = nullptr,
                              const std::function<void(const PerplexityProgress&)>& progress = {});

}  // namespace headroom::tasks
