#include "tasks/measure/head_spectra.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/linalg/spd.h"
#include "engine/linalg/svd.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/parallel.h"
#include "models/attention.h"

namespace headroom::tasks {
namespace {

using engine::DType;

std::vector<double> values_of(const Tensor& matrix) {
  return engine::linalg::singular_values(matrix).to_vector<double>();
}

/// Of each query head's C_q^½ C_k^½, whose keys are centred: those of the scores of all queries and keys, the mean of
/// each row taken out, over the square root of their number.
std::vector<std::vector<double>> score_spectra(const ScoreMoments& moments) {
  std::vector<std::vector<double>> out(moments.queries().size());
  const size_t shared = out.size() / moments.keys().size();
  engine::parallel_ranges(std::ssize(out), 1, [&](int64_t begin, int64_t end) {
    for (auto h = static_cast<size_t>(begin); h < static_cast<size_t>(end); ++h) {
      const Tensor root_q = engine::linalg::sqrt_spd(moments.queries()[h].moment(false));
      const Tensor root_k = engine::linalg::sqrt_spd(moments.keys()[h / shared].moment(true));
      out[h] = values_of(engine::matmul(root_q, root_k));  // of (d, d)
    }
  });
  return out;
}

}  // namespace

SecondMoments::SecondMoments(int64_t width)
    : squares_(Tensor::zeros({width, width}, DType::f64)), sums_(Tensor::zeros({width}, DType::f64)) {}

void SecondMoments::add(const Tensor& x, int64_t head) {
  constexpr int64_t at_once = 4;
  const int64_t length = x.dim(1), heads = x.dim(2), width = x.dim(3);
  auto *square = squares_.mutable_data<double>(), *sum = sums_.mutable_data<double>();
  const auto row = [&](int64_t t) { return x.data<double>() + (t * heads + head) * width; };
  for (int64_t t = 0; t < length; ++t)
    for (int64_t i = 0; i < width; ++i) sum[i] += row(t)[i];
  int64_t t = 0;
  for (; t + at_once <= length; t += at_once) {
    const double *a = row(t), *b = row(t + 1), *c = row(t + 2), *d = row(t + 3);
    for (int64_t i = 0; i < width; ++i) {
      double* own = square + i * width;
      // Token after token, as one at a time would add them: the sum's bits depend on it.
      for (int64_t j = i; j < width; ++j) own[j] = (((own[j] + a[i] * a[j]) + b[i] * b[j]) + c[i] * c[j]) + d[i] * d[j];
    }
  }
  for (; t < length; ++t)
    for (int64_t i = 0; i < width; ++i)
      for (int64_t j = i; j < width; ++j) square[i * width + j] += row(t)[i] * row(t)[j];
  count_ += static_cast<double>(length);
}

Tensor SecondMoments::moment(bool centred) const {
  const Tensor out = squares_.clone();  // (d, d)
  const int64_t width = sums_.numel();
  auto* value = out.mutable_data<double>();
  const auto* sum = sums_.data<double>();
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = i; j < width; ++j)
      value[j * width + i] = value[i * width + j] =
          value[i * width + j] / count_ - (centred ? sum[i] / count_ * (sum[j] / count_) : 0);
  return out;
}

void add_moments(MomentsByHead& moments, const Tensor& x) {
  const Tensor values = x.to(DType::f64).contiguous();  // (1, T, H, d)
  if (moments.empty())
    for (int64_t h = 0; h < values.dim(2); ++h) moments.emplace_back(values.dim(3));
  engine::parallel_ranges(values.dim(2), 1, [&](int64_t begin, int64_t end) {
    for (int64_t h = begin; h < end; ++h) moments[static_cast<size_t>(h)].add(values, h);
  });
}

void ScoreMoments::add(const Tensor& q, const Tensor& k) {
  add_moments(queries_, q);
  add_moments(keys_, k);
}

std::vector<HeadSpectra> group_spectra(const models::HeadGroupLayer& layer, const ScoreMoments& moments) {
  const auto heads = static_cast<int64_t>(moments.queries().size()),
             kv_heads = static_cast<int64_t>(moments.keys().size());
  require(heads > 0, "head spectra: no text");
  const Tensor wq = layer.q_proj().weight().values(DType::f64).to(engine::cpu);  // (H·d, D)
  const Tensor wk = layer.k_proj().weight().values(DType::f64).to(engine::cpu);  // (H_kv·d, D)
  const int64_t d = wq.dim(0) / heads, shared = heads / kv_heads;
  std::vector<std::vector<double>> keys(static_cast<size_t>(kv_heads));
  engine::parallel_ranges(kv_heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t kv = begin; kv < end; ++kv)
      keys[static_cast<size_t>(kv)] = values_of(wk.slice(0, kv * d, (kv + 1) * d).contiguous());  // of (d, D)
  });
  const std::vector<std::vector<double>> weighted = score_spectra(moments);
  std::vector<HeadSpectra> out(static_cast<size_t>(heads));
  engine::parallel_ranges(heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t h = begin; h < end; ++h) {
      HeadSpectra& spectra = out[static_cast<size_t>(h)];
      const int64_t kv = h / shared;
      const Tensor q = wq.slice(0, h * d, (h + 1) * d).contiguous();    // (d, D)
      const Tensor k = wk.slice(0, kv * d, (kv + 1) * d).contiguous();  // (d, D)
      spectra.head = h;
      spectra.query = values_of(q);
      spectra.key = keys[static_cast<size_t>(kv)];
      spectra.product =
          engine::linalg::singular_values_of_product(q.transpose(0, 1), k.transpose(0, 1)).to_vector<double>();
      spectra.weighted = weighted[static_cast<size_t>(h)];
    }
  });
  return out;
}

std::vector<TurnedSpectra> head_spectra(const models::Transformer& model, const TokenBatch& texts) {
  require(!texts.empty(), "head spectra: no text");
  struct Moments {
    ScoreMoments before, after;  // the rotary turn
  };
  std::map<std::pair<size_t, size_t>, Moments> moments;  // of every layer and group of heads
  models::ForwardContext context;
  context.observer = [&](const models::AttentionInputs& in) {
    Moments& own = moments[{in.layer, in.group}];
    own.before.add(in);
    own.after.add(in.q.value().to(engine::cpu), in.k.value().to(engine::cpu));
  };
  for (const std::vector<int64_t>& text : texts) {
    require(!text.empty(), "head spectra: a text is empty");
    hidden_states(model, {text}, context);
  }
  std::vector<TurnedSpectra> out;
  size_t layer = 0;
  int64_t first_head = 0;
  for (const auto& [place, own] : moments) {
    if (place.first != layer) layer = place.first, first_head = 0;
    const std::vector<std::vector<double>> turned = score_spectra(own.after);
    std::vector<HeadSpectra> group = group_spectra(model.attention(layer).group(place.second), own.before);
    for (size_t h = 0; h < group.size(); ++h) {
      group[h].layer = static_cast<int64_t>(layer);
      group[h].head += first_head;
      out.push_back({std::move(group[h]), turned[h]});
    }
    first_head += static_cast<int64_t>(own.before.queries().size());
  }
  return out;
}

int64_t effective_rank(const std::vector<double>& values, double energy) {
  require(energy > 0 && energy <= 1, "effective rank: an energy of {} is not in (0, 1]", energy);
  double largest = 0, total = 0, sum = 0;
  for (const double value : values) largest = std::max(largest, value);
  if (largest == 0) return 0;
  for (const double value : values) total += value / largest * (value / largest);
  for (size_t i = 0; i < values.size(); ++i) {
    sum += values[i] / largest * (values[i] / largest);
    if (sum >= energy * total) return static_cast<int64_t>(i) + 1;
  }
  return static_cast<int64_t>(values.size());
}

}  // namespace headroom::tasks
