#include "experiments/studies/export/published.h"

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/studies/config/overrides.h"
#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

PublishedWriter::PublishedWriter(const std::filesystem::path& path, PublishedRun run, const std::set<std::string>& ids)
    : file_(path), run_(std::move(run)) {
  run_.trials = std::ssize(ids);
  for (size_t i = 0; i < run_.plan.size(); ++i)
    if (ids.contains(run_.plan[i].id)) places_[run_.plan[i].id].push_back(i);
  file_.write(line_of_run(run_, ids));
}

void PublishedWriter::add(const TrialRecord& trial) { file_.write(line_of_trial(trial, run_, places_[trial.id])); }

void PublishedWriter::commit() { file_.commit(); }

PublishedReader::PublishedReader(const std::filesystem::path& path, const LineLimits& limits) : lines_(path, limits) {
  std::string line;
  if (!lines_.next(line)) lines_.complain("the file is empty: expected a file that 'headroom export trials' wrote");
  try {
    run_ = run_from_line(line, plan_);
    require(is_folder_name(run_.study),
            "'study' is '{}': expected letters, digits, - and _, a letter or digit first, at most 100",
            excerpt(run_.study));
    require(is_run_name(run_.profile), "'profile' is '{}': expected the name of a run's folder", excerpt(run_.profile));
  } catch (const Error& error) {
    lines_.complain(error.what());
  }
}

bool PublishedReader::next(TrialRecord& trial) {
  if (has_ended_) return false;
  std::string line;
  if (!lines_.next(line)) {
    has_ended_ = true;
    if (count_ != run_.trials)
      lines_.complain(fmt::format("the file is cut short: it has {} of {} trials", count_, run_.trials));
    for (auto& [position, entry] : plan_) {
      if (position != std::ssize(run_.plan))
        lines_.complain(fmt::format("place {} of the plan is missing", run_.plan.size()));
      run_.plan.push_back(std::move(entry));
    }
    return false;
  }
  try {
    trial = trial_from_line(line, run_.is_whole, plan_);
    require(trial_id_of(trial.config) == trial.id,
            "trial '{}' is not that of its config, whose id is {}: one of the two was changed", excerpt(trial.id),
            trial_id_of(trial.config));
    require(trial.id > last_, "trial {} after {}: expected trials in order of their ids, each once", trial.id, last_);
    require(++count_ <= run_.trials, "there are more trials than the {} of the first line", run_.trials);
  } catch (const Error& error) {
    lines_.complain(error.what());
  }
  last_ = trial.id;
  return true;
}

}  // namespace headroom::experiments
