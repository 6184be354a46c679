#include "experiments/tools/probe/probe_curves.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "experiments/output/number.h"
#include "experiments/tools/probe/probe_output.h"

namespace headroom::experiments {
namespace {

using tasks::HeadProbe;
using tasks::QueryMeasures;
using Values = std::vector<double>;

Values values_of(const std::vector<QueryMeasures>& queries, double QueryMeasures::*field) {
  Values out;
  for (const QueryMeasures& query : queries) out.push_back(query.*field);
  return out;
}

/// The median over all heads of a measure of each of some queries.
Values medians(const ProbeResults& r, std::vector<QueryMeasures> HeadProbe::*queries) {
  Values out;
  for (size_t i = 0; i < (r.probe.probes[0].*queries).size(); ++i)
    out.push_back(
        finite_quantile(of_heads(r, [&](const HeadProbe& head) { return (head.*queries)[i].jacobian_norm; }), 0.5));
  return out;
}

Layer line(const std::string& name, Colour colour, const Values& x, const Values& y) {
  Layer layer{.legend = name, .colour = colour, .points = x.size() <= 24, .marks = {}};
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) layer.marks.push_back({x[i], y[i]});
  return layer;
}

Layer dashed(const std::string& name, Colour colour, const Values& x, const Values& y) {
  Layer layer = line(name, colour, x, y);
  layer.style = 1;
  layer.points = false;
  return layer;
}

/// A small figure under its title. The first `compared` layers only compare: the axis is made for the others.
Block chart(const std::string& id, const std::string& title, const std::string& x_label, std::vector<Layer> layers,
            Scale x_scale, Scale y_scale, size_t compared = 0) {
  constexpr double deepest = 1e-6;  // of the largest value on a logarithmic axis
  Plot plot;
  plot.id = id;
  plot.title = plot.y_label = title;
  plot.x_label = x_label;
  Values xs, ys;
  for (size_t i = 0; i < layers.size(); ++i)
    for (const Mark& mark : layers[i].marks) {
      if (i == compared) xs.push_back(mark.x);
      if (i >= compared && std::isfinite(mark.y)) ys.push_back(mark.y);
    }
  if (ys.empty()) ys = {0, 1};
  const double most = *std::max_element(ys.begin(), ys.end());
  if (y_scale != Scale::linear)
    for (double& y : ys) y = std::max(y, deepest * most);
  else ys.push_back(0);
  for (const Layer& layer : layers)
    if (!layer.marks.empty())
      plot.description += fmt::format("{} from {} to {}. ", layer.legend, rounded(layer.marks.front().y),
                                      rounded(layer.marks.back().y));
  plot.x = fit_axis(x_scale, xs);
  plot.y = fit_axis(y_scale, ys);
  plot.layers = std::move(layers);
  Block block = figure(plot, "");
  block.is_small = true;
  return block;
}

/// Singular values over the largest, and how many hold a share of the energy of the head's scores.
Block values_chart(const std::string& id, const ProbeResults& r, const HeadProbe& head) {
  struct Kind {
    const char* name;
    const Values& values;
  };
  const tasks::HeadSpectra& s = head.spectra;
  std::vector<Layer> layers;
  for (const auto& [name, values] :
       {Kind{"scores", s.weighted}, {"W_QᵀW_K", s.product}, {"W_Q", s.query}, {"W_K", s.key}}) {
    Values numbers, shares;
    for (size_t i = 0; i < values.size(); ++i) {
      numbers.push_back(static_cast<double>(i + 1));
      shares.push_back(values[0] > 0 ? values[i] / values[0] : NAN);
    }
    Layer layer = line(name, category(layers.size()), numbers, shares);
    layer.style = static_cast<int>(layers.size());
    layers.push_back(std::move(layer));
  }
  Block block = chart(id, "Singular values over the largest", "number of the singular value", std::move(layers),
                      Scale::linear, Scale::log10);
  for (const double energy : r.energies)
    if (const double rank = effective_rank(s.weighted, energy); std::isfinite(rank))
      block.plot.guides.push_back({rank, fmt::format("{} of the scores’ energy: {}", percent(energy), rounded(rank))});
  return block;
}

Block numbers_table(const std::string& name, const std::vector<std::pair<std::string, Values>>& columns) {
  std::vector<std::vector<std::string>> cells(1 + columns[0].second.size());
  for (const auto& [head, values] : columns) {
    cells[0].push_back(head);
    for (size_t i = 0; i < values.size(); ++i) cells[1 + i].push_back(rounded(values[i]));
  }
  return cells_table(name, cells, {});
}

}  // namespace

std::vector<Blocks> head_details(const ProbeResults& r) {
  const std::vector<HeadMeasure> measures = head_measures(r);
  const Values by_length = medians(r, &HeadProbe::last), by_position = medians(r, &HeadProbe::at_position);
  Values lengths, positions, most_entropy;
  for (const tasks::ProbeSpans& own : r.probe.spans) lengths.push_back(static_cast<double>(own.length));
  for (const int64_t position : r.probe.positions) positions.push_back(static_cast<double>(position + 1));
  for (const double l : positions) most_entropy.push_back(std::log(l));
  const std::string of_position = "position of the query";
  const Colour own = category(0), second = category(1), third = category(2);

  std::vector<Blocks> all;
  for (const HeadProbe& head : r.probe.probes) {
    const std::string id = fmt::format("head-{}", all.size());
    Blocks out{heading(fmt::format("Layer {}, head {}", head.layer, head.head), 3)};
    std::string group;
    for (const HeadMeasure& measure : measures) {
      const bool is_new = measure.group != group;
      if (is_new) out.push_back(paragraph(measure.group + ":", Role::muted));
      group = measure.group;
      const std::string label = measure.label.starts_with("rank of ") ? measure.label.substr(8) : measure.label;
      Phrase& words = out.back().line;
      words.push_back({(is_new ? " " : " · ") + label + " "});
      words.push_back({.text = measure_text(measure, measure.value(head)), .is_strong = true});
    }
    const auto norms = [&](const char* name, const std::string& title, const std::string& x_label, const Values& x,
                           const Values& norm, const Values& median) {
      Values slope;
      for (const double at : x) slope.push_back(norm[0] * x[0] / at);
      return chart(id + name, title, x_label,
                   {dashed("slope −1", Colour::theory, x, slope),
                    dashed("median of all heads", Colour::muted, x, median), line("this head", own, x, norm)},
                   Scale::log2, Scale::log10, 1);
    };
    const auto last = [&](double QueryMeasures::*field) { return values_of(head.last, field); };
    const auto middle = [&](double QueryMeasures::*field) { return values_of(head.middle, field); };
    const auto at = [&](double QueryMeasures::*field) { return values_of(head.at_position, field); };
    const Values norm = last(&QueryMeasures::jacobian_norm), norm_at = at(&QueryMeasures::jacobian_norm);
    const Values logits_all = middle(&QueryMeasures::logits_rms_all),
                 logits_causal = middle(&QueryMeasures::logits_rms),
                 logits_centred = middle(&QueryMeasures::logits_deviation);
    const Values entropy = at(&QueryMeasures::entropy), largest = at(&QueryMeasures::largest),
                 sink = at(&QueryMeasures::sink_mass);
    out.push_back(norms("-norm", "Norm of softmax’s Jacobian, last query", "length L", lengths, norm, by_length));
    out.push_back(norms("-norm-at", fmt::format("The same by position, L = {}", r.longest()), of_position, positions,
                        norm_at, by_position));
    out.push_back(values_chart(id + "-values", r, head));
    out.push_back(chart(id + "-logits", "Norm of the logits over √L, query L/2", "length L",
                        {line("all keys", second, lengths, logits_all), line("causal", third, lengths, logits_causal),
                         line("centred", own, lengths, logits_centred)},
                        Scale::log2, Scale::linear));
    out.push_back(chart(id + "-entropy", "Entropy by position, nats", of_position,
                        {dashed("the most there can be", Colour::muted, positions, most_entropy),
                         line("this head", own, positions, entropy)},
                        Scale::log2, Scale::linear));
    out.push_back(chart(id + "-weights", "Weights by position", of_position,
                        {line("largest", second, positions, largest), line("first token", own, positions, sink)},
                        Scale::log2, Scale::linear));
    Values scaled;
    for (size_t i = 0; i < positions.size(); ++i) scaled.push_back(positions[i] * norm_at[i]);
    out.push_back(fold("The curves in numbers",
                       {numbers_table("By length", {{"L", lengths},
                                                    {"norm", norm},
                                                    {"± SE", head.norm_stderr},
                                                    {"logits/√L, all", logits_all},
                                                    {"causal", logits_causal},
                                                    {"centred", logits_centred},
                                                    {"entropy", last(&QueryMeasures::entropy)},
                                                    {"first token", last(&QueryMeasures::sink_mass)}}),
                        numbers_table("By position", {{"position", positions},
                                                      {"norm", norm_at},
                                                      {"l·norm", scaled},
                                                      {"entropy", entropy},
                                                      {"first token", sink},
                                                      {"largest", largest},
                                                      {"largest logit", at(&QueryMeasures::largest_logit)}})}));
    all.push_back(std::move(out));
  }
  return all;
}

}  // namespace headroom::experiments
