#include <algorithm>
#include <set>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/json.h"
#include "models/files/utf8.h"
#include "models/gguf/gguf.h"

namespace headroom::models {
namespace {

using engine::DType;
using engine::Tensor;

constexpr uint64_t alignment = 32;
constexpr size_t most_name_bytes = 64;  ///< ggml's limit

template <class T>
void put(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void put_text(std::string& out, const std::string& text) {
  put<uint64_t>(out, text.size());
  out += text;
}

void put_integer(std::string& out, GgufValueType type, int64_t value) {
  require(type != GgufValueType::boolean || value == 0 || value == 1, "{} is no bool", value);
  with_whole_type(type, [&]<class T>(T) {
    require(std::in_range<T>(value), "{} does not fit a {}", value, name_of(type));
    put<T>(out, static_cast<T>(value));
  });
}

void put_value(std::string& out, const GgufValue& value) {
  const size_t count = std::visit([](const auto& items) { return items.size(); }, value.items);
  require(value.is_array || count == 1, "is no array and holds {} values", count);
  if (value.is_array) put<uint32_t>(out, static_cast<uint32_t>(GgufValueType::array));
  put<uint32_t>(out, static_cast<uint32_t>(value.type));
  if (value.is_array) put<uint64_t>(out, count);
  if (const auto* texts = std::get_if<std::vector<std::string>>(&value.items)) {
    require(value.type == GgufValueType::string, "a string has type {}", name_of(value.type));
    for (const std::string& text : *texts) put_text(out, text);
  } else if (const auto* numbers = std::get_if<std::vector<double>>(&value.items)) {
    require(value.type == GgufValueType::f32 || value.type == GgufValueType::f64, "a fraction has type {}",
            name_of(value.type));
    for (const double number : *numbers)
      value.type == GgufValueType::f64 ? put<double>(out, number) : put<float>(out, static_cast<float>(number));
  } else {
    for (const int64_t number : std::get<std::vector<int64_t>>(value.items)) put_integer(out, value.type, number);
  }
}

/// The form and shape that stored numbers are written in. Throws Error for what a GGUF file does not hold.
GgufForm form_of(const StoredTensor& stored) {
  if (const auto* matrix = std::get_if<engine::QuantizedMatrix>(&stored)) return matrix->format();
  const Tensor& tensor = std::get<Tensor>(stored);
  const GgufForm form = gguf_form(tensor.dtype());
  require(tensor.defined() && (form || tensor.dtype() == DType::f32), "is {}; f32, f16 and bf16 are written",
          tensor.str());
  return form;
}

/// Bytes of a tensor to write. Throws Error where the format has no place for it.
uint64_t planned_bytes(const GgufPlanned& tensor) {
  require(!tensor.name.empty() && tensor.name.size() < most_name_bytes && valid_utf8(tensor.name) == tensor.name.size(),
          "tensor {}: names are UTF-8 of 1 to {} bytes", quoted_name(tensor.name), most_name_bytes - 1);
  require(tensor.shape.rank() <= 4, "tensor {}: is {}, up to 4 axes are written", quoted_name(tensor.name),
          tensor.shape.str());
  require(tensor.shape.numel() > 0, "tensor {}: {} holds no numbers", quoted_name(tensor.name), tensor.shape.str());
  return gguf_bytes(tensor.form, tensor.shape);
}

uint64_t padded(uint64_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

std::string header_of(const std::vector<GgufPlanned>& tensors, const GgufPairs& metadata) {
  std::string out = "GGUF";
  put<uint32_t>(out, 3);
  put<uint64_t>(out, tensors.size());
  put<uint64_t>(out, metadata.size());
  std::set<std::string> names;
  for (const auto& [key, value] : metadata) {
    require(names.insert(key).second, "key {} is given twice", quoted_name(key));
    require(key != "general.alignment", "key {} is the writer's own", quoted_name(key));
    put_text(out, key);
    naming("key " + quoted_name(key), [&] { put_value(out, value); });
  }
  names.clear();
  uint64_t offset = 0;
  for (const GgufPlanned& tensor : tensors) {
    require(names.insert(tensor.name).second, "tensor {} is given twice", quoted_name(tensor.name));
    put_text(out, tensor.name);
    put<uint32_t>(out, static_cast<uint32_t>(tensor.shape.rank()));
    for (int axis = tensor.shape.rank(); axis-- > 0;) put<uint64_t>(out, static_cast<uint64_t>(tensor.shape[axis]));
    put<uint32_t>(out, gguf_number(tensor.form));
    put<uint64_t>(out, offset);
    offset += padded(planned_bytes(tensor));
  }
  out.resize(padded(out.size()), '\0');
  return out;
}

/// Makes the tensor and writes its bytes, which are as many as planned.
void write_tensor(AtomicFile& file, const GgufPlanned& planned) {
  const StoredTensor stored = planned.make();
  require(form_of(stored) == planned.form && shape_of(stored) == planned.shape, "tensor {}: {} {} was planned",
          quoted_name(planned.name), gguf_name(planned.form), planned.shape.str());
  const auto* matrix = std::get_if<engine::QuantizedMatrix>(&stored);
  const Tensor bytes_of = matrix ? matrix->blocks() : std::get<Tensor>(stored).to(engine::cpu).contiguous();
  const uint64_t bytes = planned_bytes(planned);
  file.write(bytes_of.raw(), bytes);
  const std::string zeros(padded(bytes) - bytes, '\0');
  file.write(zeros.data(), zeros.size());
}

}  // namespace

void stream_gguf(const std::filesystem::path& path, const GgufPairs& metadata,
                 const std::vector<GgufPlanned>& tensors) {
  const std::string header = naming(path.string(), [&] { return header_of(tensors, metadata); });
  AtomicFile file(path);
  file.write(header.data(), header.size());
  for (const GgufPlanned& tensor : tensors) write_tensor(file, tensor);
  file.commit();
}

void write_gguf(const std::filesystem::path& path, const GgufPairs& metadata, const StoredTensors& tensors) {
  std::vector<GgufPlanned> planned;
  for (const auto& [name, stored] : tensors) {
    const GgufForm form = naming(fmt::format("{}: tensor {}", path.string(), quoted_name(name)),
                                 [&stored = stored] { return form_of(stored); });
    planned.push_back({name, form, shape_of(stored), [&stored = stored] { return stored; }});
  }
  stream_gguf(path, metadata, planned);
}

}  // namespace headroom::models
