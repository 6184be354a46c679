#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "experiments/results.h"
#include "models/safetensors/safetensors.h"

namespace headroom::experiments {

/// What a trial has come to, beside its weights, moments and streams.
struct Standing {
  int64_t step = 0;      ///< updates done
  double seconds = 0;    ///< spent on them, in all processes
  double best = 0;       ///< smallest validation error so far
  int64_t stale = 0;     ///< validations since then
  double last_loss = 0;  ///< of the latest update
  double gradient_norm = 0;
  std::map<std::string, double> validation, test;  ///< of the judged weights
  std::vector<std::pair<double, double>> predictions;
  std::vector<HistoryPoint> history;
};

/// A training that can go on from here to the same bits: tensors (weights, moments, the best weights so far) and the
/// rest of its state.
struct Checkpoint {
  models::NamedTensors tensors;
  Standing standing;
  std::map<std::string, uint64_t> streams;  ///< next offset of each random stream
  std::vector<double> schedule;
};

/// Writes a safetensors file that appears whole or not at all, with a SHA-256 over state and tensors. Doubles are kept
/// to the bit. Throws Error naming the file and what the file system refused.
void save_checkpoint(const std::filesystem::path& path, const std::string& trial, const Checkpoint& checkpoint);

/// Throws Error naming the file when it is not readable, not whole, changed since, or another trial's.
Checkpoint load_checkpoint(const std::filesystem::path& path, const std::string& trial);

}  // namespace headroom::experiments
