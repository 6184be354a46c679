#include "experiments/studies/analysis/analysis.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "experiments/studies/config/trial_facts.h"

namespace headroom::experiments {

Analysis::Analysis(StudyResults results) : StudyResults(std::move(results)) {}

Analysis::Analysis(StudyResults results, std::vector<Verdict> verdicts) : Analysis(std::move(results)) {
  kept_->verdicts = std::move(verdicts);
}

const TrialFacts& Analysis::facts(const TrialRecord& trial) const {
  const std::lock_guard lock(kept_->mutex);
  std::shared_ptr<const TrialFacts>& known = kept_->facts[&trial];
  if (!known) known = std::make_shared<const TrialFacts>(trial_facts(trial.config));
  return *known;
}

const Curve& Analysis::curve(const std::string& series, const std::string& metric) const {
  const std::string& name = metric.empty() ? report.y_metric : metric;
  return kept(place_of(kept_->curves, series, name), [&] { return compute_curve(series, name); });
}

const Curve& Analysis::shown_curve(const std::string& series, const std::string& metric) const {
  if (metric == report.y_metric) return curve(series);
  return kept(place_of(kept_->shown, series, metric), [&] { return compute_shown(series, metric); });
}

const std::vector<Verdict>& Analysis::verdicts() const {
  return kept(kept_->verdicts, [&] { return judge(); });
}

const std::vector<Verdict>& Analysis::second_verdicts() const {
  return kept(kept_->second_verdicts, [&] {
    const Analysis others = analyse(without_first_choices(*this));
    return others.trials.size() == trials.size() ? std::vector<Verdict>{} : others.verdicts();
  });
}

const std::optional<FittedLaw>& Analysis::law() const {
  return kept(kept_->law, [&] { return fit_law(); });
}

const std::vector<HeadChoice>& Analysis::head_choices() const {
  return kept(kept_->head_choices, [&] {
    std::vector<HeadChoice> choices;
    for (const std::string& series : series_names(*this))
      if (auto choice = head_choice(*this, series)) choices.push_back(std::move(*choice));
    return choices;
  });
}

StudyResults without_first_choices(const Analysis& results) {
  std::set<const TrialRecord*> first;
  for (const std::string& series : series_names(results))
    for (const Point& point : results.curve(series).points) {
      if (point.choice.empty()) continue;
      std::set<const TrialRecord*> chosen;
      bool has_other = false;
      for (const TrialRecord& trial : results.trials) {
        if (trial.series != series || trial.x != point.x) continue;
        if (trial.choice == point.choice) chosen.insert(&trial);
        else has_other |= trial.status == TrialStatus::finished;
      }
      if (has_other) first.merge(chosen);
    }
  StudyResults out = results;
  out.trials.clear();
  for (const TrialRecord& trial : results.trials)
    if (!first.contains(&trial)) out.trials.push_back(trial);
  out.planned -= count_trials(results.trials) - count_trials(out.trials);
  return out;
}

std::vector<Analysis> in_order(std::vector<Analysis> studies) {
  const auto name = [](const Analysis& one) { return std::tie(one.id, one.profile); };
  std::stable_sort(studies.begin(), studies.end(),
                   [&](const Analysis& a, const Analysis& b) { return name(a) < name(b); });
  studies.erase(std::unique(studies.begin(), studies.end(),
                            [&](const Analysis& a, const Analysis& b) { return name(a) == name(b); }),
                studies.end());
  return studies;
}

}  // namespace headroom::experiments
