#pragma once
#include <cstdint>
#include <map>
#include <string>

#include "tasks/task.h"

namespace headroom::tasks {

/// What a study computes instead of training a model for it. Its config struct has `static constexpr bool is_formula =
/// true`.
class Formula {
 public:
  virtual ~Formula() = default;
  /// Throws Error where compute() would for want of what it reads from disk.
  virtual void check() const {}
  /// All there is to say. `seed`: of what it samples, such as random heads.
  virtual Metrics compute(uint64_t seed) const = 0;
  /// File → SHA-256 of everything that was read from disk.
  virtual std::map<std::string, std::string> data_hashes() const { return {}; }
  virtual std::string describe() const = 0;
};

}  // namespace headroom::tasks
