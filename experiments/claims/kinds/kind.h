#pragma once
#include <optional>
#include <string>
#include <vector>

namespace headroom::experiments {

struct Case;
class ClaimScope;
struct ClaimConfig;
struct Verdict;
class Reader;

/// A key that a claim wants and does not have.
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
///   void judge(const Case&, Verdict&) const  fills the verdict on a curve whose points all have values
struct KindBase {
  /// The first key that is missing, if any.
  std::optional<MissingKey> missing(const ClaimConfig&) const { return std::nullopt; }
  /// Its keys in a few characters, behind the kind's name in lists: " [32]".
  std::string details() const { return ""; }
  /// The x that it is about, which has to be a point of the sweep.
  std::optional<double> required_x() const { return std::nullopt; }
  /// The series that it compares with; "" when that is its own.
  std::string other_series() const { return ""; }
  /// Whether it divides values, which then have to be above 0.
  bool takes_ratios() const { return false; }
};

// Keys that several kinds have, read in the same words.

/// `at`: the x that is judged.
std::optional<double> read_at(Reader& in, const ClaimScope& scope);
/// `factor`, a ratio of errors.
double read_factor(Reader& in, double fallback);
/// `low` and `high`.
Limits read_limits(Reader& in);

/// "[2, 3]", "[-∞, 3]".
std::string interval(const Limits& limits);

}  // namespace headroom::experiments
