#pragma once
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>

namespace headroom::experiments {

/// A gzip file (RFC 1952) that appears whole or not at all. Its header holds neither time nor name: equal texts give
/// equal bytes, with one version of zlib.
class GzipFile {
 public:
  /// Makes the folder. Throws Error naming what cannot be made.
  explicit GzipFile(const std::filesystem::path& path);
  ~GzipFile();
  GzipFile(const GzipFile&) = delete;
  GzipFile& operator=(const GzipFile&) = delete;

  /// Appends. Throws Error naming the file.
  void write(std::string_view text);
  /// Ends the file, which then has its name. Throws Error naming it.
  void commit();

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
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
  /// Of the line that next() gave, counted from 1.
  int64_t number() const;
  /// "FILE:LINE: MESSAGE" as an Error.
  [[noreturn]] void complain(const std::string& message) const;

 private:
  struct Stream;
  std::unique_ptr<Stream> stream_;
};

}  // namespace headroom::experiments
