#include "models/positions.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "engine/error.h"
#include "engine/ops/rope/rope.h"

namespace headroom::models {
namespace {

constexpr std::array position_table{
    PositionScheme{Positions::none, "none", "no", ActsOn::nothing, true},
    PositionScheme{Positions::sinusoidal, "sinusoidal", "sinusoidal", ActsOn::tokens, false, sinusoids},
    PositionScheme{Positions::learned, "learned", "learned", ActsOn::tokens, true},
    PositionScheme{Positions::rope, "rope", "RoPE", ActsOn::queries_and_keys, true},
    PositionScheme{Positions::alibi, "alibi", "ALiBi", ActsOn::scores, false},
    PositionScheme{Positions::rope_alibi, "rope_alibi", "RoPE and ALiBi", ActsOn::angles_and_scores, false},
};

}  // namespace

std::span<const PositionScheme> position_schemes() { return position_table; }

const PositionScheme& scheme_of(Positions positions) {
  for (const PositionScheme& scheme : position_table)
    if (scheme.positions == positions) return scheme;
  fail("positions: scheme {} has no row in the table", static_cast<int>(positions));
}

const PositionScheme& scheme_of(const TransformerConfig& config) { return scheme_of(config.positions); }

const PositionScheme& scheme_named(std::string_view name) {
  for (const PositionScheme& scheme : position_table)
    if (scheme.name == name) return scheme;
  fail("positions: there is no scheme {}", name);
}

Tensor sinusoids(int64_t length, int64_t width, engine::DType dtype) {
  std::vector<double> values;
  values.reserve(static_cast<size_t>(length * width));
  for (int64_t t = 0; t < length; ++t)
    for (int64_t c = 0; c < width; ++c) {
      const double exponent = -static_cast<double>(c - c % 2) / static_cast<double>(width);
      const double angle = static_cast<double>(t) * std::pow(10000.0, exponent);
      values.push_back(c % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  return Tensor::from({length, width}, values).to(dtype);  // (T, C)
}

Tensor position_indices(int64_t length) {
  const Tensor indices = Tensor::empty({length}, engine::DType::i64);  // (T)
  std::iota(indices.mutable_data<int64_t>(), indices.mutable_data<int64_t>() + length, int64_t{0});
  return indices;
}

std::vector<Tensor> alibi_log_slopes(const std::vector<HeadGroup>& groups, double first, double last,
                                     engine::DType dtype, int64_t distinct) {
  int64_t heads = 0, head = 0;
  for (const HeadGroup& group : groups) heads += group.heads;
  const int64_t slopes_of_all = distinct > 0 ? std::min(distinct, heads) : heads;
  std::vector<Tensor> slopes;
  for (const HeadGroup& group : groups) {
    std::vector<double> values;
    for (int64_t h = 0; h < group.heads; ++h, ++head) {
      const int64_t place = head * slopes_of_all / heads;
      const double share =
          slopes_of_all == 1 ? 0.5 : static_cast<double>(place) / static_cast<double>(slopes_of_all - 1);
      values.push_back(std::log(first) + share * (std::log(last) - std::log(first)));
    }
    slopes.push_back(Tensor::from({group.heads}, values).to(dtype));  // (H)
  }
  return slopes;
}

std::vector<double> partial_rope_frequencies(int64_t turned, int64_t dim, double base) {
  require(turned >= 2 && turned <= dim && turned % 2 == 0,
          "rope: turns {} numbers of a head of width {}; expected an even number from 2 to the width", turned, dim);
  std::vector<double> frequencies = engine::rope_frequencies(turned, base).to_vector<double>();
  frequencies.resize(static_cast<size_t>(dim / 2));
  return frequencies;
}

}  // namespace headroom::models
