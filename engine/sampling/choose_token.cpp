#include "engine/sampling/choose_token.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/error.h"

namespace headroom::engine {
namespace {

using Candidate = std::pair<int64_t, double>;  ///< id, logit

bool likelier(const Candidate& a, const Candidate& b) {
  return a.second != b.second ? a.second > b.second : a.first < b.first;
}

/// The likeliest, the one of the least id among equals; -1 where one is NaN or +inf, or all are -inf.
template <class T>
int64_t likeliest(const T* logits, int64_t vocab) {
  int64_t best = 0;
  bool possible = true;
  for (int64_t id = 0; id < vocab; ++id) {
    possible &= logits[id] < T(HUGE_VAL);  // false for NaN, too
    if (logits[id] > logits[best]) best = id;
  }
  return possible && logits[best] > -T(HUGE_VAL) ? best : -1;
}

template <class T>
int64_t chosen(const T* logits, int64_t vocab, const TokenFilter& filter, const RngKey& key) {
  const int64_t best = likeliest(logits, vocab);
  if (best < 0 || filter.temperature == 0) return best;
  const auto largest = static_cast<double>(logits[best]);
  std::vector<Candidate> left;
  left.reserve(static_cast<size_t>(vocab));
  for (int64_t id = 0; id < vocab; ++id) left.emplace_back(id, static_cast<double>(logits[id]));
  if (filter.top_k > 0 && filter.top_k < vocab) {
    std::nth_element(left.begin(), left.begin() + filter.top_k, left.end(), likelier);
    left.resize(static_cast<size_t>(filter.top_k));
  }
  const auto share_of = [&](const Candidate& candidate) {  // of the likeliest's probability
    return std::exp((candidate.second - largest) / filter.temperature);
  };
  // Sorted only as far as it is looked at, which is mostly a few of the vocabulary.
  size_t sorted = 0;
  const auto at = [&](size_t i) -> const Candidate& {
    while (sorted <= i) {
      const size_t end = std::min(left.size(), std::max<size_t>(512, 4 * sorted));
      const auto place = [&](size_t n) { return left.begin() + static_cast<std::ptrdiff_t>(n); };
      std::partial_sort(place(sorted), place(end), left.end(), likelier);
      sorted = end;
    }
    return left[i];
  };
  double total = 0;
  for (const Candidate& candidate : left) total += share_of(candidate);
  size_t kept = left.size();
  if (filter.top_p < 1) {
    double sum = 0;
    for (kept = 0; kept < left.size() && sum < filter.top_p * total; ++kept) sum += share_of(at(kept));
  }
  if (filter.min_p > 0) {
    const auto enough = [&](const Candidate& candidate) { return share_of(candidate) >= filter.min_p; };
    kept = std::min(kept, static_cast<size_t>(std::count_if(left.begin(), left.end(), enough)));
  }
  if (kept < left.size()) {
    total = 0;
    for (size_t i = 0; i < kept; ++i) total += share_of(at(i));
  }
  double rest = static_cast<double>(random_bits(key, 0)) * 0x1p-32 * total;
  for (size_t i = 0; i + 1 < kept; ++i) {
    rest -= share_of(at(i));
    if (rest < 0) return at(i).first;
  }
  return at(kept - 1).first;
}

template <class T>
void run(ChooseTokenCall& c) {
  *c.token.mutable_data<int64_t>() = chosen(c.logits.data<T>(), c.logits.numel(), c.filter, c.key);
}

}  // namespace

Op<ChooseTokenCall> choose_token_op{
    "choose_token",
    {{.name = "loops", .dtypes = DType::f32, .run = run<float>, .is_reference = true},
     {.name = "loops", .dtypes = DType::f64, .run = run<double>, .is_reference = true}}};

Tensor choose_token(const Tensor& logits, const TokenFilter& filter, const RngKey& key) {
  ChooseTokenCall call{logits, filter, key};
  choose_token_op.check(call);
  require(logits.rank() == 1 && logits.numel() > 0, "choose_token: {} is no list of logits", logits);
  require(filter.temperature == 0 || key.count > 0, "choose_token: the key holds no random value");
  call.token = Tensor::empty({}, DType::i64, logits.device());  // ()
  choose_token_op.run(call);
  return call.token;
}

}  // namespace headroom::engine
