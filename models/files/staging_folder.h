#pragma once
#include <filesystem>

namespace headroom::models {

/// Whether what has the final name may be replaced. An empty folder always may, by a folder.
enum class Replace { never, allowed };

/// Where files lie until they are whole: a folder of a temporary_name() next to a file or folder called NAME that is to
/// appear. Removed with all that is left in it; what a killed process left is removed by the next one for the same
/// name.
class StagingFolder {
 public:
  /// Throws Error naming `target` when its folder cannot be written to.
  explicit StagingFolder(std::filesystem::path target);
  ~StagingFolder();
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  const std::filesystem::path& path() const { return folder_; }
  /// Gives `name`, a file or folder in path(), the target's name, in one step of the file system: the target is what it
  /// was, or the new one. File systems that have no such step for a folder in place of a folder (NFS) take two. Throws
  /// Error when it exists and may not be replaced, also where another command has made it since, or cannot be.
  void publish(const std::filesystem::path& name, Replace replace);

 private:
  /// Replaces the target by rename(), for file systems that refuse renameat2()'s flags: 0, or -1 with errno.
  int replace_in_steps(const std::filesystem::path& made) const;

  std::filesystem::path target_, folder_;
  int lock_ = -1;
};

}  // namespace headroom::models
