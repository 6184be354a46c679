#pragma once
#include <zlib.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "models/files/atomic_file.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {

/// A gzip file (RFC 1952) that appears whole or not at all. Its header holds neither time nor name: equal texts give
/// equal bytes, with one version of zlib.
class GzipFile {
 public:
  /// Makes the folder. Throws Error naming what cannot be made.
  explicit GzipFile(const std::filesystem::path& path);
  ~GzipFile() { deflateEnd(&zip_); }
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// Appends. Throws Error naming the file.
  void write(std::string_view text);
  /// Ends the file, which then has its name. Throws Error naming it.
  void commit();

 private:
  void deflate_all(std::string_view text, int flush);

  models::AtomicFile file_;
  z_stream zip_{};
  std::string piece_;  ///< of compressed bytes
};

/// How much the reader of a file's lines takes: a kilobyte of gzip can stand for a megabyte, of its sender's choosing.
struct LineLimits {
  uint64_t file = uint64_t{1} << 28;  ///< bytes on disk
  uint64_t text = uint64_t{1} << 30;  ///< bytes of all lines
  uint64_t line = uint64_t{1} << 26;  ///< bytes of one line
};

/// The lines of a text file, which may be a gzip file: its first two bytes tell. A line at a time is in memory.
class LineReader {
 public:
  /// Throws Error naming the file, as models::RegularFile does.
  explicit LineReader(const std::filesystem::path& path, const LineLimits& limits = {});
  ~LineReader();
  LineReader(const LineReader&) = delete;
  LineReader& operator=(const LineReader&) = delete;

  /// The next line without its end; false after the last. Throws Error "FILE:LINE: …" for bytes that are no gzip, a
  /// file that is cut short, a checksum that does not fit, bytes behind the end, and what is over the limits.
  bool next(std::string& line);
  /// Whether the last line may have been longer: it has no end, and its file no checksum. Known once next() gave it.
  bool may_be_cut() const { return may_be_cut_; }
  /// "FILE:LINE: MESSAGE" as an Error, of the line that next() gave, counted from 1.
  [[noreturn]] void complain(const std::string& message) const;

 private:
  void fill();
  bool more();

  const std::filesystem::path path_;
  const LineLimits limits_;
  models::RegularFile file_;
  bool is_gzip_ = false, has_ended_ = false, may_be_cut_ = false;
  z_stream zip_{};
  std::string piece_;         ///< bytes of the file
  size_t at_ = 0, held_ = 0;  ///< in `piece_`: what was used, what was read
  std::string text_;
  size_t begin_ = 0;    ///< in `text_`: what is before it was given
  uint64_t total_ = 0;  ///< bytes that were given
  int64_t line_ = 0;
};

}  // namespace headroom::experiments
