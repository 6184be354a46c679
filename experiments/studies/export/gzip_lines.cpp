#include "experiments/studies/export/gzip_lines.h"

#include <algorithm>

#include "engine/error.h"
#include "experiments/studies/run/store/database.h"

namespace headroom::experiments {
namespace {

constexpr int as_gzip = 16 + MAX_WBITS;
constexpr size_t piece_bytes = size_t{1} << 16;

Bytef* zip_bytes(const char* text) { return reinterpret_cast<Bytef*>(const_cast<char*>(text)); }

std::filesystem::path with_folder(const std::filesystem::path& path) {
  if (path.has_parent_path()) make_run_folder(path.parent_path());
  return path;
}

}  // namespace

GzipFile::GzipFile(const std::filesystem::path& path) : file_(with_folder(path)), piece_(piece_bytes, '\0') {
  constexpr int memory = 9;
  require(deflateInit2(&zip_, Z_BEST_COMPRESSION, Z_DEFLATED, as_gzip, memory, Z_DEFAULT_STRATEGY) == Z_OK,
          "{}: zlib cannot begin", path.string());
}

void GzipFile::deflate_all(std::string_view text, int flush) {
  zip_.next_in = zip_bytes(text.data());
  zip_.avail_in = static_cast<uInt>(text.size());
  do {
    zip_.next_out = zip_bytes(piece_.data());
    zip_.avail_out = piece_bytes;
    deflate(&zip_, flush);
    file_.write(piece_.data(), piece_bytes - zip_.avail_out);
  } while (zip_.avail_out == 0);
}

void GzipFile::write(std::string_view text) {
  constexpr size_t most = size_t{1} << 30;  // zlib counts with 32 bits
  for (; text.size() > most; text.remove_prefix(most)) deflate_all(text.substr(0, most), Z_NO_FLUSH);
  deflate_all(text, Z_NO_FLUSH);
}

void GzipFile::commit() {
  deflate_all("", Z_FINISH);
  file_.commit();
}

LineReader::LineReader(const std::filesystem::path& path, const LineLimits& limits)
    : path_(path), limits_(limits), file_(path, {"file of trials", limits.file}), piece_(piece_bytes, '\0') {
  fill();
  const bool is_gzip = held_ >= 2 && piece_[0] == '\x1f' && piece_[1] == '\x8b';
  if (is_gzip) require(inflateInit2(&zip_, as_gzip) == Z_OK, "{}: zlib cannot begin", path.string());
  is_gzip_ = is_gzip;
}

LineReader::~LineReader() {
  if (is_gzip_) inflateEnd(&zip_);
}

void LineReader::fill() {
  held_ = file_.read(piece_.data(), piece_bytes);
  at_ = 0;
}

void LineReader::complain(const std::string& message) const { fail("{}:{}: {}", path_.string(), line_, message); }

/// The next bytes of the text in `text_`, from 0; false at the end.
bool LineReader::more() {
  begin_ = 0;
  text_.clear();
  if (!is_gzip_) {
    if (at_ == held_) fill();
    text_.assign(piece_.data() + at_, held_ - at_);
    at_ = held_;
    return !text_.empty();
  }
  while (text_.empty() && !has_ended_) {
    if (at_ == held_) fill();
    if (held_ == 0) complain("the file is cut short: the compressed text goes on");
    zip_.next_in = zip_bytes(piece_.data() + at_);
    zip_.avail_in = static_cast<uInt>(held_ - at_);
    text_.resize(piece_bytes);
    zip_.next_out = zip_bytes(text_.data());
    zip_.avail_out = piece_bytes;
    const int status = inflate(&zip_, Z_NO_FLUSH);
    at_ = held_ - zip_.avail_in;
    text_.resize(piece_bytes - zip_.avail_out);
    has_ended_ = status == Z_STREAM_END;
    if (status != Z_OK && status != Z_STREAM_END && status != Z_BUF_ERROR)
      complain(fmt::format("the compressed bytes are damaged{}{}", zip_.msg ? ": " : "", zip_.msg ? zip_.msg : ""));
  }
  if (has_ended_) {
    if (at_ == held_) fill();
    if (held_ > at_) complain("there are bytes after the end of the compressed text");
  }
  return !text_.empty();
}

bool LineReader::next(std::string& line) {
  line.clear();
  ++line_;
  for (bool has_any = false;; has_any = true) {
    if (begin_ == text_.size() && !more()) {
      if (has_any) may_be_cut_ = !is_gzip_;
      return has_any;
    }
    const size_t end = text_.find('\n', begin_), stop = std::min(end, text_.size());
    line.append(text_, begin_, stop - begin_);
    total_ += stop - begin_ + 1;
    if (line.size() > limits_.line) complain(fmt::format("the line has more than {} MB", limits_.line >> 20));
    if (total_ > limits_.text) complain(fmt::format("the text has more than {} MB", limits_.text >> 20));
    begin_ = end == std::string::npos ? text_.size() : end + 1;
    if (end != std::string::npos) return true;
  }
}

}  // namespace headroom::experiments
