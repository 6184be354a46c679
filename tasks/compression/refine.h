#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "models/checkpoints/model_edit.h"

namespace headroom::tasks {

/// What a compressed model's factors are trained to reproduce of the original.
enum class RefineTarget {
  attention,  ///< attention weights of each changed layer, given the original's input: the paper's Algorithm 1
  hidden,     ///< the residual stream after every layer
  logits,     ///< the predictions, by KL divergence
};
/// "attention", "hidden", "logits".
const char* name_of(RefineTarget target);
std::vector<std::string> refine_target_names();
/// Throws Error that lists the names.
RefineTarget refine_target_named(const std::string& name);

struct RefineConfig {
  RefineTarget target = RefineTarget::logits;
  int64_t steps = 100;
  int64_t batch = 4, context = 256;  ///< windows of a step, and their tokens
  double lr = 1e-3;                  ///< of Adam; falls along a cosine after `warmup` steps
  int64_t warmup = 10;
  double clip = 1;                     ///< largest norm of the gradient
  uint64_t seed = 0;                   ///< of the windows
  std::optional<int64_t> bos{};        ///< before each window, of a model that was trained with it there
  bool recompute = false;              ///< compute each layer again in backward, for memory
  std::filesystem::path checkpoint{};  ///< where to save, and to continue from; empty: nowhere
  int64_t save_every = 20;
  std::function<void(const std::string&)> note{};  ///< see TrainerConfig
};

/// Throws Error naming the field and what is allowed.
void validate(const RefineConfig& config);

struct Refined {
  models::ModelEdit edit;
  double first_loss = 0, last_loss = 0;  ///< means over the first and the last ten steps (all, where fewer)
  int64_t trained = 0;                   ///< numbers that were trained
};

/// Trains what an edit made smaller, and nothing else: the factors, maps and narrower matrices of those heads whose
/// shape is not the base's. `tokens`: a text that nothing is evaluated on. `progress` gets the steps done and the
/// latest loss. It runs on the base's device; the base's matrices must not be quantised. Stopped and called again with
/// the same arguments and checkpoint, it continues to the same bits. Throws Error when the edit changes no head's
/// shape, the text is shorter than a window, a loss is not finite, or the checkpoint is of another training.
Refined refine(const models::Transformer& base, const models::ModelEdit& edit, const std::vector<int32_t>& tokens,
               const RefineConfig& config, const std::function<void(int64_t step, double loss)>& progress = {});

}  // namespace headroom::tasks
