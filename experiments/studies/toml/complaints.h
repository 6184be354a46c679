#pragma once
#include <map>
#include <set>
#include <string>
#include <vector>

#include "engine/error.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {

/// Everything wrong with a study file, one line each, in the order of the file.
class ConfigError : public Error {
 public:
  explicit ConfigError(std::vector<std::string> problems);
  const std::vector<std::string>& problems() const { return problems_; }

 private:
  std::vector<std::string> problems_;
};

/// Collects problems, so that one run shows all of them.
class Complaints {
 public:
  /// "FILE:LINE:COLUMN: train.steps: expected an integer". The same problem twice counts once.
  void add(const Place& place, const std::string& path, const std::string& message);
  void add_all(const Complaints& others);
  /// Reports a key that nobody reads, suggesting the nearest known path.
  void add_unknown(const Place& place, const std::string& path);
  /// Registers a path of the schema, unconditional or under a condition.
  void know(const std::string& path, const std::string& condition = "");
  size_t size() const { return found_.size() + unknown_.size(); }
  bool empty() const { return found_.empty() && unknown_.empty(); }
  /// Throws ConfigError unless empty.
  void raise() const;

 private:
  struct Complaint {
    Place place;
    std::string path, message;
  };
  std::vector<Complaint> found_, unknown_;
  std::set<std::string> known_;
  std::map<std::string, std::string> conditions_;  ///< of paths that exist under conditions only
};

/// "steps" of the path "train.steps".
std::string last_word(const std::string& path);

/// The known path nearest to a mistaken one: the fewest edits (a swap of neighbours counts one), or the same last word
/// in another table; "" when none is near.
std::string nearest_path(const std::string& path, const std::set<std::string>& known);

}  // namespace headroom::experiments
