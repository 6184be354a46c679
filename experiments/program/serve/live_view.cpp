#include "experiments/program/serve/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <system_error>
#include <utility>

#include "engine/error.h"
#include "experiments/output/plot/colour.h"
#include "experiments/program/serve/assets.h"
#include "experiments/program/serve/run_files.h"
#include "experiments/program/serve/streams.h"
#include "experiments/studies/compare/comparison.h"
#include "experiments/studies/pages/index_page.h"
#include "experiments/studies/run/store.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// Policy for files next to the stores: they may run their own scripts, but in a sandbox that cannot ask this server
/// for anything.
constexpr const char* file_policy =
    "sandbox allow-scripts allow-downloads allow-popups; default-src 'none'; style-src 'unsafe-inline'; "
    "script-src 'unsafe-inline'; img-src 'self' data: blob:; form-action 'none'; base-uri 'none'";

HttpAnswer not_found(const std::string& what) { return plain_answer(404, what); }

HttpAnswer json_answer(const Json& json) { return {200, "application/json", json_text(json), ""}; }

/// "a//b/" → a, b. Parts "." and ".." stay, and match nothing.
std::vector<std::string> parts_of(const std::string& path, char separator) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find(separator, at), path.size());
    if (end > at) parts.push_back(path.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

std::string value_of(const HttpRequest& request, const char* key) {
  const auto found = request.query.find(key);
  return found == request.query.end() ? "" : found->second;
}

/// Unlike find_run(), takes no paths.
std::optional<StoredRun> run_named(const std::filesystem::path& out, const std::string& name) {
  for (StoredRun& run : stored_runs(out))
    if (run.name() == name) return std::move(run);
  return std::nullopt;
}

const LiveAsset* asset(const std::string& name) {
  const auto& all = live_assets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const LiveAsset& a) { return a.name == name; });
  return found == all.end() ? nullptr : &*found;
}

std::string type_of(const LiveAsset& asset) {
  const std::string extension = std::filesystem::path(asset.name).extension();
  return fmt::format("text/{}; charset=utf-8", extension == ".js" ? "javascript" : extension.substr(1));
}

/// The colours of figures, as in reports.
std::string figure_colours() {
  return fmt::format(".drawn {{ {}}}\n@media (prefers-color-scheme: dark) {{ .drawn {{ {}}} }}\n",
                     colour_variables(false), colour_variables(true));
}

/// Compares the runs a, b, c, … that a request names.
HttpAnswer comparison(const HttpRequest& request, const std::filesystem::path& out) {
  std::vector<StoredRun> runs;
  for (const char* name : {"a", "b", "c", "d", "e", "f", "g", "h"}) {
    const std::string wanted = value_of(request, name);
    if (wanted.empty()) break;
    const auto run = run_named(out, wanted);
    if (!run) return not_found("there is no such run");
    runs.push_back(*run);
  }
  if (runs.size() < 2) return not_found("there is no such run");
  const std::vector<Comparison> found = compare_runs(runs);
  Json json = comparison_json(found);
  if (found[0].figure) json["figure"] = figure_json(found[0].figure->plot, found[0].figure->caption);
  return json_answer(json);
}

std::optional<std::string> text_at(const Json& json, const char* key) {
  const auto found = json.find(key);
  if (found == json.end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

/// True if `json` asked for any change.
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

/// Carries out a page's request on a run, in JSON: `note` {"add": text} or {"remove": id}, `tag` {"add": tag} or
/// {"remove": tag}, `delete` {"run": "STUDY/PROFILE"}, which must be that run's name. Status 400 for a malformed
/// request, 409 if it cannot be done.
HttpAnswer change_run(const StoredRun& run, const std::filesystem::path& out, const std::string& what,
                      const std::string& body) {
  const Json json = Json::parse(body, nullptr, false);
  if (!json.is_object()) return plain_answer(400, "the body is no JSON object");
  try {
    if (what == "delete") {
      if (text_at(json, "run") != run.name()) return plain_answer(400, "a deletion names its run");
      remove_run(run);
      if (std::error_code none; std::filesystem::exists(out / "index.html", none)) write_index(out);
    } else {
      RunStore store(run.store());
      const bool is_done = what == "note" ? change_notes(store, json) : change_tags(store, json);
      if (!is_done) return plain_answer(400, "there is nothing to add or to remove");
    }
  } catch (const Error& error) {
    return plain_answer(409, error.what());
  }
  return {200, "application/json", "{}\n", ""};
}

}  // namespace

HttpAnswer LiveView::answer(const HttpRequest& request) const {
  const std::vector<std::string> parts = parts_of(request.path, '/');
  try {
    if (!parts.empty() && parts[0] == "api") return api(request, parts);
    if (request.method == "POST") return not_found("there is nothing to change here");
    if (!parts.empty() && parts[0] == "files") return file(parts);
    if (request.path == "/assets/figure.css") return {200, "text/css; charset=utf-8", figure_colours(), ""};
    if (parts.size() == 2 && parts[0] == "assets") {
      const LiveAsset* found = parts[1] == "page.html" ? nullptr : asset(parts[1]);
      return found ? HttpAnswer{200, type_of(*found), found->text, ""} : not_found("there is no such file");
    }
    if (parts.size() == 3 && parts[0] == "run")
      return page(run_named(readers_->out(), parts[1] + "/" + parts[2]) ? 200 : 404);
    const bool is_view = parts.empty() || (parts.size() == 1 && parts[0] == "compare");
    return is_view ? page(200) : not_found("there is no such page");
  } catch (const Error& error) {
    return plain_answer(409, error.what());
  }
}

HttpAnswer LiveView::page(int status) const {
  const LiveAsset* shell = asset("page.html");
  return {status, type_of(*shell),
          fmt::format(fmt::runtime(shell->text), fmt::arg("changes", guard_.allows_changes ? "yes" : "no")), ""};
}

HttpAnswer LiveView::api(const HttpRequest& request, const std::vector<std::string>& parts) const {
  if (parts.size() >= 4 && parts[1] == "run") return run_api(request, parts);
  if (request.method == "POST" || parts.size() != 2) return not_found("there is no such request");
  if (parts[1] == "runs") return {200, "application/json", index_state(*readers_), ""};
  if (parts[1] == "compare") return comparison(request, readers_->out());
  if (parts[1] != "events") return not_found("there is no such request");
  const std::string run = value_of(request, "run");
  if (run.empty()) return index_stream(readers_);
  const auto found = run_named(readers_->out(), run);
  return found ? run_stream(readers_, found->study, found->profile) : not_found("there is no such run");
}

HttpAnswer LiveView::run_api(const HttpRequest& request, const std::vector<std::string>& parts) const {
  const auto snapshot = readers_->find(parts[2], parts[3]);
  if (!snapshot) return not_found("there is no such run");
  const std::string what = parts.size() == 5 ? parts[4] : "";
  if (request.method == "POST") {
    static const std::set<std::string> known{"note", "tag", "delete"};
    if (!known.count(what)) return not_found("there is no such change");
    return change_run(snapshot->run, readers_->out(), what, request.body);
  }
  if (what == "figure") return json_answer(emerging_->of(*snapshot));
  if (what == "curves") {
    const std::string track = value_of(request, "track");
    return json_answer(curves_->of(*snapshot, parts_of(value_of(request, "trials"), ','),
                                   track.empty() ? "train loss" : track,
                                   value_of(request, "scale") == "linear" ? Scale::linear : Scale::log10));
  }
  if (parts.size() != 4) return not_found("there is no such request");
  Json json = run_json(*snapshot);
  json["metric"] = snapshot->metric;
  json["trials"] = Json::array();
  for (const TrialState& trial : snapshot->state.trials) json["trials"].push_back(trial_json(*snapshot, trial));
  return json_answer(json);
}

HttpAnswer LiveView::file(const std::vector<std::string>& parts) const {
  ServedFile found;
  if (parts.size() == 2) found = served_file(readers_->out(), readers_->out(), parts[1]);
  if (parts.size() == 4)
    for (const StoredRun& run : stored_runs(readers_->out()))
      if (run.study == parts[1] && run.profile == parts[2]) found = served_file(readers_->out(), run.folder, parts[3]);
  if (!found.file) return not_found("there is no such file");
  return {200, found.type, "", file_policy, nullptr, std::move(found.file)};
}

}  // namespace headroom::experiments
