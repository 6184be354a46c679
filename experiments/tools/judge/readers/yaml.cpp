#include "experiments/tools/judge/readers/json_leaves.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/mark.h>
#include <yaml-cpp/parser.h>

#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "models/files/regular_file.h"

namespace headroom::experiments {
namespace {

/// Builds a value from a parser's events, and stops it by an exception where the value grows too large or too deep.
class Builder : public YAML::EventHandler {
 public:
  explicit Builder(ForeignJson& root) : root_(root) {}

  void OnDocumentStart(const YAML::Mark& /*mark*/) override {}
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override { put(mark, ForeignJson()); }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t /*anchor*/) override {
    throw YAML::ParserException(mark, "aliases are not read");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                const std::string& value) override {
    put(mark, value);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                       YAML::EmitterStyle::value /*style*/) override {
    open(mark, ForeignJson::array());
  }
  void OnSequenceEnd() override { open_.pop_back(); }
  void OnMapStart(const YAML::Mark& mark, const std::string& /*tag*/, YAML::anchor_t /*anchor*/,
                  YAML::EmitterStyle::value /*style*/) override {
    open(mark, ForeignJson::object());
  }
  void OnMapEnd() override { open_.pop_back(); }

 private:
  /// A list or map whose end is yet to come; of a map also the key whose value comes next.
  struct Open {
    ForeignJson* node;
    std::optional<std::string> key{};
  };

  ForeignJson* put(const YAML::Mark& mark, ForeignJson value) {
    constexpr int most_nodes = 100'000;
    if (++nodes_ > most_nodes) throw YAML::ParserException(mark, "there are too many values");
    if (open_.empty()) return &(root_ = std::move(value));
    Open& parent = open_.back();
    if (parent.node->is_array()) return &parent.node->emplace_back(std::move(value));
    if (!parent.key) {
      if (value.is_structured()) throw YAML::ParserException(mark, "a key is a list or a map");
      parent.key = value.is_null() ? "null" : value.get<std::string>();
      return nullptr;
    }
    return &((*parent.node)[*std::exchange(parent.key, std::nullopt)] = std::move(value));
  }
  void open(const YAML::Mark& mark, ForeignJson value) {
    constexpr size_t deepest = 64;
    if (open_.size() == deepest) throw YAML::ParserException(mark, "its values are nested too deep");
    open_.push_back({put(mark, std::move(value))});
  }

  ForeignJson& root_;
  std::vector<Open> open_;
  int nodes_ = 0;
};

}  // namespace

ForeignJson read_yaml(const std::filesystem::path& file) {
  constexpr models::FileKind kind{"YAML file", uint64_t{1} << 20, false};
  std::istringstream text(models::read_file(file, kind));
  ForeignJson root;
  Builder builder(root);
  try {
    YAML::Parser(text).HandleNextDocument(builder);
  } catch (const YAML::Exception& error) {
    fail("{}:{}: {}", file.string(), error.mark.is_null() ? 1 : error.mark.line + 1, excerpt(error.msg));
  }
  return root;
}

}  // namespace headroom::experiments
