#include <algorithm>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "engine/linalg/cholesky.h"
#include "engine/linalg/svd.h"
#include "engine/ops/concat/concat.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/ops/operators.h"
#include "tasks/measure/head_source.h"
#include "tasks/theory/low_rank_logits.h"
#include "tasks/theory/rope_errors.h"
#include "tests/tasks/theory/lemmas.h"

using namespace headroom;
using namespace headroom::tasks;
using namespace headroom::testing;
using engine::matmul;
using engine::Tensor;
namespace linalg = engine::linalg;

namespace {

/// (rows, columns) of f(i, j).
template <class F>
Tensor matrix(int64_t rows, int64_t columns, const F& f) {
  std::vector<double> values;
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j) values.push_back(f(static_cast<double>(i), static_cast<double>(j)));
  return Tensor::from<double>({rows, columns}, values);
}

HeadMaps maps_of(const nlohmann::json& row) {
  const int64_t dim = row["dH"], width = row["D"];
  const double scale = std::stod(row["scale"].get<std::string>());
  return {matrix(dim, width, [&](double i, double j) { return scale * std::sin(i * j + 1); }),
          matrix(dim, width, [&](double i, double j) { return scale * std::cos(0.7 * i * j + 0.3 * i + 0.2 * j); }), 1};
}

Tensor tokens_of(const nlohmann::json& row) {
  const int64_t width = row["D"];
  return matrix(width, row["L"], [&](double i, double t) {
    return std::sin(0.9 * (t + 1) * (i + 1) + 0.2 * i) / std::sqrt(static_cast<double>(width));
  });
}

/// The same numbers, row by row.
void check_values(const Tensor& found, const nlohmann::json& want) {
  std::vector<double> values;
  for (const nlohmann::json& row : want)
    if (row.is_array()) values.insert(values.end(), row.begin(), row.end());
    else values.push_back(row);
  const std::vector<double> numbers = found.to_vector<double>();
  REQUIRE(numbers.size() == values.size());
  for (size_t i = 0; i < values.size(); ++i)
    CHECK(numbers[i] == absolute(values[i], 1e-9 * std::abs(values[i]) + 1e-16));
}

/// A Aᵀ/D + 0.1 I
template <class F>
Tensor covariance(int64_t width, const F& f) {
  return matrix(width, width, [&](double i, double j) {
    double sum = 0;
    for (int64_t k = 0; k < width; ++k) sum += f(i, static_cast<double>(k)) * f(j, static_cast<double>(k));
    return sum / static_cast<double>(width) + (i == j ? 0.1 : 0);
  });
}

/// M − M_r, (D, D).
Tensor difference(const HeadMaps& maps, int64_t rank) {
  const LogitSvd svd = logit_svd(maps);
  return matmul(maps.wq, maps.wk, true) -
         matmul(balanced(svd.u, svd.s, rank), balanced(svd.v, svd.s, rank), false, true);
}

/// The inner product of two matrices.
double inner(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = a.to_vector<double>(), y = b.to_vector<double>();
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0);
}

/// Singular values of C_q^½ C_k^½, with C_q = W_Q C_x W_Qᵀ and C_k = W_K C_y W_Kᵀ: the best rank-r replacement of M for
/// inputs with these second moments has the error √(Σ_{i>r} s_i²) (slip 5 of the paper: the plain SVD ignores them).
std::vector<double> whitened_singular_values(const HeadMaps& maps, const Tensor& cx, const Tensor& cy) {
  const auto root = [](const Tensor& w, const Tensor& c) {  // l·lᵀ = w c wᵀ
    return linalg::cholesky(matmul(matmul(w, c), w, false, true));
  };
  return linalg::singular_values(matmul(root(maps.wq, cx), root(maps.wk, cy), true)).to_vector<double>();
}

/// The weighted error √tr(Eᵀ C_x E C_y) of the plain truncated SVD: tr(Eᵀ (C_x E C_y)) = Σ (C_x E) ∘ (E C_y).
double plain_weighted_error(const HeadMaps& maps, int64_t rank, const Tensor& cx, const Tensor& cy) {
  const Tensor error = difference(maps, rank);
  return std::sqrt(inner(matmul(cx, error), matmul(error, cy)));
}

}  // namespace

TEST_CASE("Corollary 2: the product's SVD, errors and bounds of every query") {
  const nlohmann::json& row = lemmas()["low_rank_logits"]["cases"][0];
  const HeadMaps maps = maps_of(row);
  const Tensor tokens = tokens_of(row);
  check_values(maps.wq, row["W_Q_values"]);
  check_values(maps.wk, row["W_K_values"]);
  const auto values = row["singular_values"].get<std::vector<double>>();
  const Tensor found = logit_svd(maps).s;
  for (size_t i = 0; i < values.size(); ++i) CHECK(found.data<double>()[i] == relative(values[i]));
  CHECK(spectral_norm(maps.wq) == relative(row["norm_W_Q"]));
  CHECK(spectral_norm(maps.wk) == relative(row["norm_W_K"]));
  REQUIRE(row["truncations"].size() == 5);
  const double slope = std::stod(row["alibi_slope"].get<std::string>());
  for (const nlohmann::json& want : row["truncations"]) {
    const int64_t rank = want["r"];
    CAPTURE(rank);
    const LowRankErrors errors = low_rank_errors(maps, tokens, rank, slope);
    CHECK(errors.sigma_next == relative(want["sigma_next"]));
    CHECK(errors.token_norm == relative(row["B_max_token_norm"]));
    CHECK(errors.norm == relative(row["norm_X"]));
    CHECK(errors.delta == relative(row["Delta"]));
    CHECK(slope * static_cast<double>(tokens.dim(1) - 1) == relative(row["R0"]));
    const Tensor truncation = difference(maps, rank);
    CHECK(spectral_norm(truncation) == relative(want["spectral_error"]));
    CHECK(std::sqrt(inner(truncation, truncation)) == relative(want["frobenius_error"]));
    for (size_t l = 0; l < errors.error.size(); ++l) {
      CAPTURE(l);
      CHECK(errors.error[l] == absolute(want["attention_error_per_query"][l], 1e-11));
      CHECK(std::exp(errors.ln_paper[l]) == relative(want["paper_bound_per_query"][l]));
      CHECK(std::exp(errors.ln_sharp[l]) == relative(want["sharper_bound_per_query"][l]));
      REQUIRE(want["paper_bound_holds"].get<bool>());
      REQUIRE(want["sharper_bound_holds"].get<bool>());
      CHECK(errors.error[l] <= std::exp(errors.ln_paper[l]));
      CHECK(errors.error[l] <= std::exp(errors.ln_sharp[l]));
    }
  }
}

TEST_CASE("what the inputs' moments change: the whitened optimum") {
  const nlohmann::json& row = lemmas()["low_rank_logits"]["cases"][0];
  const HeadMaps maps = maps_of(row);
  const Tensor cx = covariance(row["D"], [](double i, double j) { return std::sin(0.5 * i * j + 0.2 * i + 0.7); });
  const Tensor cy = covariance(row["D"], [](double i, double j) { return std::cos(0.4 * i * j + 0.3 * j); });
  check_values(matmul(matmul(maps.wq, cx), maps.wq, false, true), row["C_q_values"]);
  check_values(matmul(matmul(maps.wk, cy), maps.wk, false, true), row["C_k_values"]);
  const std::vector<double> values = whitened_singular_values(maps, cx, cy);
  for (size_t i = 0; i < values.size(); ++i) CHECK(values[i] == relative(row["whitened_singular_values"][i]));
  for (const nlohmann::json& want : row["whitened"]) {
    const int64_t rank = want["r"];
    double square = 0;
    for (size_t i = static_cast<size_t>(rank); i < values.size(); ++i) square += values[i] * values[i];
    CHECK(std::sqrt(square) == relative(want["optimal_weighted_error"]));
    const double plain = plain_weighted_error(maps, rank, cx, cy);
    CHECK(plain == relative(want["plain_svd_weighted_error"]));
    CHECK(plain > std::sqrt(square));
  }
}

TEST_CASE("the proposition on rotary positions, for both pairings") {
  for (const nlohmann::json& row : lemmas()["rope"]["cases"]) {
    const Pairing pairing = row["pairing"] == "interleaved" ? Pairing::interleaved : Pairing::half_split;
    const HeadMaps maps = maps_of(row);
    REQUIRE(row["ranks"].size() == 5);
    check_values(linalg::singular_values(maps.wq), row["sigma_W_Q"]);
    check_values(linalg::singular_values(maps.wk), row["sigma_W_K"]);
    const std::vector<double> norms = token_norms(tokens_of(row));
    CHECK(*std::max_element(norms.begin(), norms.end()) == relative(row["B_max_token_norm"]));
    for (const nlohmann::json& want : row["ranks"]) {
      CAPTURE(row["pairing"].get<std::string>(), want["r"].get<int>());
      const RopeErrors found = rope_errors(maps, tokens_of(row), want["r"], pairing, row["theta"]);
      CHECK(found.spectral == relative(want["max_spectral_error"]));
      CHECK(found.bound == relative(want["bound"]));
      CHECK(found.logit == relative(want["max_logit_error"]));
      CHECK(found.logit_bound == relative(want["logit_bound"]));
      CHECK(found.rank == want["max_rank"].get<int64_t>());
      REQUIRE(want["all_hold"].get<bool>());
      CHECK(found.spectral <= found.bound);
      CHECK(found.logit <= found.logit_bound);
      CHECK(found.least <= found.spectral);
      CAPTURE(want["best_rank_r_error_at_worst_offset"].get<double>(), found.least);
      CHECK(found.least == relative(want["best_rank_r_error_at_worst_offset"]));
    }
  }
}

TEST_CASE("a rotation turns pairs, and turns back") {
  for (const Pairing pairing : {Pairing::interleaved, Pairing::half_split}) {
    const Tensor there = rotation(6, 3, pairing, 100), back = rotation(6, -3, pairing, 100);
    for (int64_t i = 0; i < 6; ++i)
      for (int64_t j = 0; j < 6; ++j) CHECK(there.data<double>()[i * 6 + j] == back.data<double>()[j * 6 + i]);
  }
  CHECK(rotation(4, 1, Pairing::interleaved, 100).data<double>()[0] == relative(std::cos(1.0)));
  CHECK_THROWS_WITH(rotation(3, 1, Pairing::interleaved, 100), "rotation: the width 3 must be even");
}

TEST_CASE("low-rank heads refuse what makes no sense") {
  const HeadMaps maps = load_head({.width = 8, .head_dim = 4}, 1);
  const Tensor tokens = random_tokens(8, 5, 1, 1);
  CHECK_THROWS_WITH(low_rank_errors(maps, tokens, 4, 0), "low-rank logits: rank 4: expected 1 <= rank < d_H = 4");
  CHECK_THROWS_WITH(low_rank_errors(maps, random_tokens(7, 5, 1, 1), 2, 0), contains("must be (D = 8, L)"));
  CHECK_THROWS_WITH(rope_errors(maps, tokens, 0, Pairing::interleaved, 1e4),
                    "rope errors: rank 0: expected 1 <= rank < d_H = 4");
  CHECK_THROWS_WITH(load_head({.run = "/nowhere"}, 1), contains("/nowhere: has no weights of trained models; run"));
  CHECK_THROWS_WITH(load_head({.width = 0}, 1), "width, head_dim: expected >= 1, got 0 and 16");
  CHECK_THROWS_WITH(rope_errors(maps, tokens, 9, Pairing::interleaved, 1e4),
                    contains("rank 9: expected 1 <= rank < d_H = 4"));
  CHECK_THROWS_WITH(low_rank_errors(maps, tokens, 2, -1), "low-rank logits: slope -1 must be >= 0");
}

TEST_CASE("matrices with NaN or infinity") {
  const HeadMaps maps = load_head({.width = 8, .head_dim = 4}, 1);
  const Tensor tokens = random_tokens(8, 5, 1, 1);
  for (const double number : {std::nan(""), HUGE_VAL}) {
    const std::string text = number > 0 ? "holds inf" : "holds nan";
    const auto spoilt = [&](const Tensor& x) {
      Tensor copy = x.clone();
      copy.mutable_data<double>()[3] = number;
      return copy;
    };
    HeadMaps queries = maps, keys = maps;
    queries.wq = spoilt(maps.wq);
    keys.wk = spoilt(maps.wk);
    const auto of = [&](const char* name) { return contains(std::string(name) + ": " + text); };
    CHECK_THROWS_WITH(low_rank_errors(queries, tokens, 2, 0), of("low-rank logits: wq"));
    CHECK_THROWS_WITH(low_rank_errors(keys, tokens, 2, 0), of("low-rank logits: wk"));
    CHECK_THROWS_WITH(low_rank_errors(maps, spoilt(tokens), 2, 0), of("low-rank logits: tokens"));
    CHECK_THROWS_WITH(logit_svd(queries), of("low-rank logits: wq"));
    CHECK_THROWS_WITH(rope_errors(queries, tokens, 2, Pairing::half_split, 1e4), of("rope errors: wq"));
    CHECK_THROWS_WITH(rope_errors(maps, spoilt(tokens), 2, Pairing::half_split, 1e4), of("rope errors: tokens"));
    CHECK_THROWS_WITH(spectral_norm(spoilt(tokens)), contains(text));
  }
}

TEST_CASE("tokens that repeat, far fewer than the width: norms of matrices of low rank") {
  const int64_t width = 96, length = 12;
  const Tensor few = random_tokens(width, 3, 2, 1);
  std::vector<Tensor> columns;
  for (int64_t t = 0; t < length; ++t) columns.push_back(few.slice(1, t % 3, t % 3 + 1));
  const Tensor tokens = engine::concat(columns, 1);  // (D, L) of rank 3
  const LowRankErrors errors = low_rank_errors(load_head({.width = width, .head_dim = 8}, 1), tokens, 4, 0);
  CHECK(errors.norm == relative(spectral_norm(tokens)));
  CHECK(errors.norm == relative(spectral_norm(few) * std::sqrt(length / 3.0)));
  for (size_t l = 1; l < errors.error.size(); ++l) CHECK(std::log(errors.error[l]) < errors.ln_sharp[l]);
}

TEST_CASE("one token: its only key has all the attention, whatever the rank") {
  const HeadMaps maps = load_head({.width = 8, .head_dim = 4}, 1);
  const LowRankErrors errors = low_rank_errors(maps, random_tokens(8, 1, 2, 1), 2, 0.5);
  REQUIRE(errors.error.size() == 1);
  CHECK(errors.error[0] == 0);
  CHECK(std::isfinite(errors.ln_paper[0]));
  CHECK(std::isfinite(errors.ln_sharp[0]));
}
