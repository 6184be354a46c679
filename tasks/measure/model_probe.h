#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "tasks/measure/attention_probe.h"
#include "tasks/measure/head_spectra.h"

namespace headroom::tasks {

/// Pieces of a tokenised text, all of one length: tokens [start, start + length) for each start.
struct ProbeSpans {
  int64_t length = 0;
  std::vector<int64_t> starts;
};

/// `count` pieces of each length from a text of that many tokens, drawn separately for each length; equal seeds give
/// equal pieces. Throws Error when a length is below 2, or beyond the text.
std::vector<ProbeSpans> draw_spans(const std::vector<int64_t>& lengths, int64_t count, int64_t tokens, uint64_t seed);

/// What is measured of one head. Measures are means over the pieces of a length.
struct HeadProbe {
  int64_t layer = 0, head = 0;
  std::vector<QueryMeasures> last;         ///< of the last query, per length
  std::vector<QueryMeasures> middle;       ///< of query L/2 (from 0), per length
  std::vector<double> norm_stderr;         ///< of the last query's Jacobian norm over the pieces; 0 for a single one
  std::vector<QueryMeasures> at_position;  ///< of the longest pieces' queries at ModelProbe::positions
  double largest_norm = 0;                 ///< the largest Jacobian norm of any of these queries
  HeadSpectra spectra;                     ///< with activations of the longest pieces
};

struct ModelProbe {
  std::vector<ProbeSpans> spans;   ///< lengths rising
  std::vector<int64_t> positions;  ///< queries from 0: 1, 3, 7, … of the longest pieces, and the last
  int64_t layers = 0, heads = 0;   ///< heads per layer
  std::vector<HeadProbe> probes;   ///< layer after layer
  const HeadProbe& at(int64_t layer, int64_t head) const { return probes[static_cast<size_t>(layer * heads + head)]; }
};

/// What is done of a probe: whole layers, and the share of the one that is under way.
struct ModelProbeProgress {
  int64_t layers_done = 0, layers = 0;
  double share = 0;
};

/// Measures every head of a model. `bos`: the token that the model needs at the beginning of a text stands before each
/// piece, as one of its tokens, and the last of the piece is left out. Layers run one after the other over all pieces,
/// so that weights that lie in a mapped file are read once. Kept meanwhile: the pieces' hidden states, one (L, D) each.
/// Throws Error when there are no pieces, a length occurs twice or is below 2, a piece lies outside the text, a token
/// outside the vocabulary, layers have unequal numbers of heads, and as require_probed() and query_measures(), naming
/// layer and piece.
ModelProbe probe_model(const models::Transformer& model, const std::vector<int32_t>& tokens,
                       std::vector<ProbeSpans> spans, std::optional<int64_t> bos = std::nullopt,
                       const std::function<void(const ModelProbeProgress&)>& progress = {});

}  // namespace headroom::tasks
