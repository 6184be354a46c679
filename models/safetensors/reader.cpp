#include <algorithm>
#include <bit>
#include <cstring>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/files/other_kind.h"
#include "models/safetensors/safetensors.h"

namespace headroom::models {
namespace {

static_assert(std::endian::native == std::endian::little, "safetensors are little-endian, and so are we");
constexpr uint64_t length_bytes = 8;

}  // namespace

SafetensorsFile::SafetensorsFile(const std::filesystem::path& path, const FileKind& kind)
    : path_(path), file_(std::make_shared<const MappedFile>(path, kind)) {
  try {
    require(file_->size() >= length_bytes, "{} bytes are too few for a safetensors file (truncated?)", file_->size());
    uint64_t header_bytes = 0;
    std::memcpy(&header_bytes, file_->data(), length_bytes);
    require(header_bytes <= max_safetensors_header, "header length {} is above {}: not a safetensors file?",
            header_bytes, max_safetensors_header);
    require(header_bytes <= file_->size() - length_bytes, "header of {} bytes ends beyond the file's {} (truncated?)",
            header_bytes, file_->size());
    buffer_ = file_->data() + length_bytes + header_bytes;
    header_ = parse_safetensors_header(file_->text().substr(length_bytes, header_bytes),
                                       file_->size() - length_bytes - header_bytes);
  } catch (const Error& error) {
    const bool has_header = file_->text().substr(std::min<size_t>(file_->size(), length_bytes)).starts_with('{');
    fail("{}: {}", path.string(), has_header ? error.what() : other_kind_or(file_->text(), error.what()));
  }
  for (size_t i = 0; i < header_.entries.size(); ++i) {
    names_.push_back(header_.entries[i].name);
    index_[names_.back()] = i;
  }
}

const SafetensorsEntry& SafetensorsFile::entry(const std::string& name) const {
  const auto found = index_.find(name);
  if (found != index_.end()) return header_.entries[found->second];
  constexpr size_t shown = 8;
  std::string known;
  for (size_t i = 0; i < names_.size() && i < shown; ++i) known += (i > 0 ? ", " : "") + quoted_name(names_[i]);
  fail("{}: has no tensor {} (it has {}: {}{})", path_.string(), quoted_name(name), names_.size(), known,
       names_.size() > shown ? ", …" : "");
}

void SafetensorsFile::release(const std::string& name) const {
  const SafetensorsEntry& e = entry(name);
  const auto header = static_cast<size_t>(buffer_ - file_->data());
  file_->release(header + e.begin, header + e.end);
}

engine::Tensor SafetensorsFile::mapped(const std::string& name) const {
  const SafetensorsEntry& e = entry(name);
  const uint8_t* source = buffer_ + e.begin;
  const size_t bytes = e.end - e.begin;
  // A bool of any other value would be undefined behaviour wherever it is read.
  if (e.dtype == engine::DType::boolean)
    for (size_t i = 0; i < bytes; ++i)
      require(source[i] <= 1, "{}: tensor {}: element {} of a BOOL is {}", path_.string(), quoted_name(name), i,
              source[i]);
  if (bytes > 0 && reinterpret_cast<uintptr_t>(source) % static_cast<uintptr_t>(engine::size_of(e.dtype)) == 0)
    return engine::Tensor::over(source, file_, e.shape, e.dtype);
  engine::Tensor out = engine::Tensor::empty(e.shape, e.dtype);
  if (bytes > 0) std::memcpy(out.mutable_raw(), source, bytes);
  return out;
}

}  // namespace headroom::models
