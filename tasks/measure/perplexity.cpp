#include "tasks/measure/perplexity.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "engine/error.h"
#include "engine/name_table.h"
#include "engine/ops/log_softmax/log_softmax.h"
#include "tasks/measure/language_model.h"
#include "tasks/pseudo_values.h"

namespace headroom::tasks {
namespace {

constexpr NameTable<PerplexityProtocol, 3> protocol_names{{{PerplexityProtocol::disjoint, "disjoint"},
                                                           {PerplexityProtocol::hf_strided, "hf-strided"},
                                                           {PerplexityProtocol::llamacpp, "llamacpp"}}};

std::vector<ScoredWindow> strided_windows(int64_t tokens, int64_t context, int64_t stride) {
  std::vector<ScoredWindow> windows;
  int64_t scored = 1;  // nothing predicts a window's first token
  for (int64_t begin = 0; scored < tokens; begin += stride) {
    const int64_t end = std::min(begin + context, tokens);
    windows.push_back({begin, end, std::max(scored, begin + 1)});
    scored = end;
  }
  return windows;
}

/// The scores of one token's prediction.
struct TokenScore {
  double nll = 0, base_nll = 0;
  double kl = 0;
  bool same_top1 = true;
};

int64_t likeliest(const float* logits, int64_t vocab) { return std::max_element(logits, logits + vocab) - logits; }

/// Tokens before those of a window.
int64_t before_window(const PerplexityOptions& options) {
  return places_before(options.protocol, options.bos.has_value());
}

/// The tokens of a window as the model gets them.
std::vector<int64_t> input_of(const ScoredWindow& window, const std::vector<int32_t>& tokens,
                              const PerplexityOptions& options) {
  std::vector<int64_t> ids(tokens.begin() + window.begin, tokens.begin() + window.end);
  if (before_window(options) > 0) ids.insert(ids.begin(), *options.bos);
  else if (options.bos && options.protocol == PerplexityProtocol::llamacpp) ids[0] = *options.bos;
  return ids;
}

/// Scores of a window's targets, in order; `before` tokens stand before the window's.
std::vector<TokenScore> scores_of(const ScoredWindow& window, int64_t before, const std::vector<int32_t>& tokens,
                                  const models::Transformer& model, const Tensor& hidden,
                                  const models::Transformer* base, const Tensor& base_hidden) {
  const int64_t vocab = model.config().vocab, first = window.first - window.begin - 1 + before;
  std::vector<TokenScore> scores(static_cast<size_t>(window.targets()));
  const auto score_at = [&](int64_t row) -> TokenScore& { return scores[static_cast<size_t>(row - first)]; };
  // Some rows of both models at a time: the base's logits are kept until the model's are there.
  constexpr int64_t rows_at_once = 128;
  for (int64_t from = first; from < first + window.targets(); from += rows_at_once) {
    const int64_t to = std::min(from + rows_at_once, first + window.targets());
    std::vector<float> base_logits(static_cast<size_t>(base ? (to - from) * vocab : 0));
    if (base)
      for_each_logits(*base, base_hidden, from, to, [&](int64_t row, const float* logits) {
        std::copy(logits, logits + vocab, base_logits.data() + (row - from) * vocab);
      });
    for_each_logits(model, hidden, from, to, [&](int64_t row, const float* logits) {
      const double norm = engine::log_sum_exp(logits, vocab);
      const int32_t target = tokens[static_cast<size_t>(window.begin + row + 1 - before)];
      TokenScore& score = score_at(row);
      score.nll = norm - logits[target];
      if (!base) return;
      const float* p = base_logits.data() + (row - from) * vocab;
      const double base_norm = engine::log_sum_exp(p, vocab);
      score.base_nll = base_norm - p[target];
      score.kl = kl_of_logits(p, base_norm, logits, norm, vocab);
      score.same_top1 = likeliest(p, vocab) == likeliest(logits, vocab);
    });
  }
  return scores;
}

/// Sums over windows, and what follows from them.
class Tally {
 public:
  void add(const std::vector<TokenScore>& scores) {
    WindowSums& sums = windows_.emplace_back();
    double added = 0;
    for (const TokenScore& score : scores) {
      sums.nll += score.nll;
      sums.base_nll += score.base_nll;
      sums.kl += score.kl;
      sums.same_top1 += score.same_top1 ? 1 : 0;
      added += score.nll - score.base_nll;
      squares_ += score.nll * score.nll;
      kl_.push_back(score.kl);
    }
    sums.tokens = static_cast<double>(scores.size());
    sums_.push_back(sums.nll);
    added_.push_back(added);
    total_ += sums.nll;
    same_ += sums.same_top1;
    count_ += sums.tokens;
  }
  double nll() const { return total_ / count_; }

  Perplexity result(double bytes, bool has_base) const {
    Perplexity out;
    out.tokens_scored = static_cast<int64_t>(count_);
    out.windows = std::ssize(windows_);
    out.nll_sum = total_;
    out.nll = nll();
    out.ppl = std::exp(out.nll);
    if (count_ > 1) out.stderr_tokens = std::sqrt(std::max(0.0, squares_ / count_ - out.nll * out.nll) / (count_ - 1));
    out.stderr_windows = stderr_over_windows(sums_, out.nll);
    out.bits_per_byte = total_ / std::numbers::ln2 / bytes;
    if (has_base) out.against = divergence_of();
    out.by_window = windows_;
    return out;
  }

 private:
  /// The standard error of `mean`, which is the sums over windows per token: the ratio estimator, as windows may score
  /// unequal numbers of tokens.
  double stderr_over_windows(const std::vector<double>& sums, double mean) const {
    const auto windows = static_cast<double>(sums.size());
    if (windows < 2) return 0;
    double spread = 0;
    for (size_t i = 0; i < sums.size(); ++i) spread += std::pow(sums[i] - windows_[i].tokens * mean, 2);
    return std::sqrt(spread * windows / (windows - 1)) / count_;
  }

  Divergence divergence_of() const {
    Divergence out;
    for (const double kl : kl_) out.kl_mean += kl / count_;
    out.nll_added = std::accumulate(added_.begin(), added_.end(), 0.0) / count_;
    out.stderr_added = stderr_over_windows(added_, out.nll_added);
    std::vector<double> sorted = kl_;
    const auto place = static_cast<size_t>(std::ceil(0.99 * count_)) - 1;
    std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(place), sorted.end());
    out.kl_p99 = sorted[place];
    out.top1_agreement = same_ / count_;
    return out;
  }

  std::vector<WindowSums> windows_;
  std::vector<double> sums_, added_;  ///< per window
  std::vector<double> kl_;            ///< per token
  double total_ = 0, count_ = 0, squares_ = 0, same_ = 0;
};

}  // namespace

const char* name_of(PerplexityProtocol protocol) { return name_in(protocol_names, protocol); }

PerplexityProtocol protocol_named(std::string_view name) {
  return named_in(protocol_names, name, "perplexity", "protocol");
}

std::map<std::string, std::vector<double>> perplexity_parts(const Perplexity& measured) {
  std::vector<double> sums(5);
  std::vector<std::vector<double>> sums_at_ends;
  size_t done = 0;
  for (const int64_t end : ends_of_parts(std::ssize(measured.by_window))) {
    for (; done < static_cast<size_t>(end); ++done) {
      const WindowSums& own = measured.by_window[done];
      const double terms[] = {own.tokens, own.nll, own.base_nll, own.kl, own.same_top1};
      for (size_t i = 0; i < sums.size(); ++i) sums[i] += terms[i];
    }
    sums_at_ends.push_back(sums);
  }
  return pseudo_values(sums_at_ends, [&](const std::vector<double>& of) {
    Metrics metrics{{"perplexity", std::exp(of[1] / of[0])}};
    if (measured.against)
      metrics.insert({{"base_perplexity", std::exp(of[2] / of[0])},
                      {"ratio", std::exp((of[1] - of[2]) / of[0])},
                      {"kl", of[3] / of[0]},
                      {"top1_agreement", of[4] / of[0]}});
    return metrics;
  });
}

std::vector<ScoredWindow> windows_of(PerplexityProtocol protocol, int64_t tokens, int64_t context, int64_t stride,
                                     bool has_begin) {
  require(context >= 2, "perplexity: a context of {} has no token to score; expected 2 or more", context);
  const int64_t before = places_before(protocol, has_begin), own = context - before;  // tokens of the text in a window
  if (protocol == PerplexityProtocol::hf_strided) {
    require(stride >= 1 && stride <= context, "perplexity: a stride of {} is not between 1 and the context, {}", stride,
            context);
    require(tokens >= 2, "perplexity: a text of {} tokens has none to score", tokens);
    return strided_windows(tokens, context, stride);
  }
  require(tokens >= own, "perplexity: the text has {} tokens, one chunk takes {}: use a smaller context", tokens, own);
  const int64_t skipped = protocol == PerplexityProtocol::llamacpp ? context / 2 + 1 : 1 - before;
  require(skipped < own, "perplexity: a context of {} has no second half to score", context);
  std::vector<ScoredWindow> windows;
  for (int64_t begin = 0; begin + own <= tokens; begin += own) windows.push_back({begin, begin + own, begin + skipped});
  return windows;
}

Perplexity measure_perplexity(const models::Transformer& model, const models::Tokenizer& tokenizer,
                              const std::vector<int32_t>& text, const PerplexityOptions& options,
                              const models::Transformer* base,
                              const std::function<void(const PerplexityProgress&)>& progress) {
  const int64_t vocab = model.config().vocab;
  require(!base || base->config().vocab == vocab, "perplexity: the vocabularies have {} and {} tokens: no comparison",
          vocab, base ? base->config().vocab : 0);
  require(options.windows_at_once >= 1, "perplexity: {} windows at once", options.windows_at_once);
  std::vector<int32_t> tokens = text;
  if (options.bos && begins_whole(options.protocol)) tokens.insert(tokens.begin(), static_cast<int32_t>(*options.bos));
  for (const int32_t id : tokens)
    require(id >= 0 && id < vocab, "perplexity: token {} is not in the model's vocabulary of {}", id, vocab);
  const std::vector<ScoredWindow> windows = windows_of(options.protocol, static_cast<int64_t>(tokens.size()),
                                                       options.context, options.stride, options.bos.has_value());
  Tally tally;
  double bytes = 0;
  const auto at_once = static_cast<size_t>(options.windows_at_once);
  for (size_t begin = 0; begin < windows.size(); begin += at_once) {
    const size_t end = std::min(windows.size(), begin + at_once);
    TokenBatch batch;
    for (size_t i = begin; i < end; ++i) batch.push_back(input_of(windows[i], tokens, options));
    const auto states_of = [&](const models::Transformer& of, const HiddenSource& source,
                               const models::ForwardContext& context) {
      return source ? source(batch, static_cast<int64_t>(begin)) : hidden_states(of, batch, context);
    };
    const std::vector<Tensor> hidden = states_of(model, options.hidden, {.rounded_cache = options.cache});
    const std::vector<Tensor> base_hidden =
        base ? states_of(*base, options.base_hidden, {}) : std::vector<Tensor>(hidden.size());
    for (size_t i = begin; i < end; ++i) {
      const ScoredWindow& window = windows[i];
      try {
        tally.add(
            scores_of(window, before_window(options), tokens, model, hidden[i - begin], base, base_hidden[i - begin]));
      } catch (const Error& error) {
        throw error.in(fmt::format("tokens [{}, {}) of the text", window.begin, window.end));
      }
      for (int64_t t = window.first; t < window.end; ++t)
        bytes += static_cast<double>(tokenizer.token_bytes(tokens[static_cast<size_t>(t)]).size());
    }
    if (progress)
      progress({.windows_done = static_cast<int64_t>(end),
                .windows = static_cast<int64_t>(windows.size()),
                .ppl = std::exp(tally.nll())});
  }
  return tally.result(bytes, base != nullptr);
}

}  // namespace headroom::tasks
