#include "experiments/tools/probe/probe_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

using tasks::HeadProbe;
using tasks::QueryMeasures;
using Values = std::vector<double>;

/// The median over all heads of a measure of each of some queries.
Values medians(const ProbeResults& r, std::vector<QueryMeasures> HeadProbe::*queries) {
  Values out;
  for (size_t i = 0; i < (r.probe.probes[0].*queries).size(); ++i)
    out.push_back(
        finite_quantile(of_heads(r, [&](const HeadProbe& head) { return (head.*queries)[i].jacobian_norm; }), 0.5));
  return out;
}

/// Style 1 is dashed, for what a head is compared with.
Layer line(const std::string& name, Colour colour, const Values& x, const Values& y, int style = 0) {
  Layer layer{.legend = name, .colour = colour, .style = style, .points = style == 0 && x.size() <= 24, .marks = {}};
  for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
    Mark& mark = layer.marks.emplace_back(Mark{x[i], y[i]});
    if (layer.points) mark.hover = fmt::format("{}, {}: {}", name, x[i], rounded(y[i]));
  }
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
  for (size_t i = 0; i < layers.size(); ++i) {
    for (const Mark& mark : layers[i].marks) {
      if (i == compared) xs.push_back(mark.x);
      if (i >= compared && std::isfinite(mark.y)) ys.push_back(mark.y);
    }
    if (const std::vector<Mark>& marks = layers[i].marks; !marks.empty())
      plot.description +=
          fmt::format("{} from {} to {}. ", layers[i].legend, rounded(marks.front().y), rounded(marks.back().y));
  }
  const double most = ys.empty() ? 1 : *std::max_element(ys.begin(), ys.end());
  if (y_scale == Scale::linear || ys.empty()) ys.push_back(0);
  else
    for (double& y : ys) y = std::max(y, deepest * most);
  plot.x = fit_axis(x_scale, xs);
  plot.y = fit_axis(y_scale, ys);
  plot.layers = std::move(layers);
  Block block = figure(plot, "");
  block.is_small = true;
  return block;
}

/// Singular values over the largest, and how many hold a share of the energy of the head's scores.
Block values_chart(const std::string& id, const ProbeResults& r, const tasks::HeadSpectra& s) {
  std::vector<Layer> layers;
  for (const auto& [name, values] : {std::pair<const char*, const Values*>{"scores", &s.weighted},
                                     {"W_QᵀW_K", &s.product},
                                     {"W_Q", &s.query},
                                     {"W_K", &s.key}}) {
    Values numbers, shares;
    for (const double value : *values) {
      numbers.push_back(static_cast<double>(numbers.size() + 1));
      shares.push_back(values->front() > 0 ? value / values->front() : NAN);
    }
    Layer& layer = layers.emplace_back(line(name, category(layers.size()), numbers, shares));
    layer.style = static_cast<int>(layers.size() - 1);
  }
  Block block = chart(id, "Singular values over the largest", "number of the singular value", std::move(layers),
                      Scale::linear, Scale::log10);
  for (const double energy : r.energies)
    if (const double rank = effective_rank(s.weighted, energy); std::isfinite(rank))
      block.plot.guides.push_back({rank, fmt::format("{} of the scores’ energy: {}", percent(energy), rounded(rank))});
  return block;
}

Block numbers_table(const std::string& name, const std::vector<std::string>& head, const std::vector<Values>& columns) {
  std::vector<std::vector<std::string>> cells(1 + columns[0].size());
  cells[0] = head;
  for (const Values& values : columns)
    for (size_t i = 0; i < values.size(); ++i) cells[1 + i].push_back(rounded(values[i]));
  return cells_table(name, cells, {});
}

/// Every measure of a head, a paragraph for each group.
Blocks measure_words(const std::vector<HeadMeasure>& measures, const HeadProbe& head) {
  Blocks out;
  std::string group;
  for (const HeadMeasure& measure : measures) {
    const bool is_new = measure.group != group;
    if (is_new) out.push_back(paragraph(measure.group + ":", Role::muted));
    group = measure.group;
    const std::string label = measure.label.starts_with("rank of ") ? measure.label.substr(8) : measure.label;
    out.back().line.push_back({(is_new ? " " : " · ") + label + " "});
    out.back().line.push_back({.text = measure_text(measure, measure.value(head)), .is_strong = true});
  }
  return out;
}

}  // namespace

std::vector<Blocks> head_details(const ProbeResults& r) {
  using M = QueryMeasures;
  const std::vector<HeadMeasure> measures = head_measures(r);
  const Values by_length = medians(r, &HeadProbe::last), by_position = medians(r, &HeadProbe::at_position);
  Values lengths, positions, most_entropy;
  for (const tasks::ProbeSpans& own : r.probe.spans) lengths.push_back(static_cast<double>(own.length));
  for (const int64_t position : r.probe.positions) {
    positions.push_back(static_cast<double>(position + 1));
    most_entropy.push_back(std::log(positions.back()));
  }
  const std::string by_query = "position of the query";
  const Colour own = category(0), second = category(1), third = category(2);

  std::vector<Blocks> all;
  for (const HeadProbe& head : r.probe.probes) {
    Blocks out{heading(fmt::format("Layer {}, head {}", head.layer, head.head), 3)};
    append(out, measure_words(measures, head));
    const auto of = [](const std::vector<M>& queries, double M::*field) {
      Values values;
      for (const M& query : queries) values.push_back(query.*field);
      return values;
    };
    const auto id = [&] { return fmt::format("head-{}-{}", all.size(), out.size()); };
    const auto norms = [&](const std::string& title, const std::string& x_label, const Values& x, const Values& norm,
                           const Values& median) {
      Values slope;
      for (const double at : x) slope.push_back(norm[0] * x[0] / at);
      out.push_back(chart(id(), title, x_label,
                          {line("slope −1", Colour::theory, x, slope, 1),
                           line("median of all heads", Colour::muted, x, median, 1), line("this head", own, x, norm)},
                          Scale::log2, Scale::log10, 1));
    };
    const auto linear = [&](const std::string& title, const std::string& x_label, std::vector<Layer> layers) {
      out.push_back(chart(id(), title, x_label, std::move(layers), Scale::log2, Scale::linear));
    };
    const Values norm = of(head.last, &M::jacobian_norm), norm_at = of(head.at_position, &M::jacobian_norm),
                 all_keys = of(head.middle, &M::logits_rms_all), causal = of(head.middle, &M::logits_rms),
                 centred = of(head.middle, &M::logits_deviation), entropy = of(head.at_position, &M::entropy),
                 largest = of(head.at_position, &M::largest), sink = of(head.at_position, &M::sink_mass);
    norms("Norm of softmax’s Jacobian, last query", "length L", lengths, norm, by_length);
    norms(fmt::format("The same by position, L = {}", r.longest()), by_query, positions, norm_at, by_position);
    out.push_back(values_chart(id(), r, head.spectra));
    linear("Norm of the logits over √L, query L/2", "length L",
           {line("all keys", second, lengths, all_keys), line("causal", third, lengths, causal),
            line("centred", own, lengths, centred)});
    linear("Entropy by position, nats", by_query,
           {line("the most there can be", Colour::muted, positions, most_entropy, 1),
            line("this head", own, positions, entropy)});
    linear("Weights by position", by_query,
           {line("largest", second, positions, largest), line("first token", own, positions, sink)});
    Values scaled;
    for (size_t i = 0; i < positions.size(); ++i) scaled.push_back(positions[i] * norm_at[i]);
    out.push_back(
        fold("The curves in numbers",
             {numbers_table("By length",
                            {"L", "norm", "± SE", "logits/√L, all", "causal", "centred", "entropy", "first token"},
                            {lengths, norm, head.norm_stderr, all_keys, causal, centred, of(head.last, &M::entropy),
                             of(head.last, &M::sink_mass)}),
              numbers_table(
                  "By position", {"position", "norm", "l·norm", "entropy", "first token", "largest", "largest logit"},
                  {positions, norm_at, scaled, entropy, sink, largest, of(head.at_position, &M::largest_logit)})}));
    all.push_back(std::move(out));
  }
  return all;
}

}  // namespace headroom::experiments
