#pragma once
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/statistics.h"
#include "experiments/studies/claims/looks.h"

namespace headroom::experiments {

/// What the seeds say about one number, such as the difference of two means: its value with every seed, and where the
/// test data come in parts also its value on each of them.
struct Sample {
  std::vector<double> seeds;                 ///< (S)
  std::vector<std::vector<double>> parts{};  ///< (S, K), or empty
  bool may_be_more = false;                  ///< the value of some seed is a lower bound
  bool may_be_less = false;                  ///< the value of some seed is an upper bound
  int censored = 0;                          ///< seeds that tell less than others: Estimate::censored
};

/// An estimate of a number from a sample of seeds, and how far it may be from the truth.
struct Estimate {
  static constexpr double none = std::numeric_limits<double>::quiet_NaN();

  double value = none;
  int seeds = 0;              ///< 0 for a number that was computed
  int exponent = 0;           ///< of the unit, 2^exponent, of the next three: numbers of any size can be squared in it
  double seed_variance = 0;   ///< variance of the number between seeds, in units²
  double parts_variance = 0;  ///< what the finite test data add to the variance of the mean, whatever the seeds
  double parts_degrees = 0;   ///< of freedom of parts_variance
  bool is_unpaired = false;   ///< parts_variance is that of further samples of seeds: it falls with their number, too
  bool has_parts = false;
  bool is_over_parts = false;  ///< of one computed value: `seeds` counts the parts of the test data
  bool is_anytime = false;     ///< its tests and intervals hold however often it is looked at (anytime_quantile())
  /// Whether the number may be more, or less, than the seeds say, as some know of theirs only what it is at least, or
  /// at most. Then nothing speaks against more, or less.
  bool may_be_more = false, may_be_less = false;
  /// Seeds with more such bounds than others: no degree of freedom is theirs, since bounds that are alike say nothing
  /// of a spread. Where all seeds have as many, the rest of the number still spreads, and the count is 0.
  int censored = 0;
  std::vector<SeriesAndX> of{};  ///< whose values it is made of

  /// A number without any error.
  static Estimate computed(double value) { return {.value = value}; }
  bool is_computed() const { return seeds == 0; }
  /// Whether a sample of two seeds or more has the same value with each, but for rounding: of how far another sample
  /// may lie from it such a one says nothing, so that there is no test and no interval.
  bool has_no_spread() const { return seeds > 1 && seed_variance == 0 && parts_variance == 0; }

  /// Standard error of the mean over `n` seeds of that spread; NaN below two.
  double error(double n) const;
  /// The square of that error, in units², by its components over seeds and parts; no degrees of freedom where fewer
  /// than two seeds are not censored.
  VarianceSum variance(double n) const;
  double error() const { return error(seeds); }
  /// By how many standard errors over `n` seeds the number lies above a threshold; NaN as for sides().
  double errors_beyond(double threshold, double n) const;

  /// p-values of the two sides of one test.
  struct Sides {
    double above = none;  ///< of the hypothesis that the number is at most the threshold
    double below = none;  ///< of the hypothesis that it is at least that
  };
  /// By the seeds measured; NaN below two seeds and where nothing spreads.
  Sides sides(double threshold) const;
  /// What four of five repetitions with `n` seeds would have at most.
  Sides sides(double threshold, double n) const;
  /// What each side comes to with one chance in ten when further seeds make them `n`: Student's t predicts the mean of
  /// those to come from the seeds measured. 0 where those do not tell. (Spiegelhalter, Freedman and Blackburn, 1986,
  /// "Monitoring clinical trials: conditional or predictive power?")
  Sides hoped_for(double threshold, double n) const;

  /// The interval that holds the number with probability `level`, each end missed as often as the other; NaN below two
  /// seeds and where nothing spreads. An end is infinite where the number may be more, or less.
  std::pair<double, double> interval(double level) const;
  /// "t"; "crossed t" where the error of the finite test data is in it; "anytime t"; "t over parts of the text".
  std::string method() const {
    if (is_over_parts) return "t over parts of the text";
    return std::string(is_anytime ? "anytime " : "") + (has_parts ? "crossed t" : is_unpaired ? "unpaired t" : "t");
  }

 private:
  /// parts_variance with `n` seeds.
  double parts_variance_at(double n) const { return is_unpaired ? parts_variance * seeds / n : parts_variance; }
  /// Without the sides that bounds say nothing of.
  Sides known(Sides sides) const;
};

/// The sum of numbers from samples that share no seeds: `seeds` and A are those of the smallest sample, D the variance
/// of all others with the degrees of freedom of the smallest of them. With Cochran's critical value it keeps the level
/// where Welch's t does not: at 2 and 8 seeds with a quarter of the variance, 4.8 % for 5 %, not 7.9 %.
Estimate sum_of_unpaired(std::vector<Estimate> samples);

/// The mean over seeds. With parts, seeds × parts are two crossed random factors: the mean's variance is A + D, with
/// A = s²/S of the seeds' values and D = (MS_parts − MS_rest)/(S K), where that is positive, of the parts: Clark
/// (1973), "The language-as-fixed-effect fallacy"; Searle, Casella and McCulloch (1992), "Variance Components",
/// chapter 4.
///
/// Tests and intervals take Cochran's critical value, A with S − 1 degrees of freedom and D with K − 1. D is a
/// difference: where it is small beside MS_rest/(S K), its own degrees by Satterthwaite (1946) are far fewer and tend
/// to 0 with it, as do those of A + D, which is why neither is used. But A has the noise of MS_rest/(S K) in it, too:
/// where D is known so badly it is the smaller component, and what is cut off at 0 makes A + D too large in the mean.
/// Simulated levels: docs/claims.md. Throws Error when `parts` is no S × K table.
Estimate estimate(const Sample& sample);

/// The same for values that are computed on test data in parts, the same parts with every seed: Student's t of the K
/// pseudo-values, means over the seeds. Without parts, and where those do not spread, the number is computed.
Estimate estimate_over_parts(const Sample& sample);

}  // namespace headroom::experiments
