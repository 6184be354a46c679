#include <algorithm>
#include <cstdio>

#include "engine/error.h"
#include "models/files/json.h"
#include "models/gguf/gguf.h"

namespace headroom::models {

using engine::DType;
using engine::Tensor;

namespace fs = std::filesystem;

std::vector<fs::path> gguf_parts(const fs::path& path) {
  // "-00001-of-00003": five digits twice.
  const std::string stem = path.stem().string(), tail = stem.substr(stem.size() - std::min<size_t>(stem.size(), 15));
  int number = 0, count = 0, read = 0;
  const bool is_part = tail.size() == 15 && std::sscanf(tail.c_str(), "-%5d-of-%5d%n", &number, &count, &read) == 2 &&
                       read == 15 && number >= 1 && number <= count;
  if (!is_part) return {path};
  std::vector<fs::path> parts;
  for (int i = 1; i <= count; ++i)
    parts.push_back(path.parent_path() / fmt::format("{}-{:05}-of-{:05}{}", stem.substr(0, stem.size() - 15), i, count,
                                                     path.extension().string()));
  return parts;
}

GgufFile::Part::Part(const fs::path& from)
    : path(from), file(std::make_shared<const MappedFile>(from)), header(parse_gguf(file->text(), from.string())) {}

GgufFile::GgufFile(const fs::path& path) : path_(path) {
  Part own(path);
  const int64_t count = own.header.metadata.count("split.count", 1);
  const std::vector<fs::path> names = count == 1 ? std::vector<fs::path>{path} : gguf_parts(path);
  require(std::ssize(names) == count, "{}: is one of {} parts, and is not called so (NAME-00001-of-{:05}.gguf)",
          path.string(), count, count);
  std::error_code unreadable;
  for (const fs::path& name : names)
    require(fs::exists(name, unreadable), "{}: its part {} is missing", path.string(), name.string());
  for (size_t i = 0; i < names.size(); ++i) {
    parts_.push_back(names[i] == path ? std::move(own) : Part(names[i]));
    const GgufHeader& header = parts_[i].header;
    const int64_t number = header.metadata.integer("split.no").value_or(0);
    require(header.metadata.count("split.count", 1) == count && number == static_cast<int64_t>(i),
            "{}: is part {} of {} by its metadata, not {} of {}", names[i].string(), number + 1,
            header.metadata.count("split.count", 1), i + 1, count);
    for (size_t j = 0; j < header.entries.size(); ++j)
      require(index_.emplace(header.entries[j].name, std::pair(i, j)).second, "{}: tensor {} is in two parts",
              names[i].string(), quoted_name(header.entries[j].name));
  }
  const std::optional<int64_t> all = metadata().integer("split.tensors.count");
  require(!all || *all == std::ssize(index_), "{}: has {} tensors in its {} parts, and names {}", path.string(),
          index_.size(), count, all.value_or(0));
}

std::pair<const GgufFile::Part&, const GgufEntry&> GgufFile::found(const std::string& name) const {
  const auto place = index_.find(name);
  require(place != index_.end(), "{}: has no tensor {}", path_.string(), quoted_name(name));
  const Part& part = parts_[place->second.first];
  return {part, part.header.entries[place->second.second]};
}

std::vector<std::string> GgufFile::names() const {
  std::vector<std::string> names;
  for (const Part& part : parts_)
    for (const GgufEntry& entry : part.header.entries) names.push_back(entry.name);
  return names;
}

void GgufFile::release(const std::string& name) const {
  const auto& [part, e] = found(name);
  part.file->release(e.begin, e.end);
}

StoredTensor GgufFile::read(const std::string& name) const {
  const auto& [part, e] = found(name);
  const uint8_t* bytes = part.file->data() + e.begin;
  // The header's alignment of 8 or more is enough for these dtypes, as the file is mapped at a page.
  if (const std::optional<DType> dtype = dtype_of(e.form)) return Tensor::over(bytes, part.file, e.shape, *dtype);
  const auto count = static_cast<int64_t>(e.end - e.begin);
  const Tensor blocks = Tensor::over(bytes, part.file, {count}, DType::u8);
  return engine::QuantizedMatrix(*e.form, e.shape.numel(0, e.shape.rank() - 1), e.shape[-1], blocks);
}

}  // namespace headroom::models
