#pragma once
#include <cstddef>
#include <filesystem>
#include <string_view>

namespace headroom::models {

/// A file that appears whole or not at all: bytes go to a temporary_name() in the same folder; commit() syncs them and
/// renames the file. Without commit() the temporary file is removed. If the process is killed, the next writer of the
/// same name on this host removes it.
class AtomicFile {
 public:
  /// Throws Error naming the file if its folder is not writable.
  explicit AtomicFile(const std::filesystem::path& path);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  /// Appends. Throws Error naming the file and the cause, such as a full disk.
  void write(const void* bytes, size_t count);
  /// Waits until the bytes so far would outlive a power cut: of what commit() does, the part that a disk can refuse.
  void sync();
  /// Syncs the bytes, renames the file over any old one, and syncs the folder: after a power cut the name holds the old
  /// bytes or the new ones. Throws Error, also if something now has the name that check_new() found free (output.h).
  void commit();

 private:
  [[noreturn]] void fail_with_errno(const char* what) const;

  std::filesystem::path path_, temporary_;
  int fd_ = -1;
  bool is_synced_ = false;
};

/// Writes a whole file.
void write_file(const std::filesystem::path& path, std::string_view bytes);

}  // namespace headroom::models
