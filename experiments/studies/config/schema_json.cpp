#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <nlohmann/json.hpp>

#include "experiments/studies/config/schema.h"
#include "experiments/studies/toml/value.h"

namespace headroom::experiments {
namespace {

using nlohmann::json;

/// The keys of one path (one per condition) and those below it, in their order.
struct Node {
  std::string name;
  std::vector<const Key*> keys;
  std::deque<Node> children;

  Node& child(const std::string& wanted) {
    for (Node& node : children)
      if (node.name == wanted) return node;
    children.push_back({wanted, {}, {}});
    return children.back();
  }
};

json of_node(const Node& node);

json object_of(const Node& node) {
  json properties = json::object(), required = json::array();
  bool is_open = false;
  for (const Node& child : node.children) {
    const bool is_others = child.keys.empty() || child.keys[0]->type == Key::Type::others;
    is_open = is_open || is_others;
    if (is_others) continue;
    properties[child.name] = of_node(child);
    if (child.keys[0]->is_required && child.keys[0]->path.starts_with("study.")) required.push_back(child.name);
  }
  json object{{"type", "object"}, {"properties", properties}, {"additionalProperties", is_open}};
  if (!required.empty()) object["required"] = required;
  return object;
}

json number_of(const Key& key) {
  json number{{"type", key.type == Key::Type::integer ? "integer" : "number"}};
  if (std::isfinite(key.bounds.low)) number[key.bounds.low_open ? "exclusiveMinimum" : "minimum"] = key.bounds.low;
  if (std::isfinite(key.bounds.high)) number[key.bounds.high_open ? "exclusiveMaximum" : "maximum"] = key.bounds.high;
  return {{"anyOf", {number, {{"type", "string"}}}}};
}

json list_of(const json& item) { return {{"type", "array"}, {"items", item}}; }

json value_of(const Key& key, const Node& node) {
  using Type = Key::Type;
  const json text{{"type", "string"}};
  switch (key.type) {
    case Type::integer:
    case Type::real:
      return number_of(key);
    case Type::flag:
      return {{"type", "boolean"}};
    case Type::text:
      return text;
    case Type::word:
      return {{"enum", key.words}};
    case Type::numbers:
      return list_of({{"type", "number"}});
    case Type::texts:
      return {{"anyOf", {text, list_of(text)}}};
    case Type::table:
      return object_of(node);
    case Type::tables:
      return {{"anyOf", {object_of(node), list_of(object_of(node))}}};
    default:
      return json::object();
  }
}

json of_node(const Node& node) {
  json alternatives = json::array();
  std::string doc;
  for (const Key* key : node.keys) {
    json value = value_of(*key, node);
    if (std::find(alternatives.begin(), alternatives.end(), value) == alternatives.end())
      alternatives.push_back(std::move(value));
    doc += fmt::format("{}{}{}{}", doc.empty() ? "" : "\n", key->doc, key->condition.empty() ? "" : "; only ",
                       key->condition);
    if (!key->default_text.empty()) doc += fmt::format(" (default {})", key->default_text);
  }
  json result = alternatives.size() == 1 ? alternatives[0] : json{{"anyOf", alternatives}};
  result["description"] = doc;
  return result;
}

}  // namespace

std::string schema_json(const Schema& schema) {
  Node root;
  for (const Key& key : schema) {
    Node* node = &root;
    for (const std::string& word : split_path(key.path)) node = &node->child(word);
    node->keys.push_back(&key);
  }
  json document = object_of(root);
  document["$schema"] = "http://json-schema.org/draft-07/schema#";
  document["title"] = "A study of headroom";
  return document.dump(2) + "\n";
}

}  // namespace headroom::experiments
