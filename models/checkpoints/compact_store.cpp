#include "models/checkpoints/compact_store.h"

#include "engine/error.h"
#include "engine/read_number.h"
#include "models/files/json.h"

namespace headroom::models {
namespace {

using engine::DType;

constexpr int64_t most_block_rows = int64_t{1} << 40;  ///< rows and columns: products of both still fit

/// Takes a word and the space after it from the front of `text`.
std::string_view next_word(std::string_view& text) {
  const size_t end = std::min(text.find(' '), text.size());
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return word;
}

int64_t next_size(std::string_view& text) {
  const std::string_view word = next_word(text);
  const auto value = read_number<int64_t>(word, 1, most_block_rows);
  require(value.has_value(), "{} is no number of rows or columns", quoted_name(std::string(word)));
  return *value;
}

}  // namespace

std::string block_entry(const engine::QuantizedMatrix& matrix) {
  return fmt::format("{} {} {}", engine::traits_of(matrix.format()).name, matrix.rows(), matrix.cols());
}

CompactStore::CompactStore(const std::filesystem::path& path) : file_(path) {
  for (const auto& [name, text] : file_.metadata()) {
    if (name == "format") continue;  // "pt", as other software writes
    const std::string place = fmt::format("{}: __metadata__: {}", path.string(), quoted_name(name));
    blocks_[name] = naming(place, [&, &name = name, &text = text]() -> Blocks {
      require(file_.contains(name), "there is no such tensor");
      const SafetensorsEntry& entry = file_.entry(name);
      require(entry.dtype == DType::u8, "the tensor is {}, blocks are U8", safetensors_name(entry.dtype));
      std::string_view rest = text;
      const engine::BlockFormat format = engine::block_format_named(next_word(rest));
      const int64_t rows = next_size(rest), cols = next_size(rest);
      require(rest.empty(), "{} stands behind the columns", quoted_name(std::string(rest)));
      const engine::BlockTraits& traits = engine::traits_of(format);
      require(cols % traits.elements == 0, "{} columns are no whole blocks of {}", cols, traits.elements);
      // In doubles, as the product of wrong sizes may be beyond any integer.
      const double bytes = static_cast<double>(rows) * static_cast<double>(cols / traits.elements * traits.bytes);
      require(bytes == static_cast<double>(entry.end - entry.begin), "{} bytes, {} {} x {} are {:.0f}",
              entry.end - entry.begin, traits.name, rows, cols, bytes);
      return {format, rows, cols};
    });
  }
}

engine::Shape CompactStore::shape(const std::string& name) const {
  const auto found = blocks_.find(name);
  return found == blocks_.end() ? file_.entry(name).shape : engine::Shape{found->second.rows, found->second.cols};
}

std::string CompactStore::type(const std::string& name) const {
  const auto found = blocks_.find(name);
  return found == blocks_.end() ? safetensors_name(file_.entry(name).dtype)
                                : engine::traits_of(found->second.format).name;
}

StoredTensor CompactStore::read(const std::string& name) const {
  engine::Tensor stored = file_.mapped(name);
  const auto found = blocks_.find(name);
  if (found == blocks_.end()) return stored;
  // The scales in blocks are 16-bit numbers.
  if (reinterpret_cast<uintptr_t>(stored.raw()) % 2 != 0) stored = stored.clone();
  return engine::QuantizedMatrix(found->second.format, found->second.rows, found->second.cols,
                                 stored.reshape({stored.numel()}));
}

}  // namespace headroom::models
