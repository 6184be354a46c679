#pragma once
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/claims/hypothesis.h"

namespace headroom::experiments {

struct Case;
class ClaimScope;
struct ClaimConfig;
struct Verdict;
class Reader;

/// A key that a claim needs and does not have.
struct MissingKey {
  std::string key, purpose;
};

/// The limits of an interval; an end that is not given is open.
struct Limits {
  std::optional<double> low, high;
  bool any() const { return low || high; }
};

/// What every kind of claim offers, and what it offers where it has nothing of its own. A kind is a struct of its keys
/// that derives from this and adds
///
///   static constexpr const char* name        the value of `kind` in a study file
///   void read(Reader&, const ClaimScope&)    reads its keys, and reports those that can never be judged
///   Hypothesis hypothesis(const Case&) const   what it says, of a curve whose points all have values
///   std::optional<Hypothesis> judge(const Case&, Verdict&) const
///       fills the verdict's numbers and words; gives what decides it, none where that is decided already
struct KindBase {
  /// Whether it compares values by their ratio: on logarithms, where the claim does not forbid it.
  static constexpr bool compares = false;

  /// The first key that is missing, if any.
  std::optional<MissingKey> missing(const ClaimConfig&) const { return std::nullopt; }
  /// Its keys in a few characters, behind the kind's name in lists: " [32]".
  std::string details() const { return ""; }
  /// The x that it is about, which has to be a point of the sweep.
  std::optional<double> required_x() const { return std::nullopt; }
  /// The series that it compares with; "" when that is its own.
  std::string other_series() const { return ""; }
  /// The metric that it compares with; "" when that is its own.
  std::string other_metric() const { return ""; }
  /// The names of the numbers that its verdict has.
  static std::vector<std::string> numbers() { return {}; }
  /// A difference of so many times that it claims to be there at least, and one that it claims not to be there.
  std::optional<double> least_effect() const { return std::nullopt; }
  std::optional<double> most_effect() const { return std::nullopt; }
};

// Keys that several kinds have, read in the same words.

/// `at`: the x that is judged.
std::optional<double> read_at(Reader& in, const ClaimScope& scope);
/// `among`: the x that may be the best.
std::vector<double> read_among(Reader& in, const ClaimScope& scope);
/// `factor`, a ratio of errors.
double read_factor(Reader& in, double fallback);
/// `low` and `high`.
Limits read_limits(Reader& in);

/// "[2, 3]", "[-∞, 3]".
std::string interval(const Limits& limits);
/// " [1, 2, 4]"; "" for none.
std::string list_of(const std::vector<double>& values);

}  // namespace headroom::experiments
