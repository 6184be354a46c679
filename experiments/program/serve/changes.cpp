#include "experiments/program/serve/changes.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <system_error>

#include "engine/error.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

std::optional<std::string> text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

/// Whether `json` asked for anything that there is to do.
bool change_notes(RunStore& store, const Json& json) {
  if (const auto text = text_at(json, "add")) return store.add_note(*text), true;
  const auto id = json.find("remove");
  if (id == json.end() || !id->is_number_integer()) return false;
  store.remove_note(id->get<int64_t>());
  return true;
}

bool change_tags(RunStore& store, const Json& json) {
  if (const auto tag = text_at(json, "add")) return store.add_tag(*tag), true;
  const auto tag = text_at(json, "remove");
  if (tag) store.remove_tag(*tag);
  return tag.has_value();
}

HttpAnswer refused(int status, const std::string& why) { return {status, "text/plain; charset=utf-8", why + "\n", ""}; }

}  // namespace

HttpAnswer change_run(const StoredRun& run, const std::filesystem::path& out, const std::string& what,
                      const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return refused(400, "the body is no JSON object");
  try {
    if (what == "delete") {
      if (text_at(json, "run") != run.name()) return refused(400, "a deletion names its run");
      remove_run(run);
      if (std::error_code none; std::filesystem::exists(out / "index.html", none)) write_index(out);
    } else {
      RunStore store(run.store());
      const bool is_done = what == "note" ? change_notes(store, json) : change_tags(store, json);
      if (!is_done) return refused(400, "there is nothing to add or to remove");
    }
  } catch (const Error& error) {
    return refused(409, error.what());
  }
  return {200, "application/json", "{}\n", ""};
}

}  // namespace headroom::experiments
