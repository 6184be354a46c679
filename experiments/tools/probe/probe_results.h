#pragma once
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "experiments/tools/compress/possible_savings.h"
#include "tasks/measure/model_probe.h"
#include "tasks/measure/text_tokens.h"

namespace headroom::experiments {

/// A probe of a trained model, with its sources.
struct ProbeResults {
  std::string model, name, family;                               ///< its path, its own name, its family
  std::string text;                                              ///< path
  int64_t tokens = 0;                                            ///< of the text
  tasks::TextCut cut;                                            ///< how the text became tokens
  int64_t kv_heads = 0, head_dim = 0;                            ///< of the first layer; of the widest head
  int64_t least_head_dim = std::numeric_limits<int64_t>::max();  ///< of the narrowest
  bool rotary = false;                                           ///< queries and keys are turned by their positions
  PossibleSavings savings;                                       ///< of its files and cache, counted
  std::string method;            ///< the method for headroom compress to narrow the heads
  std::string unsuited;          ///< reason if no method suits the model; else ""
  std::vector<double> energies;  ///< of the effective ranks, rising
  tasks::ModelProbe probe;
  double seconds = 0;

  int64_t longest() const { return probe.spans.back().length; }
};

/// One number of each head, which the heat map can show.
struct HeadMeasure {
  enum class Shade {
    linear,  ///< from the least to the largest
    log,     ///< the same of logarithms
    signed_  ///< from 0, two colours
  };
  std::string id, group, label, meaning;  ///< plain text; id for JSON
  Shade shade = Shade::linear;
  std::function<double(const tasks::HeadProbe&)> value;  ///< NaN if there is none
};

/// The group of the measures that are effective ranks.
inline constexpr const char* rank_group = "Effective rank";

/// The measures of a probe, in the order of the page. They keep a reference to `results`.
std::vector<HeadMeasure> head_measures(const ProbeResults& results);

/// A value of every head, layer after layer.
template <class Value>
std::vector<double> of_heads(const ProbeResults& results, const Value& value) {
  std::vector<double> values;
  for (const tasks::HeadProbe& head : results.probe.probes) values.push_back(value(head));
  return values;
}

/// The least-squares slope of the logarithm of the last query's mean Jacobian norm against that of the length. NaN for
/// fewer than two lengths, or a norm of 0.
double norm_slope(const ProbeResults& results, const tasks::HeadProbe& head);

/// tasks::effective_rank() as a number among others.
double effective_rank(const std::vector<double>& singular_values, double energy);

/// tasks::quantile() of the finite values; NaN for none.
double finite_quantile(std::vector<double> values, double share);

/// The median over the heads of each layer, of a value of every head.
std::vector<double> layer_medians(const ProbeResults& results, const std::vector<double>& values);

/// "90 %", "99.9 %".
std::string percent(double share);

}  // namespace headroom::experiments
