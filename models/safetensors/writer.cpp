#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/json.h"
#include "models/safetensors/safetensors.h"

namespace headroom::models {
namespace {

size_t bytes_of(const SafetensorsPlanned& tensor) {
  return static_cast<size_t>(tensor.shape.numel() * engine::size_of(tensor.dtype));
}

std::vector<const SafetensorsPlanned*> in_file_order(const std::vector<SafetensorsPlanned>& tensors) {
  std::set<std::string> names{"__metadata__"};
  std::vector<const SafetensorsPlanned*> order;
  for (const SafetensorsPlanned& tensor : tensors) {
    require(names.insert(tensor.name).second, "tensor name {} is {}", quoted_name(tensor.name),
            tensor.name == "__metadata__" ? "reserved" : "given twice");
    order.push_back(&tensor);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto* a, const auto* b) { return engine::size_of(a->dtype) > engine::size_of(b->dtype); });
  return order;
}

/// `text` as a JSON string. Throws Error where it is not UTF-8.
std::string json_string(const std::string& text) {
  try {
    return nlohmann::json(text).dump();
  } catch (const nlohmann::json::exception&) {
    fail("{} is not UTF-8", quoted_name(text));
  }
}

/// The header, its tensors in the order of their bytes, padded with spaces to a multiple of 8.
std::string header_text(const std::vector<const SafetensorsPlanned*>& order,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> members;
  for (const auto& [key, value] : metadata) members.push_back(json_string(key) + ":" + json_string(value));
  if (!metadata.empty()) members = {fmt::format("\"__metadata__\":{{{}}}", fmt::join(members, ","))};
  size_t begin = 0;
  for (const SafetensorsPlanned* tensor : order) {
    const size_t end = begin + bytes_of(*tensor);
    members.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  json_string(tensor->name), safetensors_name(tensor->dtype),
                                  fmt::join(tensor->shape, ","), begin, end));
    begin = end;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(members, ","));
  text.append((8 - text.size() % 8) % 8, ' ');
  require(text.size() <= max_safetensors_header, "header of {} bytes is above {}", text.size(), max_safetensors_header);
  return text;
}

}  // namespace

void stream_safetensors(const std::filesystem::path& path, const std::vector<SafetensorsPlanned>& tensors,
                        const std::map<std::string, std::string>& metadata) {
  const auto order = naming(path.string(), [&] { return in_file_order(tensors); });
  const std::string header = naming(path.string(), [&] { return header_text(order, metadata); });
  AtomicFile file(path);
  const uint64_t header_bytes = header.size();
  file.write(&header_bytes, sizeof header_bytes);
  file.write(header.data(), header.size());
  for (const SafetensorsPlanned* planned : order) {
    const engine::Tensor tensor = planned->make().to(engine::cpu).contiguous();
    require(tensor.dtype() == planned->dtype && tensor.shape() == planned->shape, "tensor {}: is {}, {} {} was planned",
            quoted_name(planned->name), tensor.str(), engine::name_of(planned->dtype), planned->shape.str());
    if (tensor.numel() > 0) file.write(tensor.raw(), bytes_of(*planned));
  }
  file.commit();
}

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<SafetensorsPlanned> planned;
  for (const auto& [name, tensor] : tensors) {
    require(tensor.defined(), "{}: tensor {} is undefined", path.string(), quoted_name(name));
    planned.push_back({name, tensor.dtype(), tensor.shape(), [&tensor = tensor] { return tensor; }});
  }
  stream_safetensors(path, planned, metadata);
}

}  // namespace headroom::models
