#include "tasks/layer_set.h"

#include <limits>
#include <string_view>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "engine/read_number.h"
#include "tasks/permutation.h"

namespace headroom::tasks {
namespace {

constexpr const char* forms = "\"all\", \"odd\", \"deepest:4\", \"random:4\", or numbers and ranges as \"0-5,7\"";

int64_t layer_number(std::string_view digits, const std::string& text) {
  const auto value = read_number<int64_t>(digits, 0);
  require(value.has_value(), "layers: '{}' in '{}' is no number; expected {}", excerpt(digits), excerpt(text), forms);
  return *value;
}

std::set<int64_t> listed(const std::string& text, int64_t layers) {
  std::set<int64_t> out;
  std::string_view rest = text;
  while (true) {
    const std::string_view item = rest.substr(0, rest.find(','));
    const size_t dash = item.find('-');
    const int64_t first = layer_number(item.substr(0, dash), text);
    const int64_t last = dash == std::string_view::npos ? first : layer_number(item.substr(dash + 1), text);
    require(first <= last, "layers: {} in '{}' is reversed", item, text);
    require(last < layers, "layers: there is no layer {}, the model has {} (0 to {})", last, layers, layers - 1);
    for (int64_t layer = first; layer <= last; ++layer) out.insert(layer);
    if (item.size() == rest.size()) return out;
    rest.remove_prefix(item.size() + 1);
  }
}

}  // namespace

std::set<int64_t> layers_named(const std::string& text, int64_t layers, uint64_t seed) {
  std::set<int64_t> out;
  const bool is_deepest = text.starts_with("deepest:"), is_random = text.starts_with("random:");
  if (text == "all" || text == "odd") {
    for (int64_t layer = text == "odd" ? 1 : 0; layer < layers; layer += text == "odd" ? 2 : 1) out.insert(layer);
    return out;
  }
  if (!is_deepest && !is_random) return listed(text, layers);
  const int64_t count = layer_number(std::string_view(text).substr(text.find(':') + 1), text);
  require(count >= 1 && count <= layers, "layers: '{}' of a model with {} layers", text, layers);
  if (is_deepest) {
    for (int64_t layer = layers - count; layer < layers; ++layer) out.insert(layer);
    return out;
  }
  const std::vector<int64_t> order = permutation(layers, {.seed = seed, .stream = "layers"});
  out.insert(order.begin(), order.begin() + count);
  return out;
}

void validate_layer_set(const std::string& text) {
  require(!text.empty(), "layers: expected {}", forms);
  const bool is_counted = text.starts_with("deepest:") || text.starts_with("random:");
  if (is_counted)
    require(layer_number(std::string_view(text).substr(text.find(':') + 1), text) >= 1, "layers: '{}'", text);
  else if (text != "all" && text != "odd") listed(text, int64_t{1} << 16);
}

}  // namespace headroom::tasks
