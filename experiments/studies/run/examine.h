#pragma once
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::experiments {

/// The findings of examine_store().
struct StoreHealth {
  int64_t sound = 0;      ///< trials whose bytes have their checksums
  int64_t unchecked = 0;  ///< trials without checksums that can be read
  int64_t files = 0;      ///< sound weights and checkpoints
  /// Everything that is not as it was written, a line each, with what repair_store() does about it.
  std::vector<std::string> damage;
};

/// Reads all of a store, and the weights and checkpoints beside it, and compares every checksum. Throws Error when the
/// file is no store that this program reads. Changes nothing.
StoreHealth examine_store(const std::filesystem::path& store);

/// Mends what examine_store() finds. A store with damaged trials is written anew with all sound ones, and the old file
/// stays beside it as store.sqlite.damaged-N; damaged weights stay as NAME.damaged, damaged checkpoints go. The next
/// run trains what is missing. Trials without checksums get them. In a shared folder each damaged shard is written anew
/// likewise; two results that differ stay. Returns what it did, a line each. Throws Error when a process uses the
/// store.
std::vector<std::string> repair_store(const std::filesystem::path& store);

}  // namespace headroom::experiments
