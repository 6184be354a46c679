#pragma once
#include <filesystem>

namespace headroom::models {

/// Says if an existing target may be replaced. A folder may always replace an empty folder.
enum class Replace { never, allowed };

/// A folder for files until they are complete, with a temporary_name() next to the target. The destructor removes it
/// and its contents; if the process is killed, the next one with the same target does.
class StagingFolder {
 public:
  /// Throws Error naming `target` if its parent folder is not writable.
  explicit StagingFolder(std::filesystem::path target);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }
  /// Renames `name`, a file or folder in path(), to the target, atomically: the target is the old one or the new one.
  /// File systems that cannot swap folders (NFS) take two steps. Throws Error if the target may not be replaced, also
  /// if another command has just made it, or if renaming fails.
  void publish(const std::filesystem::path& name, Replace replace);

 private:
  /// Replaces the target with rename(), for file systems without renameat2()'s flags: 0, or -1 with errno.
  int replace_in_steps(const std::filesystem::path& made) const;

  std::filesystem::path target_, folder_;
  int lock_ = -1;
};

}  // namespace headroom::models
