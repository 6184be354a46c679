#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "engine/device.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// How a formula that trains for minutes is run.
struct MeasurementRun {
  std::filesystem::path folder{};  ///< keeps what was done, for later runs and other formulas of a study; empty: none
  /// Called before each step with its number and the latest loss (NaN before the first); false stops the formula.
  std::function<bool(int64_t step, double loss)> on_step{};
  double save_every = 300;                         ///< seconds between two saves of a training that is under way
  engine::Device device = engine::cpu;             ///< where models run; the CPU unless takes_device() of its config
  std::function<void(const std::string&)> note{};  ///< see TrainerConfig
  /// Gets the metrics by which one of several trials is chosen, from a formula that has them on other data than those
  /// that it reports; others leave it empty.
  Metrics* validation = nullptr;
};

/// What a study computes instead of training a model for it. Its config struct has `static constexpr bool
/// runs_on_devices = true` where MeasurementRun::device counts.
class Measurement {
 public:
  virtual ~Measurement() = default;
  /// Throws Error where compute() would for lack of what it reads from disk.
  virtual void check() const {}
  /// All its numbers. `seed` is for what it samples, such as random heads.
  virtual Metrics compute(uint64_t seed) const = 0;
  /// The same, of a formula that can stop and go on: none when it was stopped. Killed at any moment, or left by Stopped
  /// (engine/context.h), and run again with the same folder, it comes to the same numbers.
  virtual std::optional<Metrics> run(uint64_t seed, const MeasurementRun& /*how*/) const { return compute(seed); }
  /// How many steps a run reports; 0: none.
  virtual int64_t steps() const { return 0; }
  /// File → SHA-256 of everything that was read from disk.
  virtual std::map<std::string, std::string> data_hashes() const { return {}; }
  virtual std::string describe() const = 0;
};

}  // namespace headroom::tasks
