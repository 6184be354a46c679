#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/safetensors/safetensors.h"

namespace headroom::tasks {

/// Stands before the names of weights among a checkpoint's tensors.
inline constexpr const char* weight_prefix = "model.";

/// A training that can continue from here to the same bits: tensors (weights, moments, and what its owner adds) and the
/// rest of its state.
struct Checkpoint {
  models::NamedTensors tensors;
  int64_t step = 0;                         ///< steps done
  std::map<std::string, uint64_t> streams;  ///< next offset of each random stream
  std::optional<uint64_t> seed;             ///< of the streams; files of earlier versions do not say
  std::vector<double> schedule;
  /// engine::kernel_level() of the steps, where that decides their bits; earlier programs noted less of it, or nothing.
  std::string level;
  /// The model's weights by the names of its parameters: what models::NamedWeights takes.
  models::NamedTensors weights() const;
  std::string more = "{}";  ///< a JSON object with what else the owner keeps; after loading, of all members
};

/// Writes a safetensors file that appears whole or not at all, with a SHA-256 over state and tensors. Doubles are kept
/// to the bit. `owner` says whose it is: "" for nobody's in particular. Throws Error naming the file and what the file
/// system refused.
void save_checkpoint(const std::filesystem::path& path, const std::string& owner, const Checkpoint& checkpoint);

/// Throws Error naming the file when it is not readable, not whole, changed since, or another owner's.
Checkpoint load_checkpoint(const std::filesystem::path& path, const std::string& owner);

}  // namespace headroom::tasks
