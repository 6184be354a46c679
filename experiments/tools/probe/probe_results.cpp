#include "experiments/tools/probe/probe_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/studies/analysis/statistics.h"
#include "tasks/measure/head_summary.h"

namespace headroom::experiments {
namespace {

using Shade = HeadMeasure::Shade;
using tasks::HeadProbe;
using tasks::QueryMeasures;

/// max/min of l·‖J_l‖ over the positions of the longest pieces, l from 1.
double band_of(const std::vector<int64_t>& positions, const HeadProbe& head) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    const double scaled = static_cast<double>(positions[i] + 1) * head.at_position[i].jacobian_norm;
    least = std::min(least, scaled), most = std::max(most, scaled);
  }
  return least > 0 ? most / least : std::numeric_limits<double>::quiet_NaN();
}

/// A measure of the last, or the middle, query of the longest pieces.
std::function<double(const HeadProbe&)> at_longest(std::vector<QueryMeasures> HeadProbe::*queries,
                                                   double QueryMeasures::*field) {
  return [queries, field](const HeadProbe& head) { return (head.*queries).back().*field; };
}

void add_rank_measures(const ProbeResults& r, std::vector<HeadMeasure>& out) {
  struct Kind {
    const char *id, *label, *meaning;
    std::vector<double> tasks::HeadSpectra::*values;
  };
  const Kind kinds[] = {
      {"scores", "scores", "the head's scores on this text", &tasks::HeadSpectra::weighted},
      {"product", "W_QᵀW_K", "the product of its query and key weights", &tasks::HeadSpectra::product},
      {"query", "W_Q", "its query weights", &tasks::HeadSpectra::query},
      {"key", "W_K", "its key weights", &tasks::HeadSpectra::key}};
  for (const Kind& kind : kinds)
    for (auto energy = r.energies.rbegin(); energy != r.energies.rend(); ++energy)
      out.push_back({fmt::format("rank_{}_{:g}", kind.id, *energy), rank_group,
                     fmt::format("rank of {}, {}", kind.label, percent(*energy)),
                     fmt::format("How many of {} singular values hold {} of the energy of {}.", r.head_dim,
                                 percent(*energy), kind.meaning),
                     Shade::linear, [values = kind.values, energy = *energy](const HeadProbe& head) {
                       return effective_rank(head.spectra.*values, energy);
                     }});
}

}  // namespace

std::vector<HeadMeasure> head_measures(const ProbeResults& r) {
  std::vector<HeadMeasure> out;
  add_rank_measures(r, out);
  const int64_t first = r.probe.spans.front().length, longest = r.longest();
  const std::string last = fmt::format("the last query, L = {}", longest),
                    middle = fmt::format("Query {} of {}. ", longest / 2, longest);
  const char* group = "Softmax Jacobian";
  const auto add = [&](const char* id, const std::string& label, const std::string& meaning, auto value,
                       Shade shade = Shade::linear) {
    out.push_back({id, group, label, meaning, shade, std::move(value)});
  };
  if (r.probe.spans.size() > 1)
    add(
        "norm_slope", "slope of the norm against the length",
        fmt::format("Of log ‖J‖ of the last query against log L, L = {} to {}. Theorem 2: -1 where logits are bounded.",
                    first, longest),
        [&r](const HeadProbe& head) { return norm_slope(r, head); }, Shade::signed_);
  add("norm", fmt::format("norm at L = {}", longest),
      "‖J‖ of the last query, J = diag(p) - ppᵀ. At most 1/2; near 0 where one token takes all.",
      at_longest(&HeadProbe::last, &QueryMeasures::jacobian_norm));
  add(
      "norm_band", "band of l·norm over positions",
      fmt::format("max/min of l·‖J_l‖ over queries l = 2 to {}: 1 where the norm falls as 1/l.", longest),
      [&r](const HeadProbe& head) { return band_of(r.probe.positions, head); }, Shade::log);
  group = "Logits";
  add("logits_all", "norm / √L, all keys", middle + "Of all keys, as before the mask.",
      at_longest(&HeadProbe::middle, &QueryMeasures::logits_rms_all));
  add("logits_causal", "norm / √L, causal", middle + "Of the keys that the query sees.",
      at_longest(&HeadProbe::middle, &QueryMeasures::logits_rms));
  add("logits_centred", "norm / √L, centred", middle + "Their standard deviation: softmax ignores the mean.",
      at_longest(&HeadProbe::middle, &QueryMeasures::logits_deviation));
  add("largest_logit", "largest logit", fmt::format("Largest |logit| of {}.", last),
      at_longest(&HeadProbe::last, &QueryMeasures::largest_logit));
  group = "Attention";
  add("entropy", "entropy",
      fmt::format("Of the last query's weights, L = {}, in nats; at most {:.2f}.", longest,
                  std::log(static_cast<double>(longest))),
      at_longest(&HeadProbe::last, &QueryMeasures::entropy));
  add("sink_mass", "mass on the first token", fmt::format("Of {}.", last),
      at_longest(&HeadProbe::last, &QueryMeasures::sink_mass));
  add("largest", "largest weight", fmt::format("Of {}.", last), at_longest(&HeadProbe::last, &QueryMeasures::largest));
  return out;
}

double norm_slope(const ProbeResults& results, const HeadProbe& head) {
  std::vector<double> x, y;
  for (size_t i = 0; i < head.last.size(); ++i) {
    if (!(head.last[i].jacobian_norm > 0)) return std::numeric_limits<double>::quiet_NaN();
    x.push_back(std::log(static_cast<double>(results.probe.spans[i].length)));
    y.push_back(std::log(head.last[i].jacobian_norm));
  }
  return line_slope(x, y);
}

double effective_rank(const std::vector<double>& singular_values, double energy) {
  return static_cast<double>(tasks::effective_rank(singular_values, energy));
}

double finite_quantile(std::vector<double> values, double share) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : tasks::quantile(std::move(values), share);
}

std::vector<double> layer_medians(const ProbeResults& results, const std::vector<double>& values) {
  std::vector<double> medians;
  for (auto own = values.begin(); own != values.end(); own += results.probe.heads)
    medians.push_back(finite_quantile({own, own + results.probe.heads}, 0.5));
  return medians;
}

std::string percent(double share) { return fmt::format("{:g} %", 100 * share); }

}  // namespace headroom::experiments
