#pragma once
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "experiments/output/document.h"
#include "experiments/tools/plan/plan_tables.h"
#include "experiments/tools/probe/probe_results.h"

namespace headroom::experiments {

/// A heading and its plain text.
struct ProbeFinding {
  std::string heading, text;
};

/// What can be won, counted, and what the measures say in words: where heads have width to spare, what the weights
/// alone would show of it, whether Theorem 2's slope is there and why not, sinks. Every number is computed from
/// `results`.
std::vector<ProbeFinding> probe_findings(const ProbeResults& results);

/// The limits of the measures.
std::vector<std::string> probe_limits(const ProbeResults& results);

/// Everything as JSON. `heads` has an object per head, layer after layer: `measures` by their ids, `by_length` the last
/// query's measures and, as logits_…, those of query L/2, in the order of `lengths`; `by_position` those of the longest
/// pieces' queries in the order of `positions` (from 1); `singular_values`, falling. What is not a number is null.
nlohmann::ordered_json probe_json(const ProbeResults& results);

/// A measure's value: an effective rank is a count, or between two; all else has three digits.
std::string measure_text(const HeadMeasure& measure, double value);

/// A row per layer, medians over its heads, and one over all heads; the first row has the heads of the columns.
Cells probe_layer_cells(const ProbeResults& results);

/// Descriptions of the columns of probe_layer_cells().
std::string probe_columns(const ProbeResults& results);

/// A row per head with every measure.
Cells probe_head_cells(const ProbeResults& results);

/// "SmolLM2 (llama): 30 layers of 9 heads of width 64, 3 key-value heads".
std::string probe_subject(const ProbeResults& results);

/// "wiki.test.raw, 303415 tokens; 10 pieces of each of 4, 8, 16 tokens".
std::string probe_source(const ProbeResults& results);

/// What the terminal shows in 80 columns: subject and source, the findings and what they do not say, the table by
/// layer.
std::string probe_text(const ProbeResults& results);

/// What a page shows of each head when it is chosen, layer after layer: every measure, the curves, and these in
/// numbers.
std::vector<Blocks> head_details(const ProbeResults& results);

/// Writes a self-contained page: what the measures say, a heat map of layers and heads for each measure, the curves of
/// the head that is chosen there, tables, what the measures do not say. The curves and the choice of a measure need the
/// page's script; tables and the first heat map do not. Throws Error naming the path when it cannot be written.
void write_probe_page(const std::filesystem::path& path, const ProbeResults& results);

}  // namespace headroom::experiments
