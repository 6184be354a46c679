#pragma once
#include <set>
#include <string>
#include <vector>

#include "tasks/measure/studied_model.h"

namespace headroom::tasks {

/// How many dimensions the heads of one layer use.
struct SpectraConfig {
  using Made = class SpectraMeasurement;
  StudiedModelConfig model{};
  StudiedTextConfig text{};
  int64_t length = 512;  ///< of a span
  int64_t spans = 8;     ///< for the activations, from seed · spans on
  int64_t layer = 0;
  double energy = 0.9;  ///< share of the squares that defines an effective rank
  int64_t rank = 16;    ///< the number of values whose share of the squares is reported
};

/// Throws Error naming the field and what is allowed.
void validate(const SpectraConfig& config);

/// Metrics, for each of query (W_Q), key (W_K), product (W_Qᵀ W_K), weighted (C_q^½ C_k^½, by the activations) and
/// turned (the same after the rotary turn; see TurnedSpectra), over the layer's heads: the mean of their effective
/// ranks X_rank, the least and the largest of them least_X_rank and most_X_rank, the mean of their largest singular
/// values X_norm, and of the share of energy that `rank` values hold, X_energy. And `narrower_heads`, how many have a
/// weighted rank below that of their product.
class SpectraMeasurement : public ModelMeasurement<SpectraConfig> {
 public:
  using ModelMeasurement::ModelMeasurement;
  void check() const override;
  Metrics compute(uint64_t seed) const override;
  std::string describe() const override;
};

/// The names of its metrics.
std::vector<std::string> spectra_metrics();

inline std::set<std::string> metric_names_of(const SpectraConfig&) {
  const std::vector<std::string> names = spectra_metrics();
  return {names.begin(), names.end()};
}

}  // namespace headroom::tasks
