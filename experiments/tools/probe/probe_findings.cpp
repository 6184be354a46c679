#include "experiments/tools/probe/probe_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>

#include "experiments/output/number.h"
#include "tasks/theory/softmax_jacobian.h"

namespace headroom::experiments {
namespace {

using tasks::HeadProbe;
using tasks::HeadSpectra;

constexpr double follows_within = 0.25;  ///< of the theorem's slope of -1
constexpr double flat_above = -0.5;
constexpr size_t layers_named = 3;
constexpr double clearly_fewer = 0.75;          ///< dimensions of the scores, of those of the weights
constexpr int64_t least_tokens_per_width = 32;  ///< below it a second moment's small directions are not seen

std::string head_name(const HeadProbe& head) { return fmt::format("layer {} head {}", head.layer, head.head); }

template <class Holds>
int64_t count_heads(const ProbeResults& r, const Holds& holds) {
  return std::count_if(r.probe.probes.begin(), r.probe.probes.end(), holds);
}

template <class Value>
double median_of_heads(const ProbeResults& r, const Value& value) {
  return finite_quantile(of_heads(r, value), 0.5);
}

double median_rank(const ProbeResults& r, std::vector<double> HeadSpectra::*values, double energy) {
  return median_of_heads(r, [&](const HeadProbe& head) { return effective_rank(head.spectra.*values, energy); });
}

/// "layer 0 (4), layer 24 (20) and layer 20 (22)", the first of `order`.
std::string named_layers(const std::vector<double>& medians, const std::vector<size_t>& order, size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i)
    out += fmt::format("{}layer {} ({:g})", i == 0 ? "" : i + 1 == count ? " and " : ", ", order[i], medians[order[i]]);
  return out;
}

ProbeFinding savings_finding(const ProbeResults& r) { return {"What can be won", text_of(r.savings)}; }

/// A number that may be too large for one: given by its natural logarithm.
std::string from_logarithm(double ln) {
  return ln < std::log(1000.0) ? fmt::format("{:.2g}", std::exp(ln))
                               : fmt::format("10^{:.0f}", ln / std::numbers::ln10);
}

ProbeFinding width_finding(const ProbeResults& r) {
  const double energy = r.energies.back(), half = static_cast<double>(r.head_dim) / 2;
  const std::vector<double> ranks =
      of_heads(r, [&](const HeadProbe& head) { return effective_rank(head.spectra.weighted, energy); });
  std::string text = fmt::format(
      "The median head needs {:g} of the {} dimensions of its queries and keys to hold {} of "
      "the energy of its scores on this text",
      finite_quantile(ranks, 0.5), r.head_dim, percent(energy));
  for (auto lower = r.energies.rbegin() + 1; lower != r.energies.rend(); ++lower)
    text += fmt::format(", {:g} for {}", median_rank(r, &HeadSpectra::weighted, *lower), percent(*lower));
  return {"Where the headroom is",
          text + fmt::format(
                     ". At {}, {} of {} heads need at most half of their width, one head in ten at most {:g}, one in "
                     "ten at least {:g}. Energy is the sum of the scores' squares, over centred keys.",
                     percent(energy), std::count_if(ranks.begin(), ranks.end(), [&](double n) { return n <= half; }),
                     ranks.size(), std::floor(finite_quantile(ranks, 0.1)), std::ceil(finite_quantile(ranks, 0.9)))};
}

ProbeFinding layer_finding(const ProbeResults& r) {
  const double energy = r.energies.back();
  const auto rank = [&](const HeadProbe& head) { return effective_rank(head.spectra.weighted, energy); };
  const std::vector<double> medians = layer_medians(r, of_heads(r, rank));
  std::vector<size_t> order(medians.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return medians[a] < medians[b]; });
  const size_t count = std::min(layers_named, (order.size() + 1) / 2);
  const std::string least = named_layers(medians, order, count);
  std::reverse(order.begin(), order.end());
  const auto [narrow, wide] = std::minmax_element(r.probe.probes.begin(), r.probe.probes.end(),
                                                  [&](const auto& a, const auto& b) { return rank(a) < rank(b); });
  return {
      "In which layers and heads",
      fmt::format("Dimensions for {}, median of a layer's heads: fewest in {}; most in {}. The narrowest head is {} "
                  "with {:g} of {}, the widest {} with {:g}.",
                  percent(energy), least, named_layers(medians, order, count), head_name(*narrow), rank(*narrow),
                  r.head_dim, head_name(*wide), rank(*wide))};
}

ProbeFinding weights_finding(const ProbeResults& r) {
  const double energy = r.energies.back(), scores = median_rank(r, &HeadSpectra::weighted, energy),
               query = median_rank(r, &HeadSpectra::query, energy), key = median_rank(r, &HeadSpectra::key, energy),
               product = median_rank(r, &HeadSpectra::product, energy);
  return {"What the weights alone show",
          fmt::format("{} of the energy of W_Q takes {:g} singular values in the median head, of W_K {:g}, of their "
                      "product {:g}. {}",
                      percent(energy), query, key, product,
                      scores <= clearly_fewer * std::min({query, key, product})
                          ? "Most of what is spare shows only with the activations: they do not fill the directions "
                            "that the weights have."
                          : "The activations need about as many.")};
}

ProbeFinding slope_finding(const ProbeResults& r) {
  const int64_t first = r.probe.spans.front().length, last = r.longest();
  const auto slope = [&](const HeadProbe& head) { return norm_slope(r, head); };
  const int64_t near =
      count_heads(r, [&](const HeadProbe& head) { return std::abs(slope(head) + 1) <= follows_within; });
  const int64_t flat = count_heads(r, [&](const HeadProbe& head) { return slope(head) > flat_above; });
  const int64_t heads = r.probe.layers * r.probe.heads;
  std::string text =
      "Theorem 2 bounds the norm of softmax's Jacobian by 2·exp(2Δ)/L, Δ the largest |logit|: with bounded logits it "
      "falls with a slope of -1 against the length. ";
  text += near == heads ? "Every head follows it"
          : near == 0   ? "No head follows it"
                        : fmt::format("{} of {} heads {} it", near, heads, near == 1 ? "follows" : "follow");
  text += fmt::format(
      ", with a slope within {:g} of -1 from L = {} to {}; the slope of {} of {} is flatter than {:g}, and the median "
      "is {:.3f}. ",
      follows_within, first, last, flat, heads, flat_above, median_of_heads(r, slope));
  const auto delta = [&](size_t i) {
    return median_of_heads(r, [i](const HeadProbe& head) { return head.last[i].largest_logit; });
  };
  const double end = delta(r.probe.spans.size() - 1), bound = tasks::ln_softmax_bound(end, last);
  text += fmt::format("The largest |logit| of the last query is {:.3g} in the median head at L = {} and {:.3g} at {}, ",
                      delta(0), first, end, last);
  text += bound > std::log(0.5)
              ? fmt::format("where the bound is {} and is vacuous: no such norm is above 1/2. ", from_logarithm(bound))
              : fmt::format("where the bound is {}. ", from_logarithm(bound));
  const auto largest = of_heads(r, [](const HeadProbe& head) { return head.largest_norm; });
  return {"The slope of Theorem 2", text + fmt::format("The largest norm at any measured query is {:.6f}.",
                                                       *std::max_element(largest.begin(), largest.end()))};
}

ProbeFinding sink_finding(const ProbeResults& r) {
  const auto mass = [](const HeadProbe& head) { return head.last.back().sink_mass; };
  const int64_t half = count_heads(r, [&](const HeadProbe& head) { return mass(head) > 0.5; });
  const int64_t most = count_heads(r, [&](const HeadProbe& head) { return mass(head) > 0.9; });
  return {
      "Attention sinks",
      fmt::format("At query {}, {} of {} heads put more than half of their attention on the first token, {} of them "
                  "more than nine tenths. The median head's entropy is {:.2f} nats of at most {:.2f}.",
                  r.longest(), half, r.probe.layers * r.probe.heads, most,
                  median_of_heads(r, [](const HeadProbe& head) { return head.last.back().entropy; }),
                  std::log(static_cast<double>(r.longest())))};
}

}  // namespace

std::vector<ProbeFinding> probe_findings(const ProbeResults& results) {
  std::vector<ProbeFinding> out = {savings_finding(results), width_finding(results), layer_finding(results),
                                   weights_finding(results)};
  if (results.probe.spans.size() > 1) out.push_back(slope_finding(results));
  out.push_back(sink_finding(results));
  return out;
}

std::vector<std::string> probe_limits(const ProbeResults& results) {
  std::vector<std::string> out = {
      "Energy is not loss. A direction with little of it can decide a token, and what many heads lose together can "
      "cost "
      "far more than what each loses alone. What a width costs is the perplexity of the narrower model (headroom eval "
      "--against)."};
  if (results.rotary)
    out.emplace_back(
        "Ranks are those before the rotary turn, which mixes a head's dimensions by the distance of two tokens: they "
        "are ranks of factors, not widths of narrower rotary heads.");
  out.emplace_back("Queries and keys are looked at; values and the output projection are not.");
  const int64_t tokens = results.longest() * static_cast<int64_t>(results.probe.spans.back().starts.size());
  if (tokens < least_tokens_per_width * results.head_dim)
    out.push_back(
        fmt::format("The scores' ranks come from {} tokens for {} dimensions: with so few they are too low. Longer or "
                    "more pieces show more.",
                    tokens, results.head_dim));
  out.push_back(fmt::format("Means over {} of one text at each length: another text gives other numbers.",
                            counted(std::ssize(results.probe.spans.back().starts), "piece")));
  return out;
}

}  // namespace headroom::experiments
