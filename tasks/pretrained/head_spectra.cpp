#include "tasks/pretrained/head_spectra.h"

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

/// Sums over tokens of x xᵀ and of x, for x of width d: what a second moment needs.
struct Moments {
  explicit Moments(int64_t width)
      : squares(Tensor::zeros({width, width}, DType::f64)), sums(Tensor::zeros({width}, DType::f64)) {}
  /// Rows `head` of x (1, T, H, d), f64.
  void add(const Tensor& x, int64_t head) {
    const int64_t length = x.dim(1), heads = x.dim(2), width = x.dim(3);
    auto *square = squares.mutable_data<double>(), *sum = sums.mutable_data<double>();
    for (int64_t t = 0; t < length; ++t) {
      const auto* row = x.data<double>() + (t * heads + head) * width;
      for (int64_t i = 0; i < width; ++i) {
        sum[i] += row[i];
        for (int64_t j = 0; j < width; ++j) square[i * width + j] += row[i] * row[j];
      }
    }
    count += static_cast<double>(length);
  }
  /// E[xxᵀ], or with `centred` the covariance: (d, d).
  Tensor moment(bool centred) const {
    const Tensor out = squares.clone();
    const int64_t width = sums.numel();
    auto* value = out.mutable_data<double>();
    const auto* sum = sums.data<double>();
    for (int64_t i = 0; i < width; ++i)
      for (int64_t j = 0; j < width; ++j)
        value[i * width + j] = value[i * width + j] / count - (centred ? sum[i] / count * (sum[j] / count) : 0);
    return out;
  }

  Tensor squares, sums;
  double count = 0;
};

/// Of one layer's heads.
struct LayerMoments {
  std::vector<Moments> queries, keys;  ///< per query head; per key head
};

/// Of every group of heads of every layer, in order.
std::map<std::pair<size_t, size_t>, LayerMoments> moments_of(const models::Transformer& model,
                                                             const TokenBatch& texts) {
  std::map<std::pair<size_t, size_t>, LayerMoments> all;
  models::ForwardContext context;
  context.observer = [&](const models::AttentionInputs& in) {
    const Tensor q = in.raw_q.to(DType::f64).contiguous(), k = in.raw_k.to(DType::f64).contiguous();
    LayerMoments& own = all[{in.layer, in.group}];
    if (own.queries.empty()) {
      for (int64_t h = 0; h < q.dim(2); ++h) own.queries.emplace_back(q.dim(3));
      for (int64_t h = 0; h < k.dim(2); ++h) own.keys.emplace_back(k.dim(3));
    }
    engine::parallel_ranges(q.dim(2) + k.dim(2), 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        if (i < q.dim(2)) own.queries[static_cast<size_t>(i)].add(q, i);
        else own.keys[static_cast<size_t>(i - q.dim(2))].add(k, i - q.dim(2));
      }
    });
  };
  for (const std::vector<int64_t>& text : texts) {
    require(!text.empty(), "head spectra: a text is empty");
    hidden_states(model, {text}, context);
  }
  return all;
}

std::vector<double> values_of(const Tensor& matrix) {
  return engine::linalg::singular_values(matrix).to_vector<double>();
}

}  // namespace

std::vector<HeadSpectra> head_spectra(const models::Transformer& model, const TokenBatch& texts) {
  require(!texts.empty(), "head spectra: no text");
  const auto moments = moments_of(model, texts);
  std::vector<HeadSpectra> out;
  const std::vector<models::LayerConfig> layers = models::layers_of(model.config());
  for (size_t layer = 0; layer < layers.size(); ++layer) {
    int64_t head_number = 0;
    for (size_t g = 0; g < layers[layer].groups.size(); ++g) {
      const models::HeadGroup& group = layers[layer].groups[g];
      const models::HeadGroupLayer& own = model.attention(layer).group(g);
      const Tensor wq = own.q_proj().weight().values(DType::f64);  // (H·d, D)
      const Tensor wk = own.k_proj().weight().values(DType::f64);  // (H_kv·d, D)
      const LayerMoments& seen = moments.at({layer, g});
      const int64_t d = group.qk_dim, shared = group.heads / group.key_value_heads();
      const size_t first = out.size();
      out.resize(first + static_cast<size_t>(group.heads));
      engine::parallel_ranges(group.heads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t h = begin; h < end; ++h) {
          HeadSpectra& spectra = out[first + static_cast<size_t>(h)];
          const int64_t kv = h / shared;
          const Tensor q = wq.slice(0, h * d, (h + 1) * d).contiguous();    // (d, D)
          const Tensor k = wk.slice(0, kv * d, (kv + 1) * d).contiguous();  // (d, D)
          spectra.layer = static_cast<int64_t>(layer);
          spectra.head = head_number + h;
          spectra.query = values_of(q);
          spectra.key = values_of(k);
          spectra.product =
              engine::linalg::singular_values_of_product(q.transpose(0, 1), k.transpose(0, 1)).to_vector<double>();
          const Tensor root_q = engine::linalg::sqrt_spd(seen.queries[static_cast<size_t>(h)].moment(false));
          const Tensor root_k = engine::linalg::sqrt_spd(seen.keys[static_cast<size_t>(kv)].moment(true));
          spectra.weighted = values_of(engine::matmul(root_q, root_k));  // of (d, d)
        }
      });
      head_number += group.heads;
    }
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
