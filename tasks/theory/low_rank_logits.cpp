#include "tasks/theory/low_rank_logits.h"

#include <algorithm>
#include <cmath>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/linalg/eigh.h"
#include "engine/linalg/svd.h"
#include "engine/ops/matmul/matmul.h"
#include "tasks/theory/softmax_jacobian.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::matmul;
using engine::Tensor;
namespace linalg = engine::linalg;

void check(const HeadMaps& maps) {
  require(maps.wq.rank() == 2 && maps.wq.shape() == maps.wk.shape() && maps.wq.dim(0) <= maps.wq.dim(1),
          "low-rank logits: wq {} and wk {} must be (d_H, D), d_H <= D", maps.wq.str(), maps.wk.str());
  require_finite("low-rank logits: wq", maps.wq);
  require_finite("low-rank logits: wk", maps.wk);
}

void check(const HeadMaps& maps, int64_t rank) {
  check(maps);
  require(rank >= 1 && rank < maps.wq.dim(0), "low-rank logits: rank {}: expected 1 <= rank < d_H = {}", rank,
          maps.wq.dim(0));
}

/// Probabilities of query l over keys 0 … l, from q (L, r) and k (L, r).
std::vector<double> attention(const Tensor& q, const Tensor& k, int64_t l, double scale, double slope) {
  const int64_t width = q.dim(1);
  std::vector<double> p(static_cast<size_t>(l) + 1);
  for (int64_t j = 0; j <= l; ++j) {
    double z = 0;
    for (int64_t i = 0; i < width; ++i) z += q.data<double>()[l * width + i] * k.data<double>()[j * width + i];
    p[static_cast<size_t>(j)] = scale * z - slope * static_cast<double>(l - j);
  }
  const double top = *std::max_element(p.begin(), p.end());
  double sum = 0;
  for (double& value : p) sum += value = std::exp(value - top);
  for (double& value : p) value /= sum;
  return p;
}

/// prefix_norms() of few tokens: their own Gram matrix (L, L), whose leading blocks are those of the first l.
std::vector<double> prefix_norms_of_few(const Tensor& tokens) {
  const Tensor gram = matmul(tokens, tokens, true);  // (L, L)
  std::vector<double> norms;
  for (int64_t l = 1; l <= tokens.dim(1); ++l) {
    const Tensor leading = gram.slice(0, 0, l).slice(1, 0, l).contiguous();  // (l, l)
    norms.push_back(std::sqrt(linalg::eigh(leading).values.data<double>()[l - 1]));
  }
  return norms;
}

/// ‖X_{1..l}‖₂ for every l: roots of the largest eigenvalues of growing Gram matrices.
std::vector<double> prefix_norms(const Tensor& tokens) {
  const int64_t width = tokens.dim(0), length = tokens.dim(1);
  constexpr int64_t wide = 256;  // from here on a (D, D) matrix for every token costs seconds
  if (width >= wide && length < width) return prefix_norms_of_few(tokens);
  const Tensor gram = Tensor::zeros({width, width}, DType::f64);
  auto* g = gram.mutable_data<double>();
  const double* x = tokens.data<double>();
  std::vector<double> norms;
  for (int64_t t = 0; t < length; ++t) {
    for (int64_t i = 0; i < width; ++i)
      for (int64_t j = 0; j < width; ++j) g[i * width + j] += x[i * length + t] * x[j * length + t];
    norms.push_back(std::sqrt(linalg::eigh(gram).values.data<double>()[width - 1]));
  }
  return norms;
}

}  // namespace

double spectral_norm(const Tensor& a) { return a.numel() == 0 ? 0 : linalg::singular_values(a).slice(-1, 0, 1).item(); }

LogitSvd logit_svd(const HeadMaps& maps) {
  check(maps);
  const linalg::SVD svd = linalg::svd_of_product(maps.wq.transpose(0, 1), maps.wk.transpose(0, 1));
  return {svd.u, svd.s, svd.vt.transpose(0, 1).contiguous()};
}

Tensor balanced(const Tensor& a, const Tensor& s, int64_t rank) {
  Tensor out = a.slice(1, 0, rank).clone();  // (D, r)
  auto* data = out.mutable_data<double>();
  for (int64_t i = 0; i < out.numel(); ++i) data[i] *= std::sqrt(s.data<double>()[i % rank]);
  return out;
}

std::vector<double> token_norms(const Tensor& tokens) {
  const int64_t length = tokens.dim(1);
  std::vector<double> norms;
  for (int64_t t = 0; t < length; ++t) {
    double square = 0;
    for (int64_t i = 0; i < tokens.dim(0); ++i) square += std::pow(tokens.data<double>()[i * length + t], 2);
    norms.push_back(std::sqrt(square));
  }
  return norms;
}

void check_low_rank(const HeadMaps& maps, int64_t rank) {
  check(maps, rank);
  require(!maps.rope_base,
          "low-rank logits: the head has rotary positions, its logits are no W_Qᵀ W_K; see rope errors");
  require(maps.is_causal,
          "low-rank logits: the head was trained without a causal mask; the corollary's queries look back");
}

LowRankErrors low_rank_errors(const HeadMaps& maps, const Tensor& tokens, int64_t rank, double alibi_slope) {
  check_low_rank(maps, rank);
  require(tokens.rank() == 2 && tokens.dim(0) == maps.wq.dim(1) && tokens.dim(1) >= 1,
          "low-rank logits: tokens {} must be (D = {}, L)", tokens.str(), maps.wq.dim(1));
  require(alibi_slope >= 0 && std::isfinite(alibi_slope), "low-rank logits: slope {} must be >= 0", alibi_slope);
  require_finite("low-rank logits: tokens", tokens);
  const engine::ReferenceScope truth;  // what the bound is held against
  const LogitSvd svd = logit_svd(maps);
  const Tensor q = matmul(tokens, maps.wq, true, true), k = matmul(tokens, maps.wk, true, true);  // (L, d_H)
  const Tensor low_q = matmul(tokens, balanced(svd.u, svd.s, rank), true);                        // (L, r)
  const Tensor low_k = matmul(tokens, balanced(svd.v, svd.s, rank), true);
  const int64_t length = tokens.dim(1);
  const std::vector<double> norms = prefix_norms(tokens);
  LowRankErrors errors;
  errors.sigma_first = svd.s.data<double>()[0];
  errors.sigma_next = svd.s.data<double>()[rank];
  errors.norm = norms.back();
  const std::vector<double> sizes = token_norms(tokens);
  errors.token_norm = *std::max_element(sizes.begin(), sizes.end());
  errors.delta = maps.scale * spectral_norm(maps.wq) * spectral_norm(maps.wk) * errors.token_norm * errors.token_norm +
                 alibi_slope * static_cast<double>(length - 1);
  require(std::isfinite(errors.delta), "low-rank logits: Delta is {}; maps and tokens are too large", errors.delta);
  const double ln_change = std::log(maps.scale * errors.sigma_next);
  for (int64_t l = 0; l < length; ++l) {
    engine::check_stopped();
    const std::vector<double> full = attention(q, k, l, maps.scale, alibi_slope);
    const std::vector<double> low = attention(low_q, low_k, l, maps.scale, alibi_slope);
    double square = 0;
    for (size_t j = 0; j < full.size(); ++j) square += std::pow(full[j] - low[j], 2);
    errors.error.push_back(std::sqrt(square));
    const double ln_paper = ln_softmax_bound(errors.delta, l + 1);
    errors.ln_paper.push_back(ln_paper + 2 * std::log(errors.norm) + ln_change);
    const auto at = static_cast<size_t>(l);
    errors.ln_sharp.push_back(std::min(std::log(0.5), ln_paper - std::log(2)) + std::log(norms[at]) +
                              std::log(sizes[at]) + ln_change);
  }
  return errors;
}

}  // namespace headroom::tasks
