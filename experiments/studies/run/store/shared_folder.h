#pragma once
#include <filesystem>

#include "experiments/studies/run/store/claims.h"
#include "experiments/studies/run/store/shards.h"

namespace headroom::experiments {

/// Where a run keeps its trials when its folder is shared over a network: there SQLite may be damaged. It has shards
/// and claims; a RunStore folds the shards into a database of its own.
struct SharedFolder {
  explicit SharedFolder(const std::filesystem::path& run) : shards(run / "shards"), claims(run / "claims") {}
  Shards shards;
  Claims claims;
};

/// Whether a run's folder holds shards, in place of store.sqlite.
bool is_shared(const std::filesystem::path& run);

/// Whether a folder, or the nearest above it that is there, lies on a file system that statfs(2) knows as one of a
/// network or a cluster (NFS, SMB, Lustre, GPFS, CephFS, BeeGFS, AFS, OCFS2, GFS2). FUSE does not say what is behind.
bool is_on_network(const std::filesystem::path& folder);

/// Makes a run's folder a shared one, with all that its store.sqlite has, which is then store.sqlite.before-shards.
/// Several processes may do so at once. Throws Error, and changes nothing, while a process trains a trial of the store.
void share_run(const std::filesystem::path& run);

}  // namespace headroom::experiments
