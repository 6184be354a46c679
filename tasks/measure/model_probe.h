#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tasks/measure/attention_probe.h"
#include "tasks/measure/head_spectra.h"

namespace headroom::tasks {

/// Spans of a tokenised text, all of one length: tokens [start, start + length) for each start.
struct ProbeSpans {
  int64_t length = 0;
  std::vector<int64_t> starts;
};

/// Draws `count` spans of each length from a text of `tokens` tokens, separately per length; equal seeds give equal
/// spans. Throws Error if a length is below 2 or beyond the text.
std::vector<ProbeSpans> draw_spans(const std::vector<int64_t>& lengths, int64_t count, int64_t tokens, uint64_t seed);

/// One head's measures, averaged over the spans of a length.
struct HeadProbe {
  int64_t layer = 0, head = 0;
  std::vector<QueryMeasures> last;         ///< of the last query, per length
  std::vector<QueryMeasures> middle;       ///< of query L/2 (from 0), per length
  std::vector<double> norm_stderr;         ///< of the last query's Jacobian norm, over spans; 0 for a single one
  std::vector<QueryMeasures> at_position;  ///< of the longest spans, for the queries at ModelProbe::positions
  double largest_norm = 0;                 ///< the largest Jacobian norm of all these queries
  HeadSpectra spectra;                     ///< with activations of the longest spans
};

struct ModelProbe {
  std::vector<ProbeSpans> spans;   ///< lengths rising
  std::vector<int64_t> positions;  ///< queries from 0: 1, 3, 7, … of the longest spans, and the last
  int64_t layers = 0, heads = 0;   ///< heads per layer
  std::vector<HeadProbe> probes;   ///< layer by layer
  const HeadProbe& at(int64_t layer, int64_t head) const { return probes[static_cast<size_t>(layer * heads + head)]; }
};

/// A probe's progress: whole layers done, and the share of the current one.
struct ModelProbeProgress {
  int64_t layers_done = 0, layers = 0;
  double share = 0;
};

/// Measures every head of a model. With `bos`, each span starts with that token, as models trained with it need, and
/// loses its last one. Runs layer after layer over all spans, so that weights in a mapped file are read once; keeps the
/// spans' hidden states, one (L, D) each. Throws Error if there are no spans, a length is below 2 or given twice, a
/// span lies outside the text, a token outside the vocabulary, or layers have unequal numbers of heads, and as
/// require_probed() and query_measures(), naming layer and span.
ModelProbe probe_model(const models::Transformer& model, const std::vector<int32_t>& tokens,
                       std::vector<ProbeSpans> spans, std::optional<int64_t> bos = std::nullopt,
                       const std::function<void(const ModelProbeProgress&)>& progress = {});

}  // namespace headroom::tasks
