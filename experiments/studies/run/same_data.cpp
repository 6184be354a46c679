#include "experiments/studies/run/same_data.h"

#include <filesystem>
#include <set>

#include "engine/error.h"
#include "experiments/studies/run/op_library.h"

namespace headroom::experiments {
namespace {

using Hashes = std::map<std::string, std::string>;

std::string file_name(const std::string& path) { return std::filesystem::path(path).filename().string(); }

/// A data folder may move, so that only the last part of a path counts.
void compare(const Hashes& trained_on, const Hashes& present) {
  for (const auto& [path, hash] : trained_on) {
    std::string other;
    bool is_there = false;
    for (const auto& [now, now_hash] : present) {
      if (file_name(now) != file_name(path)) continue;
      is_there = is_there || now_hash == hash;
      other = now_hash;
    }
    require(
        is_there || other.empty(),
        "{}: has SHA-256 {}, but finished trials of this study were trained on {}; --out names a folder for the new "
        "data",
        path, other, hash);
  }
}

/// None where the data cannot be read: a study that is finished needs them no more.
Hashes present_hashes(const TrialConfig& config, WorkPool& pool) {
  try {
    return data_hashes(config, tasks::data_hashes(pool.get(config)));
  } catch (const Error&) {
    return {};
  }
}

}  // namespace

void check_same_data(const Study& study, const std::unordered_map<std::string, RunStore::Known>& all, WorkPool& pool) {
  std::set<std::pair<std::string, Hashes>> seen;
  for (const PlannedTrial& trial : study.trials) {
    const auto found = all.find(trial.id);
    if (found == all.end()) continue;
    const RunStore::Known& known = found->second;
    if (!known.is_finished || known.data.empty()) continue;
    if (seen.emplace(trial.config.task_record + trial.config.model.op_library, known.data).second)
      compare(known.data, present_hashes(trial.config, pool));
  }
}

}  // namespace headroom::experiments
