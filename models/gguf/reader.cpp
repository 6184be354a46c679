#include "engine/error.h"
#include "models/files/json.h"
#include "models/gguf/gguf.h"

namespace headroom::models {

using engine::DType;
using engine::Tensor;

GgufFile::GgufFile(const std::filesystem::path& path)
    : path_(path), file_(std::make_shared<const MappedFile>(path)), header_(parse_gguf(file_->text(), path.string())) {
  for (size_t i = 0; i < header_.entries.size(); ++i) index_[header_.entries[i].name] = i;
}

const GgufEntry& GgufFile::entry(const std::string& name) const {
  const auto found = index_.find(name);
  require(found != index_.end(), "{}: has no tensor {}", path_.string(), quoted_name(name));
  return header_.entries[found->second];
}

std::vector<std::string> GgufFile::names() const {
  std::vector<std::string> names;
  for (const GgufEntry& entry : header_.entries) names.push_back(entry.name);
  return names;
}

void GgufFile::release(const std::string& name) const {
  const GgufEntry& e = entry(name);
  file_->release(e.begin, e.end);
}

StoredTensor GgufFile::read(const std::string& name) const {
  const GgufEntry& e = entry(name);
  const uint8_t* bytes = file_->data() + e.begin;
  // The header's alignment of 8 or more is enough for these dtypes, as the file is mapped at a page.
  if (const std::optional<DType> dtype = dtype_of(e.form)) return Tensor::over(bytes, file_, e.shape, *dtype);
  const auto count = static_cast<int64_t>(e.end - e.begin);
  const Tensor blocks = Tensor::over(bytes, file_, {count}, DType::u8);
  return engine::QuantizedMatrix(*e.form, e.shape.numel(0, e.shape.rank() - 1), e.shape[-1], blocks);
}

}  // namespace headroom::models
