#pragma once
#include <cstdint>
#include <vector>

#include "models/checkpoints/model_edit.h"
#include "models/transformer.h"
#include "tasks/measure/language_model.h"

namespace headroom::tasks {

/// The hidden states of a model on texts, kept before its layers, so that a model which differs from it from some layer
/// on runs from that layer on. Kept per token: D numbers of f32 before every `stride`-th layer and after the last.
/// Threads: one adds, any number run.
class EnteringStates {
 public:
  /// The base must outlive it. Throws Error unless stride is in [1, layers].
  explicit EnteringStates(const models::Transformer& base, int64_t stride = 1);

  /// Runs the base on further texts. Throws Error for an empty one.
  void add(const TokenBatch& texts);
  /// After the base's last layer: of each text (1, T, D).
  const std::vector<Tensor>& final() const { return final_; }
  /// After the last layer of a model that is the base below layer `first`, with keys and values rounded as its heads
  /// name the types of their cache: of texts [begin, begin + count), each (1, T, D). Throws Error unless `first` is in
  /// [0, layers].
  std::vector<Tensor> run(const models::Transformer& model, int64_t first, size_t begin, size_t count) const;

 private:
  const models::Transformer& base_;
  int64_t stride_;
  std::vector<std::vector<Tensor>> entering_;  ///< before layer i · stride_: of each text (1, T, D)
  std::vector<Tensor> final_;
};

/// Few enough tokens to measure each head of a model alone.
inline constexpr int64_t probed_tokens = 1024;
/// The first of the texts, about `tokens` tokens. `context`: tokens of a text.
TokenBatch probed_texts(TokenBatch texts, int64_t context, int64_t tokens = probed_tokens);

/// What a change of some layers does to a model's predictions, measured on a few texts. The base runs once: its hidden
/// states before each layer and its logits are kept, so that a changed model runs from its first changed layer on.
/// Memory: layers · D + V numbers of f32 per token. Not for several threads at once.
class LayerProbe {
 public:
  /// The base must outlive the probe, and no matrix of it may be quantised. `late`: predictions are compared on this
  /// share of each text, its last tokens, which read the most keys. Throws Error for no text, or an empty one, and
  /// unless late is in (0, 1].
  LayerProbe(const models::Transformer& base, const TokenBatch& texts, double late = 1);

  /// The mean over the compared tokens of KL(base ‖ edited) of the next token, in nats, with keys and values rounded as
  /// the edit's heads name the types of their cache. `first`: the first layer that the edit changes. Throws Error when
  /// the edit does not fit, or a logit is not finite.
  double kl(const models::ModelEdit& edit, int64_t first) const { return kl(edit, first, states_); }
  /// The same of an edit that is, below layer `first`, the model of those states.
  double kl(const models::ModelEdit& edit, int64_t first, const EnteringStates& states) const;
  /// The states of a changed model on the texts. The model must outlive them.
  EnteringStates states_of(const models::Transformer& model) const;
  const models::Transformer& base() const { return base_; }
  int64_t tokens() const { return tokens_; }

 private:
  /// The first compared token of a text.
  int64_t first_of(int64_t length) const;

  const models::Transformer& base_;
  TokenBatch texts_;
  EnteringStates states_;
  double late_;
  std::vector<Tensor> logits_;              ///< per text: (tokens compared, V)
  std::vector<std::vector<double>> norms_;  ///< per text: their log-sum-exps
  int64_t tokens_ = 0;
};

}  // namespace headroom::tasks
