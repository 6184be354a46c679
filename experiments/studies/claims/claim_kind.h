#pragma once
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace headroom::experiments {

class Hypothesis;
struct Case;
class ClaimScope;
struct ClaimConfig;
struct Finding;
class Reader;

/// A key that a claim of some kind needs, and what for.
struct RequiredKey {
  std::string key, purpose;
};

/// The limits of an interval; an end that is not given is open.
struct Limits {
  std::optional<double> low{}, high{};
  bool is_strict = false;  ///< an end is outside
  bool any() const { return low || high; }
};

/// What a claim compares with; what is not given is the claim's own.
struct Than {
  std::string series{}, metric{};
  std::optional<double> at{};
  bool has_problem = false;  ///< in the file, which was told
};

/// A claim's keys that belong to its kind: each kind reads its own, the others keep their defaults.
struct ClaimKeys {
  std::optional<double> at{};     ///< the x that is judged, which has to be a point of the sweep
  std::vector<double> among{};    ///< the x that may be the best
  double factor = 1;              ///< the smallest ratio that counts
  double tolerance = 0;           ///< share by which a step may go against the direction
  double percent = 0;             ///< how far from a target at most, or from a straight line at least
  double fraction = 0.1;          ///< largest share of the first doubling's gain that the last may have
  Limits limits{};                ///< low and high
  std::string direction{};        ///< falling | rising; catches_up | falls_behind
  std::string axes = "log-log";   ///< log-log | semi-log (a logarithm of x alone) | linear
  std::string bound{};            ///< a metric of the same trial, or "overlay"
  std::string of{};               ///< the target, a metric of the same trials
  std::optional<double> value{};  ///< the target, a number
  Than than{};
};

/// Whether a kind claims a difference of `factor` times to be there at least, or not to be there.
enum class Effect { neither, at_least, at_most };

/// The sort of evidence that a kind gives, which decides how it is told: ratios of values, or how far values are from
/// limits.
enum class Form { best, range, ends, optimum, trend, less, gap, steps, bests, target, line, band, slope, share, bound };

struct ClaimKindTraits {
  const char* name;  ///< the value of `kind` in a study file
  Form form;
  std::vector<std::string> numbers;  ///< the names of those that its verdict has
  std::vector<RequiredKey> required{};
  bool compares = false;  ///< values by their ratio: on logarithms, where the claim does not forbid it
  Effect effect = Effect::neither;
  size_t least_points = 1;  ///< x that it needs
  const char* what = "";    ///< needs them: "a slope"
};

/// A kind of claim. Each is one file of this folder, and its name in the list in meson.build.
struct ClaimKind : ClaimKindTraits {
  explicit ClaimKind(ClaimKindTraits traits) : ClaimKindTraits(std::move(traits)) {}
  virtual ~ClaimKind() = default;

  /// Reads its keys, and reports those that can never be judged.
  virtual void read(ClaimKeys& keys, Reader& in, const ClaimScope& scope) const = 0;
  /// Its keys in a few characters, behind the kind's name in lists: " [32]".
  virtual std::string details(const ClaimKeys&) const { return ""; }
  /// What it says of a curve whose points all have values; none where measure() counts and nothing is tested.
  virtual std::optional<Hypothesis> hypothesis(const Case& c) const = 0;
  /// The numbers that it judges, without "seeds". Throws Error where there is nothing to judge.
  virtual Finding measure(const Case& c) const = 0;
};

/// All kinds, in the order of the list in meson.build.
const std::vector<const ClaimKind*>& claim_kinds();

/// The kind of that name. Throws Error when there is none.
const ClaimKind& claim_kind(const std::string& name);

}  // namespace headroom::experiments
