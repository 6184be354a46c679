#pragma once
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/rng.h"
#include "models/checkpoints/model_edit.h"

namespace headroom::models {

/// A matrix's term: A (rank, in) and B (out, rank), f32 on the CPU.
struct AdapterFactors {
  Tensor a, b;
};

/// A low-rank adapter (Hu et al., "LoRA", 2021) of one trained model: some of its matrices W become
/// W + alpha / rank · B · A.
struct Adapter {
  int64_t rank = 0;
  double alpha = 0;
  /// By our Transformer's name of the matrix ("blocks.2.attention.0.q_proj.weight"); B's rows in the base's order.
  std::map<std::string, AdapterFactors> factors;

  double scale() const { return alpha / static_cast<double>(rank); }
  int64_t parameter_count() const;
};

/// The matrices of a layer that an adapter can change: "q", "k", "v", "o", "gate", "up", "down".
std::vector<std::string> adapter_parts();
/// The part that a matrix is, by our Transformer's name; "" if it is none.
std::string adapter_part_of(const std::string& name);

/// The base's tensor that our matrix `name` is; "" if the base has none.
std::string adapted_tensor(const ModelFiles& base, const std::string& name);

/// Throws Error if the base takes no adapter: a compact model, or one with queries, keys and values in one matrix.
void require_adaptable(const ModelFiles& base);

/// A new adapter of these parts of every layer, as PEFT makes it: A uniform within 1/√in, from rng's stream "adapter",
/// and B zero. Throws Error for a rank below 1, an unknown part or one given twice, a base without one, and as
/// require_adaptable().
Adapter drawn_adapter(const ModelFiles& base, int64_t rank, double alpha, const std::vector<std::string>& parts,
                      engine::Rng& rng);

/// Says if an adapter's factors are trained; the base's weights are as the LoadOptions say.
enum class AdapterUse { frozen, trained };

/// Loads the base with the adapter. `config` is the base's, perhaps with other options of its passes. Throws Error as
/// ModelFiles::load().
std::unique_ptr<Transformer> load(const ModelFiles& base, const Adapter& adapter, const TransformerConfig& config,
                                  const LoadOptions& options, AdapterUse use = AdapterUse::frozen);

/// The adapter with the factors that a model, loaded with it, has now.
Adapter trained_adapter(Adapter adapter, const Transformer& model);

/// The base's matrices with their terms added, in f32.
ModelEdit merged(const ModelFiles& base, const Adapter& adapter);

}  // namespace headroom::models
