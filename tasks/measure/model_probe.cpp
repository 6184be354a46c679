#include "tasks/measure/model_probe.h"

#include <algorithm>
#include <cmath>

#include "engine/error.h"
#include "engine/rng.h"

namespace headroom::tasks {
namespace {

/// One piece of the text on its way through the layers.
struct Piece {
  size_t length = 0;  ///< which one of the lengths
  int64_t start = 0;
  std::vector<int64_t>
      queries;    ///< those that are measured: the middle one, the last, and on the longest all positions
  Tensor hidden;  ///< (1, L, D)
};

/// Every measure of a QueryMeasures.
constexpr double QueryMeasures::*const measure_fields[] = {
    &QueryMeasures::jacobian_norm,    &QueryMeasures::entropy,      &QueryMeasures::sink_mass,
    &QueryMeasures::largest,          &QueryMeasures::logits_rms,   &QueryMeasures::logits_rms_all,
    &QueryMeasures::logits_deviation, &QueryMeasures::largest_logit};

void add_share(QueryMeasures& mean, const QueryMeasures& own, double count) {
  for (const auto field : measure_fields) mean.*field += own.*field / count;
}

std::vector<int64_t> positions_of(int64_t length) {
  std::vector<int64_t> positions;
  for (int64_t l = 2; l <= length; l *= 2) positions.push_back(l - 1);
  if (positions.back() != length - 1) positions.push_back(length - 1);
  return positions;
}

/// Refuses what probe_model() refuses, before anything is computed.
void check_spans(const std::vector<ProbeSpans>& spans, const std::vector<int32_t>& tokens, std::optional<int64_t> bos,
                 int64_t vocab) {
  require(!spans.empty(), "probe: no pieces of a text");
  const auto count = static_cast<int64_t>(tokens.size());
  for (size_t i = 0; i < spans.size(); ++i) {
    require(spans[i].length >= 2, "probe: a length of {}; expected 2 tokens or more", spans[i].length);
    require(i == 0 || spans[i].length != spans[i - 1].length, "probe: length {} is given twice", spans[i].length);
    require(!spans[i].starts.empty(), "probe: no pieces of {} tokens", spans[i].length);
    for (const int64_t start : spans[i].starts)
      require(start >= 0 && start <= count - spans[i].length,
              "probe: {} tokens from token {} on are asked for, the text has {}", spans[i].length, start, count);
  }
  const auto check_id = [vocab](int64_t id) {
    require(id >= 0 && id < vocab, "probe: token {} is not in the model's vocabulary of {}", id, vocab);
  };
  for (const int32_t id : tokens) check_id(id);
  if (bos) check_id(*bos);
}

/// Adds what the pieces' queries show of one group of heads, the first of them `first_head` of its layer.
class LayerMeter {
 public:
  LayerMeter(ModelProbe& probe, size_t layer) : probe_(probe), layer_(layer) {}

  void add(const Piece& piece, const models::AttentionInputs& in) {
    if (in.group == 0) first_head_ = 0;
    const std::vector<QueryMeasures> measures = query_measures(in, piece.queries);
    const size_t queries = piece.queries.size(), heads = measures.size() / queries;
    const ProbeSpans& spans = probe_.spans[piece.length];
    const auto count = static_cast<double>(spans.starts.size());
    for (size_t h = 0; h < heads; ++h) {
      HeadProbe& head = probe_.probes[layer_ * static_cast<size_t>(probe_.heads) + first_head_ + h];
      const QueryMeasures* own = measures.data() + h * queries;
      add_share(head.middle[piece.length], own[0], count);
      add_share(head.last[piece.length], own[1], count);
      for (size_t i = 2; i < queries; ++i) add_share(head.at_position[i - 2], own[i], count);
      for (size_t i = 0; i < queries; ++i) head.largest_norm = std::max(head.largest_norm, own[i].jacobian_norm);
      head.norm_stderr[piece.length] += own[1].jacobian_norm * own[1].jacobian_norm / count;
    }
    if (piece.length + 1 == probe_.spans.size()) {
      if (moments_.size() <= in.group) moments_.resize(in.group + 1);
      moments_[in.group].add(in);
    }
    first_head_ += heads;
  }

  /// After all pieces: standard errors from the squares summed so far, and the spectra.
  void finish(const models::Attention& attention) {
    size_t head = layer_ * static_cast<size_t>(probe_.heads);
    for (size_t group = 0; group < moments_.size(); ++group)
      for (HeadSpectra& spectra : group_spectra(attention.group(group), moments_[group])) {
        HeadProbe& own = probe_.probes[head++];
        own.spectra = std::move(spectra);
        own.spectra.layer = own.layer;
        own.spectra.head = own.head;
        for (size_t i = 0; i < probe_.spans.size(); ++i) {
          const auto count = static_cast<double>(probe_.spans[i].starts.size());
          const double mean = own.last[i].jacobian_norm, square = own.norm_stderr[i];
          own.norm_stderr[i] = count > 1 ? std::sqrt(std::max(0.0, square - mean * mean) / (count - 1)) : 0;
        }
      }
  }

 private:
  ModelProbe& probe_;
  size_t layer_, first_head_ = 0;
  std::vector<ScoreMoments> moments_;  ///< per group
};

ModelProbe empty_probe(const models::TransformerConfig& config, std::vector<ProbeSpans> spans) {
  ModelProbe probe;
  probe.layers = config.layers;
  probe.heads = heads_per_layer(config);
  probe.positions = positions_of(spans.back().length);
  probe.spans = std::move(spans);
  const size_t lengths = probe.spans.size();
  for (int64_t layer = 0; layer < probe.layers; ++layer)
    for (int64_t head = 0; head < probe.heads; ++head)
      probe.probes.push_back({.layer = layer,
                              .head = head,
                              .last = std::vector<QueryMeasures>(lengths),
                              .middle = std::vector<QueryMeasures>(lengths),
                              .norm_stderr = std::vector<double>(lengths),
                              .at_position = std::vector<QueryMeasures>(probe.positions.size()),
                              .spectra = {}});
  return probe;
}

}  // namespace

std::vector<ProbeSpans> draw_spans(const std::vector<int64_t>& lengths, int64_t count, int64_t tokens, uint64_t seed) {
  require(count >= 1, "probe: {} pieces of each length", count);
  engine::Rng rng(seed);
  std::vector<ProbeSpans> spans;
  for (const int64_t length : lengths) {
    require(length >= 2, "probe: a length of {}; expected 2 tokens or more", length);
    require(length <= tokens, "probe: the text has {} tokens, a piece takes {}: use smaller lengths or a longer text",
            tokens, length);
    // A stream per length: what other lengths are asked for does not move these pieces.
    const engine::Tensor starts =
        engine::random_integers({count}, rng, "probe " + std::to_string(length), 0, tokens - length + 1);  // (count)
    spans.push_back({length, starts.to_vector<int64_t>()});
  }
  return spans;
}

ModelProbe probe_model(const models::Transformer& model, const std::vector<int32_t>& tokens,
                       std::vector<ProbeSpans> spans, std::optional<int64_t> bos,
                       const std::function<void(const ModelProbeProgress&)>& progress) {
  const models::TransformerConfig& config = model.config();
  require_probed(config);
  std::sort(spans.begin(), spans.end(), [](const ProbeSpans& a, const ProbeSpans& b) { return a.length < b.length; });
  check_spans(spans, tokens, bos, config.vocab);
  ModelProbe probe = empty_probe(config, std::move(spans));

  const autograd::NoGrad no_grad;
  std::vector<Piece> pieces;
  int64_t tokens_per_layer = 0;
  for (size_t i = 0; i < probe.spans.size(); ++i)
    for (const int64_t start : probe.spans[i].starts) {
      const int64_t length = probe.spans[i].length;
      Piece piece{.length = i, .start = start, .queries = {length / 2, length - 1}, .hidden = {}};
      if (i + 1 == probe.spans.size())
        piece.queries.insert(piece.queries.end(), probe.positions.begin(), probe.positions.end());
      std::vector<int64_t> ids(tokens.begin() + start, tokens.begin() + start + length - (bos ? 1 : 0));
      if (bos) ids.insert(ids.begin(), *bos);
      piece.hidden = model.embed(Tensor::from({1, length}, ids)).value();  // (1, L, D)
      pieces.push_back(std::move(piece));
      tokens_per_layer += length;
    }
  for (int64_t layer = 0; layer < probe.layers; ++layer) {
    const auto index = static_cast<size_t>(layer);
    LayerMeter meter(probe, index);
    int64_t tokens_done = 0;
    for (Piece& piece : pieces) {
      const int64_t length = probe.spans[piece.length].length;
      try {
        models::ForwardContext context;
        context.observer = [&](const models::AttentionInputs& in) { meter.add(piece, in); };
        piece.hidden = model.layer(index, autograd::Var(piece.hidden), context).value();  // (1, L, D)
      } catch (const Error& error) {
        throw error.in(fmt::format("layer {}, tokens [{}, {}) of the text", layer, piece.start, piece.start + length));
      }
      tokens_done += length;
      if (progress)
        progress({.layers_done = layer,
                  .layers = probe.layers,
                  .share = static_cast<double>(tokens_done) / static_cast<double>(tokens_per_layer)});
    }
    meter.finish(model.attention(index));
  }
  return probe;
}

}  // namespace headroom::tasks
