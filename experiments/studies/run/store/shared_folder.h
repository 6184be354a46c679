#pragma once
#include <filesystem>

#include "experiments/studies/run/store/lease_files.h"
#include "experiments/studies/run/store/shards.h"

namespace headroom::experiments {

/// Where a run keeps its trials when its folder is shared over a network: there SQLite may be damaged. It has shards
/// and leases; a RunStore folds the shards into its memory.
struct SharedFolder {
  explicit SharedFolder(const std::filesystem::path& run) : shards(run / "shards"), leases(run / "claims") {}
  Shards shards;
  LeaseFiles leases;
};

/// Whether a run's folder holds shards, in place of store.sqlite. A link called so holds some, too: whoever opens it
/// says that it is refused.
bool is_shared(const std::filesystem::path& run);
/// Whether anything is called store.sqlite there.
bool has_store_file(const std::filesystem::path& run);

/// Whether a folder, or the nearest above it that is there, lies on a file system that statfs(2) knows as one of a
/// network or a cluster (NFS, SMB, Lustre, GPFS, CephFS, BeeGFS, AFS, OCFS2, GFS2). FUSE does not say what is behind.
bool is_on_network(const std::filesystem::path& folder);

/// Puts the shards of processes that have ended into one, where a shared folder has many of them. What stands in the
/// way is no error: they are read as well.
void merge_ended_shards(const std::filesystem::path& run);

/// Makes a run's folder a shared one, with all that its store.sqlite has, which is then store.sqlite.before-shards, or
/// the first such name with a number that is free; one that already is shared gets what it lacks. Several processes may
/// do so at once. Throws Error, and changes nothing, while a process trains a trial of the store.
void share_run(const std::filesystem::path& run);

}  // namespace headroom::experiments
