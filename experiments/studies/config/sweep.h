#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "experiments/studies/claims/looks.h"
#include "experiments/studies/config/trial_config.h"
#include "experiments/studies/results.h"
#include "experiments/studies/toml/complaints.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

class Reader;

/// seed = { from = 101, until = "decided", first = 3, at_most = 24 }: seeds that count up from `from`, `first` of them
/// to begin with, and more, `at_most` in all, while a claim of the study is undecided.
struct SeedRule {
  int64_t from = 0, first = 3, at_most = 24;
  bool anytime = false;  ///< until = "anytime": judged at any number of looks, not at planned ones
  Place place{};
  /// The numbers of seeds at which claims are judged.
  std::vector<int64_t> looks() const {
    return anytime ? anytime_looks(first, at_most) : experiments::looks(first, at_most);
  }
  bool is_same(const SeedRule& other) const {
    return from == other.from && first == other.first && at_most == other.at_most && anytime == other.anytime;
  }
};

/// Keys that vary together: one key of the grid, or several (`zip`, `points`).
struct SweepAxis {
  /// The kind of its positions: points of a curve, choices made on validation, or separate curves.
  enum class Role { x, choice, curve };
  struct Position {
    std::vector<Value> values;  ///< one per path
    std::string name;           ///< "" unless the file gives one
    bool is_later = false;      ///< only for rounds after the first
    bool is_between = false;    ///< only for the round that refines the best of its neighbours
  };
  std::vector<std::string> paths;  ///< "model.heads"
  std::vector<Place> places;       ///< of each path
  std::vector<Position> positions;
  bool best_of = false;
  Role role = Role::curve;
};

/// An expression over keys of a trial that must not be 0.
struct Constraint {
  std::string text;
  Place place;
};

/// [sweep]
struct Sweep {
  Place place;
  std::vector<SweepAxis> axes;        ///< curves first, otherwise in the order of the file
  std::vector<int64_t> seeds{0};      ///< all seeds that rounds may reach
  std::optional<SeedRule> seed_rule;  ///< seed = { until = "decided" }
  std::vector<Constraint> constraints;
};

/// Reads a table `seed` of [sweep].
SeedRule read_seed_rule(const Value& table, Complaints& problems);

/// Reads best_of = { … } at `path`, a grid on a logarithmic axis:
///
///   { from = 1e-3, to = 1e-1, times = 3.162 }     from `from` to `to`, each value `times` the one before it
///   { values = [1e-3, 3e-3, 1e-2] }               the same, written out
///   { …, extend = true, limits = [1e-5, 1] }      widened while the value that validation prefers stands at an end
///   { …, refine = true }                          then, once, values halfway to neighbours over twice as far
///
/// `times` is √10 without the key. A list goes on by the mean ratio of its neighbours. Without `limits` a grid grows by
/// two decades to either side. Values that are computed are rounded to three digits. Returns them growing where they
/// are computed, those of a list in its order, between those below and those above them; last, those between others.
std::vector<SweepAxis::Position> read_grid(const Value& table, const std::string& path, Complaints& problems);

/// Reads [sweep]:
///
///   "model.heads"        = [1, 2, 4]                                a key of the grid, any TOML values
///   "train.optimizer.lr" = { best_of = [1e-3, 1e-2] }               a choice
///   "train.optimizer.lr" = { best_of = { from = 1e-3, to = 1e-1, extend = true } }
///                                                                   one that rounds widen: read_grid()
///   "task.kernel"        = { values = [{ … }, { … }], names = [ … ] }
///   zip                  = [["model.heads", "model.head_dim"]]      these go together, position by position
///   points               = [{ model.heads = 1, model.width = 32 }]  the same, written point by point
///   constraint           = ["model.heads * model.head_dim <= 512"]
///   seed                 = [0, 1]                                   or { from = 101, until = "decided" }: SeedRule
///
/// `x_key` decides which axis is the report's x: the one that sweeps it, or the only one that is no best_of.
Sweep read_sweep(const Value& root, const std::string& x_key, Complaints& problems);
/// Describes [sweep] for the schema.
void describe_sweep(Reader& in);

/// Writes the keys of each [sweep] of a document (of its profiles and series, too) as dotted paths, so that
/// `sweep.model.heads` and `sweep."model.heads"` are one key.
void flatten_sweeps(Value& document);

/// One trial of the plan with what it trains.
struct PlannedTrial : PlanEntry {
  TrialConfig config;
  bool is_later = false;    ///< not of the first round
  bool is_between = false;  ///< has a value of a grid that only its refinement tries
  size_t place = 0;         ///< in the study's plan with every trial that rounds may add
};

/// Every combination of a sweep's positions and seeds that meets the constraints, seeds innermost, bound to the configs
/// that they give; those that only rounds may add are marked. `series` is the name of the [[series]]; an axis that
/// makes curves adds its own ("white noise, positions=alibi"), unless the constraints tie it to x one to one. What is
/// wrong goes into `problems`, also when no combination is left.
std::vector<PlannedTrial> expand(const Value& root, const Sweep& sweep, const std::string& x_key,
                                 const std::string& series, Complaints& problems);

}  // namespace headroom::experiments
