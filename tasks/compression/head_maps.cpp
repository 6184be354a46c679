#include "tasks/compression/head_maps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "engine/linalg/eigh.h"
#include "engine/linalg/qr.h"
#include "engine/linalg/spd.h"
#include "engine/linalg/svd.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/elementwise/binary.h"
#include "engine/ops/matmul/matmul.h"

namespace headroom::tasks {
namespace {

using engine::matmul;

Tensor transposed(const Tensor& a) { return a.transpose(0, 1).contiguous(); }

/// Row i of a (n, m) times scale[i].
Tensor scaled_rows(const Tensor& a, const std::vector<double>& scale) {
  const Tensor out = a.clone();
  auto* value = out.mutable_data<double>();
  for (int64_t i = 0; i < out.dim(0); ++i)
    for (int64_t j = 0; j < out.dim(1); ++j) value[i * out.dim(1) + j] *= scale[static_cast<size_t>(i)];
  return out;
}

double row_norm(const Tensor& a, int64_t i) {
  double sum = 0;
  for (int64_t j = 0; j < a.dim(1); ++j) sum += std::pow(a.data<double>()[i * a.dim(1) + j], 2);
  return std::sqrt(sum);
}

/// Σ_{i >= r} values[i] for r = 0 … d.
std::vector<double> sums_from(std::vector<double> values, int64_t dim) {
  values.resize(static_cast<size_t>(dim) + 1, 0.0);
  for (size_t i = values.size() - 1; i-- > 0;) values[i] += values[i + 1];
  return values;
}

std::vector<double> squared(const Tensor& s) {
  std::vector<double> values = s.to_vector<double>();
  for (double& value : values) value *= value;
  return values;
}

void add_to(std::vector<double>& sum, const std::vector<double>& term) {
  if (sum.empty()) sum.resize(term.size(), 0.0);
  for (size_t i = 0; i < term.size(); ++i) sum[i] += term[i];
}

/// x' = U_r U_rᵀ x.
LowRankMap projection_on(const Tensor& u) { return {u, transposed(u)}; }

/// W ≈ U_r U_rᵀ W.
LowRankMap plain_map(const Tensor& weight, std::vector<double>& tails) {
  const engine::linalg::SVD svd = engine::linalg::svd(weight);  // u (d, d), s (d), vt (d, D)
  add_to(tails, sums_from(squared(svd.s), weight.dim(0)));
  return projection_on(svd.u);
}

/// R (d, d) of W ᵀ = Q R, W (d, D).
Tensor r_of(const Tensor& weight) { return engine::linalg::qr(transposed(weight)).r; }

/// W Q Y Yᵀ Qᵀ as a map of W's rows, W = Rᵀ Qᵀ: left Rᵀ Y, right Yᵀ R⁻ᵀ.
LowRankMap within(const Tensor& r, const Tensor& y) {
  const Tensor rt = transposed(r);  // (d, d)
  return {matmul(rt, y), matmul(y, engine::linalg::pinv(rt), true)};
}

ScoreMaps product_maps(QkMethod method, const ScoreWeights& weights) {
  ScoreMaps maps;
  const Tensor rk = r_of(weights.key);  // (d, d)
  for (const Tensor& query : weights.queries) {
    const Tensor rq = r_of(query);                                                     // (d, d)
    const engine::linalg::SVD svd = engine::linalg::svd(matmul(rq, rk, false, true));  // of R_q R_kᵀ (d, d)
    add_to(maps.tails, sums_from(squared(svd.s), rq.dim(0)));
    LowRankMap q = within(rq, svd.u), k = within(rk, transposed(svd.vt));
    if (method == QkMethod::product_literal) {
      std::vector<double> roots = svd.s.to_vector<double>();
      for (double& root : roots) root = std::sqrt(root);
      q = {{}, scaled_rows(q.right, roots)}, k = {{}, scaled_rows(k.right, roots)};
    }
    maps.queries.push_back(std::move(q));
    maps.keys.push_back(std::move(k));
  }
  return maps;
}

ScoreMaps grouped_product_maps(const ScoreWeights& weights) {
  // The products W_Qᵀ W_K below each other are XᵀW_K with the queries' weights X (d, G·D) side by side.
  const Tensor rx = r_of(engine::concat(weights.queries, 1)), rk = r_of(weights.key);  // (d, d)
  const engine::linalg::SVD svd = engine::linalg::svd(matmul(rx, rk, false, true));    // (d, d)
  ScoreMaps maps;
  maps.tails = sums_from(squared(svd.s), rk.dim(0));
  maps.keys.push_back(within(rk, transposed(svd.vt)));
  // Each head's own product with the first r keys' directions has the range W_Qᵀ A_r, A the keys' left map.
  for (const Tensor& query : weights.queries) {
    const Tensor rq = r_of(query);  // (d, d)
    maps.queries.push_back(within(rq, engine::linalg::qr(matmul(rq, maps.keys[0].left)).q));
  }
  return maps;
}

/// Eigenvectors (d, d) of a second moment, of the largest eigenvalues first.
Tensor leading_vectors(const Tensor& moment, std::vector<double>* values = nullptr) {
  const engine::linalg::Eigh eigh = engine::linalg::eigh(moment);
  const int64_t width = moment.dim(0);
  const Tensor out = Tensor::zeros({width, width}, engine::DType::f64);  // (d, d)
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = 0; j < width; ++j)
      out.mutable_data<double>()[i * width + j] = eigh.vectors.data<double>()[i * width + width - 1 - j];
  if (values) {
    *values = eigh.values.to_vector<double>();
    std::reverse(values->begin(), values->end());
    for (double& value : *values) value = std::max(value, 0.0);
  }
  return out;
}

/// E[(q·k − q'·k')²] with q' = P_r P_rᵀ q, k' = S_r S_rᵀ k, for r = 0 … d: q and k of their own second moments. In the
/// bases P and S the moments are diagonal, a and b, and with G = Pᵀ S it is Σ_ij a_i b_j (G_ij − [i < r, j < r] G_ij)².
std::vector<double> projection_tails(const Tensor& p, const std::vector<double>& a, const Tensor& s,
                                     const std::vector<double>& b) {
  const Tensor g = matmul(p, s, true);  // (d, d)
  const int64_t width = g.dim(0);
  std::vector<double> left_out(static_cast<size_t>(width),
                               0.0);  // of what leaves first when the rank falls below i + 1
  for (int64_t i = 0; i < width; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const double own = g.data<double>()[i * width + j];
      left_out[static_cast<size_t>(std::max(i, j))] +=
          a[static_cast<size_t>(i)] * b[static_cast<size_t>(j)] * own * own;
    }
  return sums_from(left_out, width);
}

ScoreMaps pca_maps(const ScoreCovariances& c) {
  ScoreMaps maps;
  std::vector<double> a, b;
  const Tensor s = leading_vectors(c.key, &b);  // (d, d)
  maps.keys.push_back(projection_on(s));
  for (const Tensor& query : c.queries) {
    const Tensor p = leading_vectors(query, &a);  // (d, d)
    add_to(maps.tails, projection_tails(p, a, s, b));
    maps.queries.push_back(projection_on(p));
  }
  return maps;
}

/// Half of E|q_p|² E|k_p|², summed over the queries: the mean square of a pair's part of the scores where its angle is
/// uniform.
std::vector<double> pair_scores(const std::vector<Tensor>& queries, const Tensor& key, bool interleaved) {
  const std::vector<double> keys = pair_energies(key, interleaved);
  std::vector<double> scores(keys.size(), 0.0);
  for (const Tensor& query : queries) {
    const std::vector<double> own = pair_energies(query, interleaved);
    for (size_t p = 0; p < keys.size(); ++p) scores[p] += own[p] * keys[p] / 2;
  }
  return scores;
}

void add_pairs(ScoreMaps& maps, const std::vector<double>& scores) {
  std::vector<int64_t> order(scores.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t i, int64_t j) {
    return scores[static_cast<size_t>(i)] > scores[static_cast<size_t>(j)];
  });
  std::vector<double> rows(2 * scores.size(), 0.0);  // of ranks: a pair leaves when the rank falls below its second row
  for (size_t i = 0; i < scores.size(); ++i) rows[2 * i + 1] = scores[static_cast<size_t>(order[i])];
  add_to(maps.tails, sums_from(rows, std::ssize(rows)));
  maps.pairs.push_back(std::move(order));
}

ScoreMaps pair_maps(QkMethod method, const ScoreCovariances& c, bool interleaved) {
  ScoreMaps maps;
  if (!has_own_keys(method)) {
    add_pairs(maps, pair_scores(c.queries, c.key, interleaved));
    return maps;
  }
  for (const Tensor& query : c.queries) add_pairs(maps, pair_scores({query}, c.key, interleaved));
  return maps;
}

/// x' = B x, B = M^-½ U_r U_rᵀ M^½ of rank r: the least E(yᵀ(x − Bx))² for y of the second moment `met`, x of `own`.
LowRankMap whitened_map(const Tensor& met, const Tensor& own, std::vector<double>& tails) {
  const Tensor root = engine::linalg::sqrt_spd(met);                                                 // (d, d)
  const engine::linalg::SVD svd = engine::linalg::svd(matmul(root, engine::linalg::sqrt_spd(own)));  // of (d, d)
  add_to(tails, sums_from(squared(svd.s), met.dim(0)));
  return {matmul(engine::linalg::inverse_sqrt_spd(met), svd.u), matmul(svd.u, root, true)};
}

ScoreMaps relative_maps(const ScoreCovariances& c) {
  ScoreMaps maps;
  maps.keys.push_back(whitened_map(c.seen_queries, c.key, maps.tails));
  for (const Tensor& query : c.queries) maps.queries.push_back(whitened_map(c.seen_key, query, maps.tails));
  return maps;
}

/// Scores qᵀ B k, B = C_q^-½ U_r U_rᵀ C_q^½.
void add_whitened(ScoreMaps& maps, const Tensor& cq, const Tensor& ck, bool after_turn) {
  const Tensor root = engine::linalg::sqrt_spd(cq), inverse = engine::linalg::inverse_sqrt_spd(cq);  // (d, d)
  const engine::linalg::SVD svd = engine::linalg::svd(matmul(root, engine::linalg::sqrt_spd(ck)));
  add_to(maps.tails, sums_from(squared(svd.s), cq.dim(0)));
  const Tensor q = matmul(svd.u, inverse, true), k = matmul(svd.u, root, true);  // (d, d): Uᵀ C_q^∓½
  if (after_turn) {
    std::vector<double> up, down;
    for (int64_t i = 0; i < q.dim(0); ++i) {
      up.push_back(std::sqrt(row_norm(k, i) / row_norm(q, i)));
      down.push_back(1 / up.back());
    }
    maps.queries.push_back({{}, scaled_rows(q, up)});
    maps.keys.push_back({{}, scaled_rows(k, down)});
  } else {
    maps.queries.push_back({transposed(k), q});
    maps.keys.push_back({transposed(q), k});
  }
}

ScoreMaps whitened_maps(QkMethod method, const ScoreCovariances& c) {
  ScoreMaps maps;
  if (has_own_keys(method)) {
    for (const Tensor& query : c.queries) add_whitened(maps, query, c.key, maps_after_turn(method));
    return maps;
  }
  add_whitened(maps, sum_of(c.queries), c.key, maps_after_turn(method));
  maps.queries.resize(c.queries.size(), maps.queries[0]);
  return maps;
}

}  // namespace

Tensor sum_of(const std::vector<Tensor>& moments) {
  Tensor sum = moments.at(0);
  for (size_t i = 1; i < moments.size(); ++i) sum = engine::add(sum, moments[i]);
  return sum;
}

ScoreMaps score_maps(QkMethod method, const ScoreWeights& weights) {
  if (method == QkMethod::product_grouped) return grouped_product_maps(weights);
  if (method != QkMethod::plain) return product_maps(method, weights);
  ScoreMaps maps;
  for (const Tensor& query : weights.queries) maps.queries.push_back(plain_map(query, maps.tails));
  maps.keys.push_back(plain_map(weights.key, maps.tails));
  return maps;
}

ScoreMaps score_maps(QkMethod method, const ScoreCovariances& covariances, bool interleaved) {
  if (method == QkMethod::pca) return pca_maps(covariances);
  if (keeps_pairs(method)) return pair_maps(method, covariances, interleaved);
  if (method == QkMethod::whitened_relative) return relative_maps(covariances);
  return whitened_maps(method, covariances);
}

ValueMaps value_maps(const Tensor& output, const Tensor& moment) {
  const Tensor r = engine::linalg::qr(output).r;                         // (d, d): W_O = Q R
  const Tensor root = engine::linalg::sqrt_spd(moment);                  // (d, d)
  const engine::linalg::SVD svd = engine::linalg::svd(matmul(r, root));  // (d, d)
  return {.map = {matmul(root, svd.vt, false, true), matmul(svd.vt, engine::linalg::inverse_sqrt_spd(moment))},
          .tails = sums_from(squared(svd.s), moment.dim(0))};
}

std::vector<int64_t> even_pairs(int64_t dim, int64_t rank) {
  require(rank >= 2 && rank % 2 == 0 && dim % rank == 0, "pairs-even: a rank of {} of {}", rank, dim);
  std::vector<int64_t> pairs;
  for (int64_t i = 0; i < rank / 2; ++i) pairs.push_back(i * (dim / rank));
  return pairs;
}

}  // namespace headroom::tasks
