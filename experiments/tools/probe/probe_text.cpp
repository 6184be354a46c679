#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <set>

#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/output/wrap.h"
#include "experiments/tools/probe/probe_output.h"

namespace headroom::experiments {
namespace {

/// All lines but the first indented.
std::string in_short_lines(const std::string& text) { return wrapped(text, 80, 2) + "\n"; }

/// The columns of the table by layer: a measure's id and a short head.
std::vector<std::pair<std::string, std::string>> short_columns(const ProbeResults& r) {
  std::vector<std::pair<std::string, std::string>> columns;
  if (r.probe.spans.size() > 1) columns.emplace_back("norm_slope", "slope");
  columns.insert(columns.end(), {{"logits_all", "logits"}, {"entropy", "entropy"}, {"sink_mass", "sink"}});
  for (const auto& [kind, label] :
       {std::pair{"query", "W_Q"}, {"key", "W_K"}, {"product", "W_QᵀW_K"}, {"scores", "scores"}})
    columns.emplace_back(fmt::format("rank_{}_{:g}", kind, r.energies.back()), label);
  for (auto energy = r.energies.rbegin() + 1; energy != r.energies.rend(); ++energy)
    columns.emplace_back(fmt::format("rank_scores_{:g}", *energy), percent(*energy));
  return columns;
}

}  // namespace

std::string measure_text(const HeadMeasure& measure, double value) {
  return value == 0 || measure.group == rank_group ? fmt::format("{:g}", value) : rounded(value);
}

Cells probe_layer_cells(const ProbeResults& r) {
  const std::vector<HeadMeasure> measures = head_measures(r);
  Cells cells = {{"layer"}};
  for (int64_t layer = 0; layer < r.probe.layers; ++layer) cells.push_back({std::to_string(layer)});
  cells.push_back({"all"});
  for (const auto& column : short_columns(r)) {
    const auto measure =
        std::find_if(measures.begin(), measures.end(), [&](const auto& m) { return m.id == column.first; });
    cells[0].push_back(column.second);
    const std::vector<double> values = of_heads(r, measure->value), medians = layer_medians(r, values);
    for (size_t layer = 0; layer < medians.size(); ++layer)
      cells[layer + 1].push_back(measure_text(*measure, medians[layer]));
    cells.back().push_back(measure_text(*measure, finite_quantile(values, 0.5)));
  }
  return cells;
}

Cells probe_head_cells(const ProbeResults& r) {
  const std::vector<HeadMeasure> measures = head_measures(r);
  Cells cells = {{"layer", "head"}};
  for (const HeadMeasure& measure : measures) cells[0].push_back(measure.label);
  for (const tasks::HeadProbe& head : r.probe.probes) {
    std::vector<std::string> row = {std::to_string(head.layer), std::to_string(head.head)};
    for (const HeadMeasure& measure : measures) row.push_back(measure_text(measure, measure.value(head)));
    cells.push_back(std::move(row));
  }
  return cells;
}

std::string probe_subject(const ProbeResults& r) {
  const std::string width = r.least_head_dim < r.head_dim ? fmt::format("{} to {}", r.least_head_dim, r.head_dim)
                                                          : std::to_string(r.head_dim);
  return fmt::format("{} ({}): {} of {} of width {}, {}", r.name, r.family, counted(r.probe.layers, "layer"),
                     counted(r.probe.heads, "head"), width, counted(r.kv_heads, "key-value head"));
}

std::string probe_source(const ProbeResults& r) {
  std::vector<int64_t> lengths;
  std::set<int64_t> counts;
  for (const tasks::ProbeSpans& spans : r.probe.spans) {
    lengths.push_back(spans.length);
    counts.insert(std::ssize(spans.starts));
  }
  return fmt::format(
      "{}, {} tokens; {}{} of each of {} tokens{}; text {}", std::filesystem::path(r.text).filename().string(),
      r.tokens, counts.size() > 1 ? fmt::format("{} to ", *counts.begin()) : "", counted(*counts.rbegin(), "piece"),
      fmt::join(lengths, ", "), r.cut.begin ? ", the first the beginning-of-text token" : "", r.cut.words());
}

std::string probe_columns(const ProbeResults& r) {
  std::string lower;
  for (auto energy = r.energies.rbegin() + 1; energy != r.energies.rend(); ++energy)
    lower += fmt::format("; at {}: the scores' at {}", percent(*energy), percent(*energy));
  return fmt::format(
      "Medians over the heads of a layer. Last query of {} tokens: {}entropy of its weights, in nats; sink, the weight "
      "of the first token. Query {}: logits, the norm of those of all keys over √L. W_Q to scores: effective ranks at "
      "{} of the energy, of at most {}{}.",
      r.longest(),
      r.probe.spans.size() > 1 ? "slope, of ln norm of softmax's Jacobian against ln L over all lengths L; " : "",
      r.longest() / 2, percent(r.energies.back()), r.head_dim, lower);
}

std::string probe_text(const ProbeResults& r) {
  std::string out = fmt::format("{}\n{}\n\n", probe_subject(r), probe_source(r));
  for (const ProbeFinding& finding : probe_findings(r))
    out += in_short_lines(finding.heading + ": " + finding.text) + "\n";
  out += "What these measures do not say:\n";
  for (const std::string& limit : probe_limits(r)) out += in_short_lines("- " + limit);
  out += fmt::format("\n{}\n{}\n", aligned(probe_layer_cells(r)), in_short_lines(probe_columns(r)));
  if (!r.unsuited.empty())
    return out + in_short_lines(fmt::format("headroom compress refuses this model: {}.", r.unsuited)) +
           fmt::format("\n{:.1f} s\n", r.seconds);
  const bool has_few_bits = r.savings.bytes > 0 && r.savings.bits_per_number() < q8_0_bits;
  out += fmt::format(
      "The smallest cache that raises the perplexity by at most 1 %, as measured on a text:\n"
      "  headroom compress {1} --calibrate TEXT -o FOLDER\n"
      "What rank {0}, half the width, would cost in perplexity{4}:\n"
      "  headroom compress {1} --part qk --method {2} --rank {0} \\\n"
      "    --calibrate TEXT --eval ANOTHER-TEXT --format compact --dtype {3} -o FOLDER\n",
      std::max<int64_t>(r.head_dim / 2, 1), shell_word(r.model), r.method,
      r.savings.bits_per_number() < 16 ? "q8_0" : "bf16",
      has_few_bits ? " (factors take 8.5 bits a number, so the files hardly shrink)" : "");
  if (r.family == "llama")  // which llama.cpp runs with layers that differ
    out += fmt::format(
        "A smaller file with a smaller cache that llama.cpp loads, without a tenth of the layers:\n"
        "  headroom compress {} --remove layers --keep 0.9 --format plain \\\n"
        "    --calibrate TEXT --eval ANOTHER-TEXT -o small.gguf\n",
        shell_word(r.model));
  return out + fmt::format("\n{:.1f} s\n", r.seconds);
}

}  // namespace headroom::experiments
