#pragma once
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/estimate.h"
#include "experiments/studies/claims/claim_kind.h"

namespace headroom::experiments {

/// What a claim says, of the numbers that more and more seeds would come to: that one number is at least a threshold,
/// or that all, or any, of several such hypotheses hold.
class Hypothesis {
  enum class Kind { number, all, any, opposite, pair };

 public:
  /// That a number is at least `threshold`. Where it was computed, `strictly` says whether a tie is not enough.
  static Hypothesis at_least(const Estimate& number, double threshold, bool strictly = false);
  /// That a number is at most `threshold`.
  static Hypothesis at_most(Estimate number, double threshold);
  /// That a number lies within limits.
  static Hypothesis within(const Estimate& number, const Limits& limits);
  static Hypothesis all_of(std::vector<Hypothesis> parts) { return of(Kind::all, std::move(parts)); }
  static Hypothesis any_of(std::vector<Hypothesis> parts) { return of(Kind::any, std::move(parts)); }
  static Hypothesis opposite_of(Hypothesis whole) { return of(Kind::opposite, {std::move(whole)}); }

  /// What the data support where they support `strict`, and refute only where they refute `lenient`, which is true
  /// wherever `strict` is: a truth between the two is neither.
  static Hypothesis between(Hypothesis strict, Hypothesis lenient) {
    return of(Kind::pair, {std::move(strict), std::move(lenient)});
  }

  /// The fewest seeds of any number in it; none where nothing in it was sampled.
  std::optional<int> seeds() const;
  /// Whether every number that was sampled has the error of the finite test data in its interval.
  bool has_parts() const;

  /// Why a number is not to be trusted: words that end with an x, and that x.
  using Reservation = std::pair<std::string, double>;
  /// The same with reasons not to trust its number.
  Hypothesis with(std::vector<Reservation> reservations) const;
  /// Those reasons of all numbers in it, each once, in order.
  std::set<Reservation> reservations() const;

  /// Whether a number in it was sampled and has the same value at every seed: there is no test of it.
  bool has_no_spread() const;

  /// By how many of its own standard errors the number that decides it lies on the claim's side of its threshold:
  /// below 0 where it lies on the other. Of several that all have to hold the least, of any the largest. Infinite where
  /// the number was computed, NaN below two seeds, where nothing spreads, and where a bound may lie on the other side.
  double margin() const;

  /// p-values of the two hypotheses that a claim is tested with.
  struct Evidence {
    double p = 1;          ///< of the one that the claim is false: small where the data speak for it
    double p_against = 1;  ///< of the one that it is true: small where they speak against it
  };
  /// One number: Student's t, the two sides of one test. All of m hypotheses hold: the largest p of its parts, by
  /// the intersection-union test (Berger, 1982), which needs no correction; that not all do: m times the smallest
  /// p_against (Bonferroni). Any of them holds: the reverse. So both keep their level whatever the parts have in
  /// common, and whichever part the data single out. A p that is not known counts as 1.
  Evidence evidence() const { return weigh({}); }
  /// The same where numbers with a reservation decide nothing, as if each of their p were 1.
  Evidence evidence_of_trusted() const { return weigh({.only_trusted = true}); }
  /// What four of five repetitions with `seeds` seeds of the same spread would have at least.
  Evidence evidence(int seeds) const { return weigh({.seeds = seeds}); }
  /// What further seeds, `seeds` in all, would have at least with one chance in ten, each number by itself.
  Evidence hoped_for(int seeds) const { return weigh({.seeds = seeds, .by_luck = true}); }

  /// The x that it hangs on: of each number in it that does not reach `level` with its p, nor `level_against` with its
  /// p_against, at that of the part in which it stands. Further seeds elsewhere would change nothing.
  std::set<SeriesAndX> open(double level, double level_against) const;

 private:
  static Hypothesis of(Kind kind, std::vector<Hypothesis> parts);
  struct Weighing {
    std::optional<int> seeds{};  ///< none: those measured
    bool only_trusted = false, by_luck = false;
  };
  Evidence weigh(const Weighing& how) const;

  Kind kind_ = Kind::number;
  Estimate number_;
  double threshold_ = 0;
  bool is_strict_ = false;
  std::vector<Hypothesis> parts_;
  std::vector<Reservation> reservations_;
};

/// p-values adjusted by Holm's step-down (1979): the j-th smallest of m is multiplied by m − j + 1, and is no smaller
/// than those before it. Rejecting where an adjusted p is at most α keeps the probability of even one false rejection
/// at α.
std::vector<double> holm(const std::vector<double>& p);

/// The fewest seeds that would give p ≤ `level` or p_against ≤ `level_against` in four of five repetitions, were the
/// numbers and the spread what they were measured to be; none below two seeds and where 1,000 were too few.
std::optional<int> seeds_to_decide(const Hypothesis& hypothesis, double level, double level_against);

}  // namespace headroom::experiments
