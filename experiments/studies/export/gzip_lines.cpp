#include "experiments/studies/export/gzip_lines.h"

#include <zlib.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

constexpr int as_gzip = 16 + MAX_WBITS;
constexpr size_t piece_bytes = size_t{1} << 16;
using Piece = std::array<char, piece_bytes>;

Bytef* zip_bytes(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

std::filesystem::path with_folder(const std::filesystem::path& path) {
  std::error_code error;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), error);
  require(!error, "{}: cannot make the folder: {}", path.parent_path().string(), error.message());
  return path;
}

}  // namespace

struct GzipFile::Stream {
  explicit Stream(const std::filesystem::path& path) : file(with_folder(path)) {
    constexpr int memory = 9;
    require(deflateInit2(&zip, Z_BEST_COMPRESSION, Z_DEFLATED, as_gzip, memory, Z_DEFAULT_STRATEGY) == Z_OK,
            "{}: zlib cannot begin", path.string());
  }
  ~Stream() { deflateEnd(&zip); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void deflate_all(std::string_view text, int flush) {
    zip.next_in = zip_bytes(text.data());
    zip.avail_in = static_cast<uInt>(text.size());
    do {
      zip.next_out = zip_bytes(piece.data());
      zip.avail_out = piece_bytes;
      deflate(&zip, flush);
      file.write(piece.data(), piece_bytes - zip.avail_out);
    } while (zip.avail_out == 0);
  }

  models::AtomicFile file;
  z_stream zip{};
  Piece piece{};
};

GzipFile::GzipFile(const std::filesystem::path& path) : stream_(std::make_unique<Stream>(path)) {}
GzipFile::~GzipFile() = default;

void GzipFile::write(std::string_view text) {
  constexpr size_t most = size_t{1} << 30;  // zlib counts with 32 bits
  for (; text.size() > most; text.remove_prefix(most)) stream_->deflate_all(text.substr(0, most), Z_NO_FLUSH);
  stream_->deflate_all(text, Z_NO_FLUSH);
}

void GzipFile::commit() {
  stream_->deflate_all("", Z_FINISH);
  stream_->file.commit();
}

struct LineReader::Stream {
  Stream(const std::filesystem::path& of, const LineLimits& most)
      : path(of), limits(most), file(of, {"file of trials", most.file}) {
    fill();
    is_gzip = held >= 2 && piece[0] == '\x1f' && piece[1] == '\x8b';
    if (is_gzip) require(inflateInit2(&zip, as_gzip) == Z_OK, "{}: zlib cannot begin", path.string());
  }
  ~Stream() {
    if (is_gzip) inflateEnd(&zip);
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  void fill() {
    held = file.read(piece.data(), piece_bytes);
    at = 0;
  }

  [[noreturn]] void complain(const std::string& message) const { fail("{}:{}: {}", path.string(), line, message); }

  /// The next bytes of the text in `text`, from 0; false at the end.
  bool more() {
    begin = 0;
    if (is_gzip) return more_of_gzip();
    if (at == held) fill();
    text.assign(piece.data() + at, held - at);
    at = held;
    return !text.empty();
  }

  bool more_of_gzip() {
    text.clear();
    while (text.empty() && !has_ended) {
      if (at == held) fill();
      if (held == 0) complain("the file is cut short: the compressed text goes on");
      zip.next_in = zip_bytes(piece.data() + at);
      zip.avail_in = static_cast<uInt>(held - at);
      text.resize(piece_bytes);
      zip.next_out = zip_bytes(text.data());
      zip.avail_out = piece_bytes;
      const int status = inflate(&zip, Z_NO_FLUSH);
      at = held - zip.avail_in;
      text.resize(piece_bytes - zip.avail_out);
      has_ended = status == Z_STREAM_END;
      if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
        complain(fmt::format("the compressed bytes are damaged{}{}", zip.msg ? ": " : "", zip.msg ? zip.msg : ""));
    }
    if (has_ended) {
      if (at == held) fill();
      if (held > at) complain("there are bytes after the end of the compressed text");
    }
    return !text.empty();
  }

  std::filesystem::path path;
  LineLimits limits;
  models::RegularFile file;
  bool is_gzip = false, has_ended = false;
  z_stream zip{};
  Piece piece{};
  size_t at = 0, held = 0;  ///< in `piece`
  std::string text;         ///< of which what is before `begin` was given
  size_t begin = 0;
  uint64_t total = 0;  ///< bytes that were given
  int64_t line = 0;
};

LineReader::LineReader(const std::filesystem::path& path, const LineLimits& limits)
    : stream_(std::make_unique<Stream>(path, limits)) {}
LineReader::~LineReader() = default;

int64_t LineReader::number() const { return stream_->line; }

void LineReader::complain(const std::string& message) const { stream_->complain(message); }

bool LineReader::next(std::string& line) {
  Stream& s = *stream_;
  line.clear();
  ++s.line;
  for (bool has_any = false;; has_any = true) {
    if (s.begin == s.text.size() && !s.more()) return has_any;
    const size_t end = s.text.find('\n', s.begin), stop = std::min(end, s.text.size());
    line.append(s.text, s.begin, stop - s.begin);
    s.total += stop - s.begin + 1;
    if (line.size() > s.limits.line) s.complain(fmt::format("the line has more than {} MB", s.limits.line >> 20));
    if (s.total > s.limits.text) s.complain(fmt::format("the text has more than {} MB", s.limits.text >> 20));
    s.begin = end == std::string::npos ? s.text.size() : end + 1;
    if (end != std::string::npos) return true;
  }
}

}  // namespace headroom::experiments
