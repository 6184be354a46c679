#include "tasks/theory/allocation_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "engine/error.h"
#include "engine/parallel.h"

namespace headroom::tasks {
namespace {

constexpr double unreachable = std::numeric_limits<double>::infinity();
constexpr int64_t cells_at_once = 1024;  ///< of a row; they stay in the first cache
constexpr size_t most_cells = size_t(1) << 27;

/// to[s] = min(to[s], from[s − shift] + cost) for s in [begin, end) with s >= shift.
void relax(const double* from, double* to, size_t begin, size_t end, size_t shift, double cost) {
  begin = std::max(begin, shift);
  if (begin >= end) return;
  const double* const source = from + (begin - shift);
  double* const target = to + begin;
  for (size_t s = 0; s < end - begin; ++s) {
    const double with = source[s] + cost;
    target[s] = with < target[s] ? with : target[s];
  }
}

/// True if the offers spend 1, 2, …, budget, and each further unit gains no more than the one before it.
bool is_convex(const std::vector<Offer>& offers, size_t budget) {
  constexpr double rounding = 1e-15;
  if (offers.size() != budget) return false;
  for (size_t i = 0; i < offers.size(); ++i) {
    if (offers[i].spent != static_cast<int64_t>(i) + 1) return false;
    if (i >= 2 && offers[i].error - 2 * offers[i - 1].error + offers[i - 2].error < -rounding) return false;
  }
  return true;
}

/// to[s] = min(to[s], from[k] + price · offers[s − k − 1].error over k < s), for convex offers: the best k never falls
/// as s grows, so each half of the row need only look at its own part of `from`.
class ConvexStep {
 public:
  ConvexStep(const std::vector<double>& from, std::vector<double>& to, const std::vector<Offer>& offers, double price)
      : from_(from), to_(to), offers_(offers), price_(price) {
    size_t first = 0;
    while (first < from.size() && from[first] == unreachable) ++first;
    if (first + 1 < from.size()) solve(first + 1, from.size(), first, from.size() - 1);
  }

 private:
  /// Rows [begin, end), whose best k lie in [low, high].
  void solve(size_t begin, size_t end, size_t low, size_t high) {
    const size_t middle = begin + (end - begin) / 2;
    double least = unreachable;
    size_t best = low;
    for (size_t k = low; k <= std::min(high, middle - 1); ++k) {
      const double with = from_[k] + price_ * offers_[middle - k - 1].error;
      if (with < least) least = with, best = k;
    }
    to_[middle] = std::min(to_[middle], least);
    if (begin < middle) solve(begin, middle, low, best);
    if (middle + 1 < end) solve(middle + 1, end, best, high);
  }

  const std::vector<double>& from_;
  std::vector<double>& to_;
  const std::vector<Offer>& offers_;
  double price_;
};

}  // namespace

AllocationSearch::AllocationSearch(const std::vector<double>& rho, int64_t budget, bool exact, Lags lags,
                                   std::function<std::vector<Offer>(int64_t)> offers)
    : rho_(rho),
      states_(static_cast<size_t>(budget) + 1),
      exact_(exact),
      lags_(lags),
      offers_(std::move(offers)),
      useful_(rho.size()),
      is_convex_(rho.size()),
      rest_(rho.size() + 1) {
  require(states_ <= most_cells / rho.size(),
          "allocation: {} lags times a budget of {} are too many: expected at most {}", rho.size(), budget, most_cells);
  for (size_t i = rho.size(); i-- > 0;) rest_[i] = rest_[i + 1] + rho[i];
}

const std::vector<Offer>& AllocationSearch::useful(size_t lag) {
  std::vector<Offer>& kept = useful_[lag - 1];
  if (!kept.empty()) return kept;
  std::vector<Offer> cheapest(states_);  // by what they spend; of equal errors the first in the caller's order
  for (const Offer& offer : offers_(static_cast<int64_t>(lag))) {
    Offer& known = cheapest[static_cast<size_t>(offer.spent)];
    if (known.spent == 0 || offer.error < known.error) known = offer;
  }
  double least = unreachable;
  for (const Offer& offer : cheapest) {
    if (offer.spent == 0 || (!exact_ && offer.error >= least)) continue;
    kept.push_back(offer);
    least = offer.error;
    if (!exact_ && rho(lag) == 0) break;  // all cost nothing: the first spends least
  }
  is_convex_[lag - 1] = is_convex(kept, states_ - 1);
  return kept;
}

AllocationSearch::Row AllocationSearch::step(const Row& from, size_t lag) {
  const std::vector<Offer>& offers = useful(lag);
  Row to(states_, unreachable);
  const double dropped = drops_any() ? rho(lag) : unreachable;
  for (size_t s = 0; s < states_; ++s) to[s] = from[s] + dropped;
  if (is_convex_[lag - 1]) {
    ConvexStep(from, to, offers, rho(lag));
    return to;
  }
  engine::parallel_ranges(static_cast<int64_t>(states_), cells_at_once, [&](int64_t first, int64_t last) {
    const auto begin = static_cast<size_t>(first), end = static_cast<size_t>(last);
    for (const Offer& offer : offers)
      relax(from.data(), to.data(), begin, end, static_cast<size_t>(offer.spent), rho(lag) * offer.error);
  });
  return to;
}

void AllocationSearch::forward() {
  if (!before_.empty()) return;
  before_.emplace_back(states_, unreachable);
  before_[0][0] = 0;
  for (size_t lag = 1; lag <= rho_.size(); ++lag) before_.push_back(step(before_.back(), lag));
}

void AllocationSearch::backward() {
  if (!after_.empty()) return;
  const size_t lags = rho_.size();
  after_.resize(lags + 1);
  // A rest may be left over at the end, unless all must be spent.
  Row row(states_, exact_ ? unreachable : 0);
  row[0] = 0;
  after_[lags] = std::move(row);
  for (size_t lag = lags; lag >= 1; --lag) {
    after_[lag - 1] = step(after_[lag], lag);
    if (drops_any() || lag == 1) continue;  // a prefix serves lag 1, and may end before any other
    Row& ends = after_[lag - 1];
    for (size_t s = 0; s < (exact_ ? 1 : states_); ++s) ends[s] = std::min(ends[s], rest_[lag - 1]);
  }
}

AllocationSearch::End AllocationSearch::cheapest() const {
  End best{unreachable, 0, 0};
  for (size_t lags = drops_any() ? rho_.size() : 1; lags <= rho_.size(); ++lags)
    for (size_t spent = exact_ ? states_ - 1 : 0; spent < states_; ++spent)
      if (before_[lags][spent] + rest_[lags] < best.cost) best = {before_[lags][spent] + rest_[lags], lags, spent};
  return best;
}

void AllocationSearch::trace_back(size_t lag, size_t spent, std::vector<LagGroup>& groups) {
  for (; lag >= 1; --lag) {
    const Row& from = before_[lag - 1];
    const double cost = before_[lag][spent];
    if (drops_any() && from[spent] + rho(lag) == cost) continue;
    for (const Offer& offer : useful(lag)) {
      const auto shift = static_cast<size_t>(offer.spent);
      if (shift > spent || from[spent - shift] + rho(lag) * offer.error != cost) continue;
      groups.insert(groups.begin(), offer.group);
      spent -= shift;
      break;
    }
  }
}

void AllocationSearch::trace_on(size_t lag, size_t left, std::vector<LagGroup>& groups) {
  for (; lag < rho_.size(); ++lag) {
    const Row& from = after_[lag + 1];
    const double cost = after_[lag][left];
    if (drops_any() ? from[left] + rho(lag + 1) == cost : cost == rest_[lag] && lag > 0 && (left == 0 || !exact_)) {
      if (drops_any()) continue;
      return;
    }
    for (const Offer& offer : useful(lag + 1)) {
      const auto shift = static_cast<size_t>(offer.spent);
      if (shift > left || from[left - shift] + rho(lag + 1) * offer.error != cost) continue;
      groups.push_back(offer.group);
      left -= shift;
      break;
    }
  }
}

Allocation AllocationSearch::best() {
  forward();
  const End end = cheapest();
  require(std::isfinite(end.cost), "allocation: no heads of the widths allowed spend a budget of {}{}", states_ - 1,
          exact_ ? " exactly" : "");
  Allocation out{.bound = end.cost, .groups = {}};
  trace_back(end.lags, end.spent, out.groups);
  return out;
}

std::optional<Allocation> AllocationSearch::runner_up() {
  const Allocation chosen = best();
  backward();
  Allocation out{.bound = unreachable, .groups = {}};
  struct Way {
    size_t lag = 0, spent = 0;  ///< before the lag
    std::optional<Offer> offer;
  } way;
  const size_t budget = states_ - 1;
  for (size_t lag = 1; lag <= rho_.size(); ++lag) {
    if (rho(lag) == 0) continue;
    const Row& from = before_[lag - 1];
    const Row& on = after_[lag];
    // Leaving the lag out; a prefix then ends.
    const auto taken = std::find_if(chosen.groups.begin(), chosen.groups.end(),
                                    [&](const LagGroup& group) { return group.lag == static_cast<int64_t>(lag); });
    const bool was_taken = taken != chosen.groups.end();
    if (was_taken && (drops_any() || lag > 1)) {
      for (size_t s = !drops_any() && exact_ ? budget : 0; s < states_; ++s) {
        const double cost = from[s] + (drops_any() ? rho(lag) + on[budget - s] : rest_[lag - 1]);
        if (cost < out.bound) out.bound = cost, way = {lag, s, std::nullopt};
      }
    }
    // around[t]: the cheapest of all other lags together for t of the budget.
    Row around(states_, unreachable);
    engine::parallel_ranges(static_cast<int64_t>(states_), cells_at_once, [&](int64_t first, int64_t last) {
      double least = unreachable;
      for (size_t s = 0; s < states_; ++s) {
        if (exact_ ? from[s] == unreachable : from[s] >= least) continue;
        least = from[s];
        relax(on.data(), around.data(), static_cast<size_t>(first), static_cast<size_t>(last), s, from[s]);
      }
    });
    for (const Offer& offer : offers_(static_cast<int64_t>(lag))) {
      if (was_taken && offer.group == *taken) continue;
      const double cost = around[budget - static_cast<size_t>(offer.spent)] + rho(lag) * offer.error;
      if (cost < out.bound) out.bound = cost, way = {lag, 0, offer};
    }
  }
  if (!std::isfinite(out.bound)) return std::nullopt;
  if (!way.offer) {
    trace_back(way.lag - 1, way.spent, out.groups);
    if (drops_any()) trace_on(way.lag, budget - way.spent, out.groups);
    return out;
  }
  // Find where the other lags' share splits between those before and those after.
  const size_t share = budget - static_cast<size_t>(way.offer->spent);
  const Row &from = before_[way.lag - 1], &on = after_[way.lag];
  size_t cut = 0;
  for (size_t s = 0; s <= share; ++s)
    if (from[s] + on[share - s] < from[cut] + on[share - cut]) cut = s;
  trace_back(way.lag - 1, cut, out.groups);
  out.groups.push_back(way.offer->group);
  trace_on(way.lag, share - cut, out.groups);
  return out;
}

std::vector<double> AllocationSearch::cost_of_budget() {
  forward();
  Row costs(states_, unreachable);
  double least = unreachable;
  for (size_t spent = 0; spent < states_; ++spent) {
    if (exact_) least = unreachable;
    for (size_t lags = drops_any() ? rho_.size() : 1; lags <= rho_.size(); ++lags)
      least = std::min(least, before_[lags][spent] + rest_[lags]);
    costs[spent] = least;
  }
  return costs;
}

}  // namespace headroom::tasks
