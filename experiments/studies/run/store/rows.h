#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/results.h"
#include "experiments/studies/run/store/database.h"

namespace headroom::experiments {

/// How much of a trial is read: the row alone, or its scores, curve and predictions as well.
enum class Depth { row, whole };

/// Called with a trial's id and with what of it is not as it was written.
using DamageHook = std::function<void(const std::string& id, const std::string& what)>;

/// Calls `f` with every trial that has its checksums, by id, in one pass over each table, and at the end compares all
/// of them with the store's seal, which tells of rows that are missing. What is damaged goes to `on_damage`; without
/// one it is an Error that names file and trial.
void for_each_trial(const Database& database, Depth depth, const std::function<void(TrialRecord&&)>& f,
                    const DamageHook& on_damage = {});

/// The same of one trial. Nothing where there is none, and where it is damaged.
std::optional<TrialRecord> read_trial(const Database& database, const std::string& id, Depth depth,
                                      const DamageHook& on_damage = {});

/// Writes a trial in place of one of the same id, reads it back, and keeps the checksums of what was read. `ended`:
/// seconds since 1970, 0 for now. In a transaction of the caller's.
void write_trial(const Database& database, const TrialRecord& record, int64_t attempts, double ended = 0);

/// Gives checksums to the plan and to all trials that have none, and seals them. In a transaction of the caller's.
void add_checksums(const Database& database);

/// How many trials have no checksum.
int64_t count_unchecked(const Database& database);

/// Writes what the latest run needs, in place of what there is, and its checksum. In a transaction of the caller's.
void write_plan(const Database& database, const std::map<std::string, std::string>& study,
                const std::vector<PlanEntry>& plan);
/// Throws Error naming the file when plan and study are not as they were written; so do those that read them.
void check_plan(const Database& database);
std::vector<PlanEntry> read_plan(const Database& database);
std::map<std::string, std::string> read_study(const Database& database);

}  // namespace headroom::experiments
