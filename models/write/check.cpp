#include <algorithm>
#include <cmath>
#include <optional>

#include "engine/error.h"
#include "models/checkpoints/model_files.h"
#include "models/files/json.h"
#include "models/model_cache.h"
#include "models/write/staged.h"

namespace headroom::models {
namespace {

/// Texts that tokenizers split differently: spaces, digits, accents that may be composed, letters without case,
/// characters of four bytes, bytes that no text has.
constexpr const char* samples[] = {"The capital of France is Paris, and that of Italy is",
                                   "  two  spaces,\ttabs\n\nand lines \r\n ",
                                   "I'll pay $1,234.56 in 2024; we'RE 100% sure",
                                   "caf\u00e9, cafe\u0301, na\u00efve \u00c5ngstr\u00f6m",
                                   "\u4f60\u597d \u043f\u0440\u0438\u0432\u0435\u0442 \u05e9\u05dc\u05d5\u05dd",
                                   "\U0001f600\u200d\U0001f525 \u00a0\u3000\u2581x",
                                   "def f(x):\n    return x**2  # \x01\x7f"};

/// The ids of a text; nothing where the vocabulary lacks one of its characters.
std::optional<std::vector<int32_t>> ids_of(const Tokenizer& tokenizer, const char* text) {
  try {
    return tokenizer.encode(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

/// The first sample in the model's tokens, or a few from all over its vocabulary: i64 (1, T).
Tensor some_tokens(const ModelFiles& files) {
  const ModelDescription& model = files.description();
  const TransformerConfig& c = model.config;
  std::vector<int64_t> ids;
  if (const auto begin = model.text_begin()) ids.push_back(*begin);
  const auto sample = files.has_tokenizer() ? ids_of(*files.tokenizer(), samples[0]) : std::nullopt;
  if (sample) ids.insert(ids.end(), sample->begin(), sample->end());
  else
    for (int64_t i = 0; i < 12; ++i) ids.push_back((1 + 7919 * i) % c.vocab);
  ids.resize(static_cast<size_t>(std::min(static_cast<int64_t>(ids.size()), c.max_length)));
  return Tensor::from({1, static_cast<int64_t>(ids.size())}, ids);
}

/// The logits of a model that need not stay in memory.
std::vector<double> logits_of(std::unique_ptr<Transformer> model, const Tensor& tokens) {
  if (model->config().pooling != Pooling::none) return model->forward(tokens).value().to_vector<double>();  // (1, C)
  ModelCache state(model->config());
  return model->decode(tokens, state).to_vector<double>();  // (1, T, V)
}

/// True if the tokenizer puts a space before a text only if there is none: GGUF's always do.
bool spares_spaces(const Vocabulary& vocabulary) {
  if (const auto* pieces = std::get_if<SentencePieceVocabulary>(&vocabulary)) return pieces->only_missing;
  const auto* bpe = std::get_if<BpeVocabulary>(&vocabulary);
  return bpe && bpe->characters && bpe->characters->only_missing;
}

void compare_tokenizers(const ModelFiles& source, const ModelFiles& written) {
  if (!source.has_tokenizer()) return;
  const auto before = source.tokenizer(), after = written.tokenizer();
  const bool spares = spares_spaces(source.vocabulary()) || spares_spaces(written.vocabulary());
  for (const char* text : samples) {
    if (spares && *text == ' ') continue;
    // GGUF's tokenizers drop characters that a vocabulary lacks; others refuse them.
    const auto x = ids_of(*before, text), y = ids_of(*after, text);
    require(!x || !y || *x == *y, "the written tokenizer does not split {} as that of {} does", quoted_name(text),
            source.path().string());
  }
}

}  // namespace

void check_conversion(const ModelFiles& source, std::unique_ptr<Transformer> reference,
                      const std::filesystem::path& path, Conversion& conversion) {
  const auto written = ModelFiles::open(path);
  compare_tokenizers(source, *written);
  const Tensor tokens = some_tokens(source);
  const std::vector<double> before = logits_of(std::move(reference), tokens),
                            after = logits_of(written->load(), tokens);
  require(before.size() == after.size(), "the written model has {} logits, the source {}", after.size(), before.size());
  double squares = 0, error_squares = 0;
  for (size_t i = 0; i < before.size(); ++i) {
    const double error = std::abs(after[i] - before[i]);
    require(std::isfinite(error), "logits are not finite");
    conversion.logit_error = std::max(conversion.logit_error, error);
    conversion.largest_logit = std::max(conversion.largest_logit, std::abs(before[i]));
    squares += before[i] * before[i], error_squares += error * error;
  }
  // Sums in another order, and frequencies that went through f32; or a model that is another one. A model that
  // compression has hurt makes more of such differences than a trained one: 1.1e-5 was seen, where 1e-6 is usual.
  const double share = squares > 0 ? std::sqrt(error_squares / squares) : std::sqrt(error_squares);
  require(share <= (conversion.rounded ? 0.3 : 1e-4),
          "the written model's logits are not the source's: they differ by up to {:.2g} ({:.1e} of their norm), the "
          "largest is {:.3g}",
          conversion.logit_error, share, conversion.largest_logit);
}

}  // namespace headroom::models
