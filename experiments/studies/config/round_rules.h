#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/studies/toml/complaints.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

/// seed = { from = 101, until = "decided", first = 3, at_most = 24 }: seeds that count up from `from`, `first` of them
/// to begin with, and more, `at_most` in all, while a claim of the study is undecided.
struct SeedRule {
  int64_t from = 0, first = 3, at_most = 24;
  Place place{};
  bool is_same(const SeedRule& other) const {
    return from == other.from && first == other.first && at_most == other.at_most;
  }
};

/// Reads such a table of [sweep].
SeedRule read_seed_rule(const Value& table, Complaints& problems);

/// One value of a choice.
struct GridValue {
  Value value;
  bool is_later = false;  ///< not of the grid as it is written: rounds may add it
};

/// Reads best_of = { … } at `path`, a grid on a logarithmic axis:
///
///   { from = 1e-3, to = 1e-1, times = 3.162 }     from `from` to `to`, each value `times` the one before it
///   { values = [1e-3, 3e-3, 1e-2] }               the same, written out
///   { …, extend = true, limits = [1e-5, 1] }      widened while the value that validation prefers stands at an end
///
/// `times` is √10 without the key. A list goes on by the mean ratio of its neighbours. Without `limits` a grid grows by
/// two decades to either side. Values that are computed are rounded to three digits. Returns them growing where they
/// are computed, those of a list in its order, between those below and those above them.
std::vector<GridValue> read_grid(const Value& table, const std::string& path, Complaints& problems);

}  // namespace headroom::experiments
