#include "tasks/compression/calibration.h"

#include <cmath>
#include <numbers>

#include "engine/error.h"
#include "engine/finite.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/concat/concat.h"
#include "models/positions.h"

namespace headroom::tasks {
namespace {

using engine::DType;

void require_calibrated(const models::TransformerConfig& config, const CalibrationOptions& options) {
  require(config.causal, "calibration: the model is not causal");
  require(models::scheme_of(config).has_plain_scores(), "calibration: the model biases its scores by distance (ALiBi)");
  size_t layer = 0;
  for (const models::LayerConfig& own : models::layers_of(config)) {
    require(own.groups.size() == 1, "calibration: layer {} has {} groups of heads; expected 1", layer,
            own.groups.size());
    ++layer;
  }
  for (const int64_t wanted : options.layers)
    require(wanted >= 0 && wanted < config.layers, "calibration: there is no layer {}, the model has {}", wanted,
            config.layers);
}

/// Heads [begin, end) of x (1, T, H, d).
Tensor heads_of(const Tensor& x, int64_t begin, int64_t end) { return x.slice(2, begin, end).contiguous(); }

void observe_joined(LayerMoments& moments, const models::AttentionInputs& in) {
  const Tensor &q = in.q.value(), &values = in.v.value();
  const int64_t kv_heads = in.k.dim(2), shared = q.dim(2) / kv_heads, length = q.dim(1);
  std::vector<Tensor> keys;
  for (int64_t kv = 0; kv + 1 < kv_heads; ++kv) {
    const Tensor k = heads_of(in.k.value(), kv, kv + 2);                                       // (1, T, 2, d)
    const Tensor v = heads_of(values, kv, kv + 2).reshape({1, length, 1, 2 * values.dim(3)});  // (1, T, 1, 2d_v)
    const Tensor y = engine::attention(heads_of(q, kv * shared, (kv + 2) * shared), k, engine::concat({v, v}, 2), {},
                                       in.options)
                         .y.to(engine::cpu)
                         .to(DType::f64);                        // (1, T, 2G, 2d_v)
    keys.push_back(k.reshape({1, length, 1, 2 * in.k.dim(3)}));  // (1, T, 1, 2d)
    if (std::ssize(moments.joined_outputs) == kv) moments.joined_outputs.emplace_back(y.dim(3));
    for (int64_t head = 0; head < y.dim(2); ++head) moments.joined_outputs[static_cast<size_t>(kv)].add(y, head);
  }
  if (!keys.empty()) add_moments(moments.joined_keys, engine::concat(keys, 2).to(engine::cpu));
}

/// Sums are kept on the CPU, in f64, wherever the model is.
void observe(LayerMoments& moments, const CalibrationNeeds& needs, const models::AttentionInputs& in) {
  if (needs.before_turn) moments.before.add(in.raw_q.to(engine::cpu), in.raw_k.to(engine::cpu));
  if (needs.after_turn) moments.after.add(in.q.value().to(engine::cpu), in.k.value().to(engine::cpu));
  if (needs.joined) observe_joined(moments, in);
  if (!needs.outputs && !needs.whole_outputs) return;
  const Tensor y =
      engine::attention(in.q.value(), in.k.value(), in.v.value(), {}, in.options).y.to(engine::cpu);  // (1, T, H, d_v)
  if (needs.outputs) add_moments(moments.outputs, y);
  if (needs.whole_outputs)
    add_moments(moments.whole_outputs, y.reshape({1, y.dim(1), 1, y.dim(2) * y.dim(3)}));  // (1, T, 1, H·d_v)
}

}  // namespace

Tensor Calibration::shrunk(const SecondMoments& moments, bool centred) const { return shrunk(moments.moment(centred)); }

Tensor Calibration::shrunk(const Tensor& moment) const {
  const Tensor out = moment.clone();  // (d, d)
  const int64_t width = out.dim(0);
  auto* value = out.mutable_data<double>();
  double trace = 0;
  for (int64_t i = 0; i < width; ++i) trace += value[i * width + i];
  require(std::isfinite(trace), "calibration: a head's activations are not finite");
  const double ridge = trace > 0 ? shrinkage * trace / static_cast<double>(width) : 1;
  for (int64_t i = 0; i < width; ++i) value[i * width + i] += ridge;
  return out;
}

std::string Calibration::shortage(int64_t head_dim) const {
  if (tokens >= head_dim) return "";
  return fmt::format(
      "the calibration text has {} tokens, a head {} dimensions: second moments are singular, and their roots are "
      "those "
      "of C + {:g} mean(diag C) I",
      tokens, head_dim, shrinkage);
}

Calibration calibrate(const models::Transformer& model, const TokenBatch& texts, const CalibrationOptions& options) {
  require(!texts.empty(), "calibration: no text");
  require_calibrated(model.config(), options);
  const int64_t layers = model.config().layers;
  const int64_t end = options.layers.empty() ? layers : *options.layers.rbegin() + 1;
  Calibration out;
  out.has = options.needs;
  out.layers.resize(static_cast<size_t>(layers));
  models::ForwardContext context;
  context.observer = [&](const models::AttentionInputs& in) {
    if (options.layers.empty() || options.layers.contains(static_cast<int64_t>(in.layer)))
      observe(out.layers[in.layer], options.needs, in);
  };
  const autograd::NoGrad no_grad;
  std::vector<Tensor> states;  // (1, T, D) of each text
  for (const std::vector<int64_t>& text : texts) {
    require(!text.empty(), "calibration: a text is empty");
    out.tokens += std::ssize(text);
    out.longest = std::max<int64_t>(out.longest, std::ssize(text));
    states.push_back(model.embed(Tensor::from({1, static_cast<int64_t>(text.size())}, text)).value());  // (1, T, D)
  }
  for (int64_t layer = 0; layer < end; ++layer) {
    run_layers(model, states, layer, layer + 1, context);
    for (const Tensor& state : states)
      if (const auto bad = engine::first_not_finite(state))
        fail("calibration: what comes out of layer {} holds {}", layer, *bad);
    if (options.progress) options.progress(layer + 1, end);
  }
  return out;
}

std::vector<double> pair_energies(const Tensor& moment, bool interleaved) {
  const int64_t width = moment.dim(0), pairs = width / 2;
  const auto* value = moment.data<double>();
  const auto square = [&](int64_t i) { return value[i * width + i]; };
  std::vector<double> energies;
  for (int64_t p = 0; p < pairs; ++p)
    energies.push_back(interleaved ? square(2 * p) + square(2 * p + 1) : square(p) + square(p + pairs));
  return energies;
}

Tensor turned_moment(const Tensor& moment, const std::vector<double>& frequencies, bool interleaved, int64_t length,
                     bool back) {
  const int64_t width = moment.dim(0), pairs = width / 2;
  require(std::ssize(frequencies) == pairs, "a moment of {} turns with {} frequencies", moment.str(),
          frequencies.size());
  const Tensor out = Tensor::zeros({width, width}, engine::DType::f64);  // (d, d)
  std::vector<int64_t> distances{0};
  for (double d = 1; d < static_cast<double>(length); d *= std::numbers::sqrt2)
    if (static_cast<int64_t>(d) != distances.back()) distances.push_back(static_cast<int64_t>(d));
  const auto first = [&](int64_t p) { return interleaved ? 2 * p : p; };
  const auto second = [&](int64_t p) { return interleaved ? 2 * p + 1 : p + pairs; };
  const double share = 1 / static_cast<double>(distances.size());
  const auto* in = moment.data<double>();
  auto* sum = out.mutable_data<double>();
  for (const int64_t distance : distances) {
    std::vector<double> cosine, sine;
    for (const double f : frequencies) {
      const double angle = static_cast<double>(back ? -distance : distance) * f;
      cosine.push_back(std::cos(angle)), sine.push_back(std::sin(angle));
    }
    for (int64_t p = 0; p < pairs; ++p)
      for (int64_t q = 0; q < pairs; ++q) {
        const auto at = [&](int64_t i, int64_t j) { return i * width + j; };
        const auto pc = cosine[static_cast<size_t>(p)], ps = sine[static_cast<size_t>(p)];
        const auto qc = cosine[static_cast<size_t>(q)], qs = sine[static_cast<size_t>(q)];
        const double aa = in[at(first(p), first(q))], ab = in[at(first(p), second(q))];
        const double ba = in[at(second(p), first(q))], bb = in[at(second(p), second(q))];
        // The block's rows turn by p's angle, its columns by q's.
        const double ra = pc * aa - ps * ba, rb = pc * ab - ps * bb, sa = ps * aa + pc * ba, sb = ps * ab + pc * bb;
        sum[at(first(p), first(q))] += share * (qc * ra - qs * rb);
        sum[at(first(p), second(q))] += share * (qs * ra + qc * rb);
        sum[at(second(p), first(q))] += share * (qc * sa - qs * sb);
        sum[at(second(p), second(q))] += share * (qs * sa + qc * sb);
      }
  }
  return out;
}

TokenBatch pieces_of(const std::vector<int32_t>& tokens, int64_t begin, int64_t end, int64_t context,
                     std::optional<int64_t> bos) {
  const int64_t count = std::ssize(tokens), own = context - (bos ? 1 : 0);
  require(own >= 2, "pieces of {} tokens are too short", context);
  require(begin >= 0 && begin < end && end <= count, "tokens {}:{} are not in the text, which has {}", begin, end,
          count);
  TokenBatch pieces;
  for (int64_t from = begin; from < end; from += own) {
    const int64_t to = std::min(from + own, end);
    if (to - from == 1 && from > begin) break;
    std::vector<int64_t> piece(tokens.begin() + from, tokens.begin() + to);
    if (bos) piece.insert(piece.begin(), *bos);
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

}  // namespace headroom::tasks
