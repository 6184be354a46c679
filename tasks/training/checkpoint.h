#pragma once
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/safetensors/safetensors.h"

namespace headroom::tasks {

/// The prefix of weights' names among a checkpoint's tensors.
inline constexpr const char* weight_prefix = "model.";

/// A training that can resume here with the same bits: tensors (weights, moments, and the owner's) and the rest of its
/// state.
struct Checkpoint {
  models::NamedTensors tensors;
  int64_t step = 0;                         ///< steps done
  std::map<std::string, uint64_t> streams;  ///< next offset of each random stream
  std::optional<uint64_t> seed;             ///< of the streams; older files do not have it
  std::vector<double> schedule;
  /// engine::kernel_level() of the steps, if their bits depend on it; older programs noted less of it, or nothing.
  std::string level;
  /// The model's weights by parameter name, as models::NamedWeights takes them.
  models::NamedTensors weights() const;
  std::string more = "{}";  ///< a JSON object for the owner's other state; after loading, of all members
};

/// Writes a safetensors file that appears whole or not at all, with a SHA-256 over state and tensors. Keeps doubles to
/// the bit. `owner` says whose it is: "" for nobody's in particular. Throws Error naming the file and the file system's
/// error.
void save_checkpoint(const std::filesystem::path& path, const std::string& owner, const Checkpoint& checkpoint);

/// Throws Error naming the file if it is unreadable, incomplete, changed since, or another owner's.
Checkpoint load_checkpoint(const std::filesystem::path& path, const std::string& owner);

/// Writes trained weights to a safetensors file that appears whole or not at all, with `metadata` and a SHA-256 over
/// both. Returns that checksum. Throws Error naming the file and the file system's error.
std::string save_weights(const std::filesystem::path& path, const models::NamedTensors& tensors,
                         std::map<std::string, std::string> metadata);

/// Verifies a file of save_weights() and returns its checksum; "" for a file without one, from another program or an
/// older version. Throws Error naming the file, and its trial if known, if it was changed.
std::string check_weights(const models::SafetensorsFile& file);

}  // namespace headroom::tasks
