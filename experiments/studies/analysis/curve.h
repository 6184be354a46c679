#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "experiments/studies/claims/study_results.h"

namespace headroom::experiments {

struct TrialFacts;

/// The mean over seeds by which choices are made and which pages show. geometric: of ratios of errors, as verdicts
/// compare them; one seed that failed to train does not outweigh all others.
enum class MeanKind { geometric, arithmetic };

/// geometric, but for values that are not all positive, for metrics of which more is better, for shares, and where a
/// claim on the metric says `log_error = false`.
MeanKind mean_kind(const StudyResults& results, const std::string& metric, const std::vector<double>& values);

/// Whether more of a metric is better: by its name, or by what is said of runs of other programs.
bool larger_is_better(const StudyResults& results, const std::string& metric);

/// That mean; NaN when empty.
double mean(const std::vector<double>& values, MeanKind kind);

/// What the seeds of one x say about the test metric, at the choice that validation preferred.
struct Point {
  double x = 0;
  std::map<std::string, double> choice;  ///< the chosen values of the `best_of` keys
  std::vector<std::string> edges;    ///< chosen keys that stand at an end of the values tried: the grid is too short
  std::vector<std::string> single;   ///< keys of `choice` of which one value alone was tried
  std::vector<SeriesAndX> of{};      ///< whose values these are: its own x, or those that they are read off
  std::map<int64_t, double> values;  ///< seed → test metric, of the finished trials
  std::map<int64_t, std::vector<double>> parts;  ///< seed → its pseudo-values over parts of the test data, where it has
  std::set<int64_t> may_be_more;  ///< seeds whose value is a lower bound: what it counts the steps to was not reached
  std::set<int64_t> may_be_less;  ///< seeds whose value is an upper bound
  std::optional<double> validation;  ///< Curve::mean of the same metric on validation, where all trials have it
  std::vector<int64_t> failed;       ///< seeds of the chosen trials that failed: in none of the means below
  std::vector<int64_t> missing;      ///< seeds that its look called for and that have no trial here
  int unlearned = 0;                 ///< seeds of `values` that did not learn the target, as mark_learned() counts them
  std::set<int64_t> steps;           ///< updates that the trials of `values` did
  bool is_trained = false;           ///< by a rate, for this metric: the trials are validated by it, not timed
  /// By how many times the learning curve of a seed was lower in the last tenth of its training than in the tenth
  /// before: of the metric on validation, or of the training loss where that was not measured often enough; where it
  /// has either.
  std::map<int64_t, double> last_gain;
  bool is_held_out = true;   ///< false where the choice was made among several on the very items that are reported
  int64_t parameters = 0;    ///< of the model: the most of the trials of `values`
  int failed_elsewhere = 0;  ///< failed trials of the choices that were not taken
  double mean = 0, standard_error = 0;  ///< NaN without (enough) values, like the next two
  double geometric_mean = 0, best = 0;  ///< best: of the best seed
};

/// Fills the means, the standard error and the best from the point's values, in order of the seeds.
void summarise(Point& point, bool larger_is_better);

/// One series of a metric over the report's x, which grows from point to point.
struct Curve {
  std::string series, metric;
  bool larger_is_better = false;
  MeanKind kind = MeanKind::geometric;
  std::vector<Point> points;
  std::optional<double> floor{};  ///< text_floor() of its trials, where the metric is their cross-entropy

  /// The mean over seeds of that kind, of the test metric.
  double mean(const Point& point) const { return kind == MeanKind::geometric ? point.geometric_mean : point.mean; }

  /// The point at x; nullptr when there is none.
  const Point* at(double x) const;
  /// Whether `a` is the better value. A NaN is worse than every number.
  bool better(double a, double b) const;
  /// The point of the best mean on test; nullptr when no point has a mean.
  const Point* best() const;
  /// What an x is chosen by: the point's mean on validation, or that on test where not every point has one; NaN for a
  /// point without a mean.
  double chosen_by(const Point& point, bool validated) const;
  /// The point to choose among some, without regard to those that have no mean; nullptr when none has one.
  const Point* choose(const std::vector<const Point*>& among) const;
  std::vector<const Point*> all_points() const;
};

/// Whether each of some points that has a mean has been validated, so that validation can choose between them.
bool is_validated(const std::vector<const Point*>& points);

/// The cross-entropy in nats a token that a table reaches which sees one token and no other place, to 0.03: for the
/// next token pairs counted in the training text, for a masked one how often each token is there. A trained model that
/// does not reach it has learned nothing that attention is needed for. Of the data sets that the studies use, by a
/// trial's task; none for other texts, whose claims state `learned_at`, and for other tasks.
std::optional<double> text_floor(const TrialFacts& trial);

/// The share of the target's variance above which an error ("relative_mse") says that the target was not learned.
constexpr double unlearned_share = 0.5;

/// What a value must reach for the target to count as learned: what is stated; without it unlearned_share of
/// relative_mse, and of a text's cross-entropy its floor. Other metrics have no such limit.
std::optional<double> learned_limit(const Curve& curve, const std::optional<double>& stated = {});

/// Counts the seeds of each point that did not learn the target: whose value is worse than learned_limit().
void mark_learned(Curve& curve, const std::optional<double>& learned_at);

/// The best mean, where it does not reach learned_limit(): then no x has learned the target. None where it does, or
/// where nothing says what learning takes.
std::optional<double> unlearned_best(const Curve& curve, const std::optional<double>& learned_at = {});

/// The names of the study's series: {""} when it has no [[series]].
std::vector<std::string> series_names(const StudyResults& results);

/// The series that a claim speaks of: its own, which is the first where it names none, and the one that it is compared
/// with.
std::vector<std::string> series_of(const StudyResults& results, const ClaimConfig& claim);

/// The overlay of a series; nullptr when it has none. An overlay that names no series belongs to the only one.
const Overlay* overlay_of(const StudyResults& results, const std::string& series);

/// The overlay's value at x; NaN where it has no point there.
double overlay_at(const Overlay& overlay, double x);

/// The trials, inside `results`, ordered by (series, x, choice, seed, id), so that nothing depends on which trial ended
/// first. Series stand in the study's order. Throws Error when two trials share series, x, choice and seed.
std::vector<const TrialRecord*> ordered_trials(const StudyResults& results);

/// The finished trials at one x of a series with one choice, in order of their seeds.
std::vector<const TrialRecord*> chosen_trials(const StudyResults& results, const std::string& series,
                                              const Point& point);

/// A trial's test metric, or "parameters", "flops" or "seconds" of its record; none when it has no such number.
std::optional<double> measured(const TrialRecord& trial, const std::string& metric);

}  // namespace headroom::experiments
