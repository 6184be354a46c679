#pragma once
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/device.h"
#include "tasks/task.h"

namespace headroom::tasks {

/// How to run a formula that trains for minutes.
struct MeasurementRun {
  std::filesystem::path folder{};  ///< keeps results for later runs and other formulas of the study; empty: none
  /// Called before each step with its number and the latest loss (NaN before the first); false stops the formula.
  std::function<bool(int64_t step, double loss)> on_step{};
  double save_every = 300;                         ///< seconds between saves of a running training
  engine::Device device = engine::cpu;             ///< where models run; the CPU unless takes_device() of its config
  std::function<void(const std::string&)> note{};  ///< see TrainerConfig
  /// Receives the metrics for choosing among trials, if a formula has them on other data than it reports; otherwise
  /// left empty.
  Metrics* validation = nullptr;
  /// Receives pseudo_values() of those metrics that are means over parts of a text, if there are enough.
  std::map<std::string, std::vector<double>>* parts = nullptr;
};

/// A formula that a study computes without training a model for it. Its config has `static constexpr bool
/// runs_on_devices = true` if it uses MeasurementRun::device.
class Measurement {
 public:
  virtual ~Measurement() = default;
  /// Throws Error if compute() would for lack of a file.
  virtual void check() const {}
  /// All its numbers. `seed` is for random samples, such as random heads.
  virtual Metrics compute(uint64_t seed) const = 0;
  /// The same for a formula that can stop and resume: none if it was stopped. If it is killed at any moment, or left by
  /// Stopped (engine/context.h), running it again with the same folder gives the same numbers.
  virtual std::optional<Metrics> run(uint64_t seed, const MeasurementRun& /*how*/) const { return compute(seed); }
  /// The number of steps a run reports; 0: none.
  virtual int64_t steps() const { return 0; }
  /// True if a study's measurements of one model share some results and wait for the one that makes them.
  virtual bool waits_for_others() const { return false; }
  /// File → SHA-256 of everything read from disk.
  virtual std::map<std::string, std::string> data_hashes() const { return {}; }
  virtual std::string describe() const = 0;
};

/// One with a config, which its constructor validates.
template <class Config>
class ConfiguredMeasurement : public Measurement {
 public:
  explicit ConfiguredMeasurement(const Config& config) : config_(config) { validate(config); }

 protected:
  Config config_;
};

}  // namespace headroom::tasks
