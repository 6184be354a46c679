#include "experiments/tools/probe/probe_results.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "experiments/studies/claims/statistics.h"
#include "tasks/measure/head_summary.h"

namespace headroom::experiments {
namespace {

using Shade = HeadMeasure::Shade;
using tasks::HeadProbe;
using tasks::QueryMeasures;

/// A measure of the last, or the middle, query of the longest pieces.
HeadMeasure at_longest(const char* id, const char* group, std::string label, std::string meaning, Shade shade,
                       std::vector<QueryMeasures> HeadProbe::*queries, double QueryMeasures::*field) {
  return {id, group, std::move(label), std::move(meaning), shade, [queries, field](const HeadProbe& head) {
            return (head.*queries).back().*field;
          }};
}

/// max/min of l·‖J_l‖ over the positions of the longest pieces, l from 1.
double band_of(const std::vector<int64_t>& positions, const HeadProbe& head) {
  double least = std::numeric_limits<double>::infinity(), most = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    const double scaled = static_cast<double>(positions[i] + 1) * head.at_position[i].jacobian_norm;
    least = std::min(least, scaled), most = std::max(most, scaled);
  }
  return least > 0 ? most / least : std::numeric_limits<double>::quiet_NaN();
}

void add_jacobian_measures(const ProbeResults& r, std::vector<HeadMeasure>& out) {
  const char* const group = "Softmax Jacobian";
  const int64_t first = r.probe.spans.front().length;
  if (r.probe.spans.size() > 1)
    out.push_back({"norm_slope", group, "slope of the norm against the length",
                   fmt::format("Of log ‖J‖ of the last query against log L, L = {} to {}. Theorem 2: -1 where logits "
                               "are bounded.",
                               first, r.longest()),
                   Shade::signed_, [&r](const HeadProbe& head) { return norm_slope(r, head); }});
  out.push_back(at_longest("norm", group, fmt::format("norm at L = {}", r.longest()),
                           "‖J‖ of the last query, J = diag(p) - ppᵀ. At most 1/2; near 0 where one token takes all.",
                           Shade::linear, &HeadProbe::last, &QueryMeasures::jacobian_norm));
  out.push_back(
      {"norm_band", group, "band of l·norm over positions",
       fmt::format("max/min of l·‖J_l‖ over queries l = 2 to {}: 1 where the norm falls as 1/l.", r.longest()),
       Shade::log, [&r](const HeadProbe& head) { return band_of(r.probe.positions, head); }});
}

void add_logit_measures(const ProbeResults& r, std::vector<HeadMeasure>& out) {
  const char* const group = "Logits";
  const std::string where = fmt::format("Query {} of {}. ", r.longest() / 2, r.longest());
  const auto add = [&](const char* id, const char* label, const std::string& meaning, auto queries, auto field) {
    out.push_back(at_longest(id, group, label, meaning, Shade::linear, queries, field));
  };
  add("logits_all", "norm / √L, all keys", where + "Of all keys, as before the mask.", &HeadProbe::middle,
      &QueryMeasures::logits_rms_all);
  add("logits_causal", "norm / √L, causal", where + "Of the keys that the query sees.", &HeadProbe::middle,
      &QueryMeasures::logits_rms);
  add("logits_centred", "norm / √L, centred", where + "Their standard deviation: softmax ignores the mean.",
      &HeadProbe::middle, &QueryMeasures::logits_deviation);
  add("largest_logit", "largest logit", fmt::format("Largest |logit| of the last query, L = {}.", r.longest()),
      &HeadProbe::last, &QueryMeasures::largest_logit);
}

void add_attention_measures(const ProbeResults& r, std::vector<HeadMeasure>& out) {
  const char* const group = "Attention";
  const auto add = [&](const char* id, const char* label, const std::string& meaning, auto field) {
    out.push_back(at_longest(id, group, label, meaning, Shade::linear, &HeadProbe::last, field));
  };
  add("entropy", "entropy",
      fmt::format("Of the last query's weights, L = {}, in nats; at most {:.2f}.", r.longest(),
                  std::log(static_cast<double>(r.longest()))),
      &QueryMeasures::entropy);
  add("sink_mass", "mass on the first token", fmt::format("Of the last query, L = {}.", r.longest()),
      &QueryMeasures::sink_mass);
  add("largest", "largest weight", fmt::format("Of the last query, L = {}.", r.longest()), &QueryMeasures::largest);
}

void add_rank_measures(const ProbeResults& r, std::vector<HeadMeasure>& out) {
  using Values = std::vector<double> tasks::HeadSpectra::*;
  struct Kind {
    const char *id, *label, *meaning;
    Values values;
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
                       return static_cast<double>(tasks::effective_rank(head.spectra.*values, energy));
                     }});
}

}  // namespace

std::vector<HeadMeasure> head_measures(const ProbeResults& results) {
  std::vector<HeadMeasure> out;
  add_rank_measures(results, out);
  add_jacobian_measures(results, out);
  add_logit_measures(results, out);
  add_attention_measures(results, out);
  return out;
}

std::vector<double> values_of(const ProbeResults& results, const HeadMeasure& measure) {
  std::vector<double> values;
  for (const HeadProbe& head : results.probe.probes) values.push_back(measure.value(head));
  return values;
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

double score_rank(const HeadProbe& head, double energy) {
  return static_cast<double>(tasks::effective_rank(head.spectra.weighted, energy));
}

double finite_quantile(std::vector<double> values, double share) {
  std::erase_if(values, [](double value) { return std::isnan(value); });
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : tasks::quantile(std::move(values), share);
}

std::string some(int64_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

std::string percent(double share) { return fmt::format("{:g} %", 100 * share); }

}  // namespace headroom::experiments
