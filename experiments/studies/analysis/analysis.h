#pragma once
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/curve.h"
#include "experiments/studies/analysis/head_choice.h"
#include "experiments/studies/analysis/power_law.h"
#include "experiments/studies/analysis/verdict.h"

namespace headroom::experiments {

/// That no model of a trained study has learned its task.
struct Unlearned {
  double best = 0;                      ///< the best mean of the report's metric
  std::optional<double> stated, floor;  ///< what learning takes by the claims, and by the text's floor
  int64_t steps = 0;                    ///< the most that any of them was trained
  bool has_length = false;              ///< some task is made in a length; a text's context is no such length
};

/// A study's results with everything that is computed from them: its curves and its verdicts, each computed when it is
/// first asked for and kept. Safe to ask from several threads.
class Analysis : public StudyResults {
 public:
  explicit Analysis(StudyResults results);
  /// With verdicts that are known already: those of a study that was not run.
  Analysis(StudyResults results, std::vector<Verdict> verdicts);

  /// What the config of one of its trials says.
  const TrialFacts& facts(const TrialRecord& trial) const;

  /// The curve of one series of `metric`; without one, of the report's. At each x the `best_of` choice has the best
  /// mean over seeds of the *report's* metric on validation, never on test. A choice with a failed or missing seed
  /// comes after every complete one. A metric that is not finite counts as a failed trial. Throws Error when a finished
  /// trial lacks the metric, or when a choice is to be made and validation lacks the report's.
  const Curve& curve(const std::string& series, const std::string& metric = "") const;
  /// The curve of any test metric that pages show, at the choices of curve(series). A trial that lacks the metric, or
  /// whose value is not finite, is in no mean.
  const Curve& shown_curve(const std::string& series, const std::string& metric) const;

  /// The verdict of each claim, in order, on the test data (docs/claims.md). A claim passes where its p, adjusted by
  /// Holm over the study's sampled claims, is at most `significance` times its look's share, and fails where that of
  /// the opposite is. Computed values are compared as they are. Whatever its p, a claim is undecided where nothing was
  /// learned or rates were not tuned. Throws Error for a series that does not exist.
  const std::vector<Verdict>& verdicts() const;
  /// The verdicts were each x at its second-best choice (without_first_choices()); none where no x has a second one.
  const std::vector<Verdict>& second_verdicts() const;

  /// The law that the report asks for; none where it asks for none. Series without two seeds, whose best x is an end of
  /// their sweep, or whose trials differ in a key are left out, and named in its notes.
  const std::optional<FittedLaw>& law() const;
  /// The head_choice() of each series that leaves one.
  const std::vector<HeadChoice>& head_choices() const;
  /// That no model has learned its task, by the limit of its claims or by unlearned_share; none where one has, and
  /// where nothing was trained or the metric has no such limit.
  std::optional<Unlearned> not_learned() const;

 private:
  using Curves = std::map<std::pair<std::string, std::string>, std::optional<Curve>>;  // by series and metric
  struct Kept {
    std::recursive_mutex mutex;
    std::map<const TrialRecord*, std::shared_ptr<const TrialFacts>> facts;
    Curves curves, shown;
    std::optional<std::vector<Verdict>> verdicts, second_verdicts;
    std::optional<std::optional<FittedLaw>> law;
    std::optional<std::vector<HeadChoice>> head_choices;
  };

  std::optional<Curve>& place_of(Curves& curves, const std::string& series, const std::string& metric) const {
    const std::lock_guard lock(kept_->mutex);
    return curves[{series, metric}];
  }
  /// What a place holds, made by `compute` where it is empty.
  template <class Value, class Compute>
  const Value& kept(std::optional<Value>& place, const Compute& compute) const {
    const std::lock_guard lock(kept_->mutex);
    if (!place) place.emplace(compute());
    return *place;
  }

  Curve compute_curve(const std::string& series, const std::string& metric) const;
  Curve compute_shown(const std::string& series, const std::string& metric) const;
  std::vector<Verdict> judge() const;
  std::optional<FittedLaw> fit_law() const;

  std::unique_ptr<Kept> kept_ = std::make_unique<Kept>();
};

/// The one source of curves and verdicts for pages, rounds and plans.
inline Analysis analyse(StudyResults results) { return Analysis(std::move(results)); }

/// The results as they would be if no x had the value of its `best_of` keys (a learning rate) that validation prefers:
/// then each takes the second best. An x that tried one value keeps it.
StudyResults without_first_choices(const Analysis& results);

/// What the first claim on the report's own metric says that learning takes, of one series where that is named.
std::optional<double> learning_limit(const StudyResults& results, const std::string* series = nullptr);

/// By id and profile; one that is there twice is kept once.
std::vector<Analysis> in_order(std::vector<Analysis> studies);

}  // namespace headroom::experiments
