#include "experiments/studies/analysis/hypothesis.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace headroom::experiments {

Hypothesis Hypothesis::at_least(const Estimate& number, double threshold, bool strictly) {
  Hypothesis one;
  one.number_ = number;
  one.threshold_ = threshold;
  one.is_strict_ = strictly;
  return one;
}

Hypothesis Hypothesis::at_most(Estimate number, double threshold) {
  number.value = -number.value;
  std::swap(number.may_be_more, number.may_be_less);
  return at_least(number, -threshold);
}

Hypothesis Hypothesis::within(const Estimate& number, const Limits& limits) {
  std::vector<Hypothesis> sides;
  if (limits.low) sides.push_back(at_least(number, *limits.low));
  if (limits.high) sides.push_back(at_most(number, *limits.high));
  return all_of(std::move(sides));
}

Hypothesis Hypothesis::with(std::vector<Reservation> reservations) const {
  Hypothesis one = *this;
  one.reservations_ = std::move(reservations);
  return one;
}

Hypothesis Hypothesis::of(Kind kind, std::vector<Hypothesis> parts) {
  Hypothesis whole;
  whole.kind_ = kind;
  whole.parts_ = std::move(parts);
  return whole;
}

std::optional<int> Hypothesis::seeds() const {
  if (kind_ == Kind::number) return number_.is_computed() ? std::nullopt : std::optional(number_.seeds);
  std::optional<int> fewest;
  for (const Hypothesis& part : parts_)
    if (const auto seeds = part.seeds()) fewest = std::min(fewest.value_or(*seeds), *seeds);
  return fewest;
}

std::set<Hypothesis::Reservation> Hypothesis::reservations() const {
  std::set<Reservation> all(reservations_.begin(), reservations_.end());
  for (const Hypothesis& part : parts_) all.merge(part.reservations());
  return all;
}

bool Hypothesis::has_parts() const {
  if (kind_ == Kind::number) return number_.is_computed() || number_.has_parts;
  return std::all_of(parts_.begin(), parts_.end(), [](const Hypothesis& part) { return part.has_parts(); });
}

bool Hypothesis::has_no_spread() const {
  if (kind_ == Kind::number) return number_.has_no_spread();
  return std::any_of(parts_.begin(), parts_.end(), [](const Hypothesis& part) { return part.has_no_spread(); });
}

double Hypothesis::margin() const {
  if (kind_ == Kind::opposite) return -parts_[0].margin();
  if (kind_ == Kind::pair) return parts_[1].margin() < 0 ? parts_[1].margin() : parts_[0].margin();
  if (kind_ == Kind::number) {
    const double distance = number_.value - threshold_;
    if (distance < 0 ? number_.may_be_more : number_.may_be_less) return std::numeric_limits<double>::quiet_NaN();
    if (!number_.is_computed()) return number_.errors_beyond(threshold_, number_.seeds);
    return distance == 0 ? 0 : distance / number_.error();
  }
  double deciding = std::numeric_limits<double>::quiet_NaN();
  for (const Hypothesis& part : parts_) {
    const double one = part.margin();
    if (std::isnan(one) && kind_ == Kind::all) return one;
    if (std::isnan(deciding) || (kind_ == Kind::all ? one < deciding : one > deciding)) deciding = one;
  }
  return deciding;
}

Hypothesis::Evidence Hypothesis::weigh(const Weighing& how) const {
  const auto known = [](double p) { return std::isnan(p) ? 1 : std::min(p, 1.0); };
  if (how.only_trusted && !reservations_.empty()) return {};
  if (kind_ == Kind::number) {
    if (number_.is_computed()) {
      if (std::isnan(number_.value)) return {};
      const bool holds = is_strict_ ? number_.value > threshold_ : number_.value >= threshold_;
      if (holds ? number_.may_be_less : number_.may_be_more) return {};
      return holds ? Evidence{0, 1} : Evidence{1, 0};
    }
    const int seeds = std::max(how.seeds.value_or(0), number_.seeds);
    const Estimate::Sides sides = how.by_luck ? number_.hoped_for(threshold_, seeds)
                                  : how.seeds ? number_.sides(threshold_, seeds)
                                              : number_.sides(threshold_);
    return {known(sides.above), known(sides.below)};
  }
  if (kind_ == Kind::opposite) {
    const Evidence whole = parts_[0].weigh(how);
    return {whole.p_against, whole.p};
  }
  if (kind_ == Kind::pair) return {parts_[0].weigh(how).p, parts_[1].weigh(how).p_against};
  const bool all = kind_ == Kind::all;
  double largest = 0, smallest = 1;  // of what has to be true of every part, and of what one part is enough for
  for (const Hypothesis& part : parts_) {
    const Evidence one = part.weigh(how);
    largest = std::max(largest, all ? one.p : one.p_against);
    smallest = std::min(smallest, all ? one.p_against : one.p);
  }
  const double corrected = known(static_cast<double>(parts_.size()) * smallest);
  const double of_one = parts_.empty() ? 1 : corrected;
  return all ? Evidence{largest, of_one} : Evidence{of_one, largest};
}

std::set<SeriesAndX> Hypothesis::open(double level, double level_against) const {
  const Evidence now = evidence();
  if (now.p <= level || now.p_against <= level_against) return {};
  if (kind_ == Kind::number) return {number_.of.begin(), number_.of.end()};
  if (kind_ == Kind::opposite) return parts_[0].open(level_against, level);
  const auto parts = static_cast<double>(parts_.size());
  std::set<SeriesAndX> all;
  for (const Hypothesis& part : parts_)
    all.merge(part.open(kind_ == Kind::any ? level / parts : level,
                        kind_ == Kind::all ? level_against / parts : level_against));
  return all;
}

std::vector<double> holm(const std::vector<double>& p) {
  std::vector<size_t> order(p.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return p[a] < p[b]; });
  std::vector<double> adjusted(p.size());
  double largest = 0;
  for (size_t j = 0; j < order.size(); ++j) {
    largest = std::max(largest, std::min(1.0, static_cast<double>(p.size() - j) * p[order[j]]));
    adjusted[order[j]] = largest;
  }
  return adjusted;
}

std::optional<int> seeds_to_decide(const Hypothesis& hypothesis, double level, double level_against) {
  constexpr int most_seeds = 1000;
  const std::optional<int> measured = hypothesis.seeds();
  if (!measured || *measured < 2) return std::nullopt;
  for (int seeds = *measured + 1; seeds <= most_seeds; seeds += std::max(1, seeds / 20)) {
    const Hypothesis::Evidence then = hypothesis.evidence(seeds);
    if (then.p <= level || then.p_against <= level_against) return seeds;
  }
  return std::nullopt;
}

}  // namespace headroom::experiments
