#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/json.h"
#include "models/safetensors/safetensors.h"

namespace headroom::models {
namespace {

size_t bytes_of(const engine::Tensor& tensor) {
  return static_cast<size_t>(tensor.numel() * engine::size_of(tensor.dtype()));
}

std::vector<const NamedTensors::value_type*> in_file_order(const NamedTensors& tensors) {
  std::set<std::string> names{"__metadata__"};
  std::vector<const NamedTensors::value_type*> order;
  for (const auto& item : tensors) {
    require(names.insert(item.first).second, "tensor name {} is {}", quoted_name(item.first),
            item.first == "__metadata__" ? "reserved" : "given twice");
    require(item.second.defined(), "tensor {} is undefined", quoted_name(item.first));
    order.push_back(&item);
  }
  std::stable_sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return engine::size_of(a->second.dtype()) > engine::size_of(b->second.dtype());
  });
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
std::string header_text(const std::vector<const NamedTensors::value_type*>& order,
                        const std::map<std::string, std::string>& metadata) {
  std::vector<std::string> members;
  for (const auto& [key, value] : metadata) members.push_back(json_string(key) + ":" + json_string(value));
  if (!metadata.empty()) members = {fmt::format("\"__metadata__\":{{{}}}", fmt::join(members, ","))};
  size_t begin = 0;
  for (const auto* item : order) {
    const engine::Tensor& tensor = item->second;
    const size_t end = begin + bytes_of(tensor);
    members.push_back(fmt::format(R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
                                  json_string(item->first), safetensors_name(tensor.dtype()),
                                  fmt::join(tensor.shape(), ","), begin, end));
    begin = end;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(members, ","));
  text.append((8 - text.size() % 8) % 8, ' ');
  require(text.size() <= max_safetensors_header, "header of {} bytes is above {}", text.size(), max_safetensors_header);
  return text;
}

}  // namespace

void write_safetensors(const std::filesystem::path& path, const NamedTensors& tensors,
                       const std::map<std::string, std::string>& metadata) {
  std::vector<const NamedTensors::value_type*> order;
  std::string header;
  try {
    order = in_file_order(tensors);
    header = header_text(order, metadata);
  } catch (const Error& error) {
    throw Error(path.string() + ": " + error.what());
  }
  AtomicFile file(path);
  const uint64_t header_bytes = header.size();
  file.write(&header_bytes, sizeof header_bytes);
  file.write(header.data(), header.size());
  for (const auto* item : order) {
    const engine::Tensor tensor = item->second.to(engine::cpu).contiguous();
    if (tensor.numel() > 0) file.write(tensor.raw(), bytes_of(tensor));
  }
  file.commit();
}

}  // namespace headroom::models
