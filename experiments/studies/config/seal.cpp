#include "experiments/studies/config/seal.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/studies/toml/document.h"
#include "models/files/regular_file.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// Where a key stands: "claim “muon-wins”", or "" for the document, and its path there.
using KeyPlace = std::pair<std::string, std::string>;

/// Collects every value of a document as text. Tables in lists go by their id or name, without one by their number.
void collect(const Value& table, const std::string& part, const std::string& path,
             std::map<KeyPlace, std::string>& values) {
  for (const Entry& entry : table.table) {
    const std::string own = path.empty() ? entry.key : fmt::format("{}.{}", path, entry.key);
    const Value& value = entry.value;
    const bool is_list_of_tables =
        value.kind == Value::Kind::list && !value.list.empty() && value.list.front().kind == Value::Kind::table;
    if (value.kind == Value::Kind::table) {
      collect(value, part, own, values);
    } else if (is_list_of_tables && !value.list.front().is_inline) {
      for (size_t i = 0; i < value.list.size(); ++i) {
        const Entry* name = value.list[i].find("id");
        if (!name) name = value.list[i].find("name");
        const bool is_named = name && name->value.kind == Value::Kind::text;
        collect(value.list[i],
                is_named ? fmt::format("{} “{}”", own, excerpt(name->value.text)) : fmt::format("{} {}", own, i + 1),
                "", values);
      }
    } else {
      values[{part, own}] = in_line(value);
    }
  }
}

/// What decides verdicts in a document, as collect() has it.
std::map<KeyPlace, std::string> deciding_values(const std::string& toml, const std::string& source) {
  Value root = parse_toml(toml, source, false);
  std::erase_if(root.table, [](const Entry& entry) { return entry.key == "study" || entry.key == "profile"; });
  std::map<KeyPlace, std::string> values;
  collect(root, "", "", values);
  return values;
}

/// Of a seal all but its own digest.
std::string digest(const ClaimSeal& seal) {
  return tasks::sha256(fmt::format("{}\n{}\n{}", seal.at, seal.program, seal.config));
}

std::optional<ClaimSeal> read_claim_seal(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return std::nullopt;
  const std::string text = models::read_file(file, {"seal", uint64_t{1} << 24, false});
  const Json json = Json::parse(text, nullptr, false);
  const auto has_text = [&](const char* key) { return json.contains(key) && json[key].is_string(); };
  require(json.is_object() && json.contains("sealed") && json["sealed"].is_number_integer() && has_text("program") &&
              has_text("config") && has_text("sha256"),
          "{}: not a seal written by headroom register", file.string());
  const ClaimSeal seal{json["sealed"].get<int64_t>(), json["program"].get<std::string>(),
                       json["config"].get<std::string>()};
  require(json["sha256"] == digest(seal), "{}: changed after it was written: its checksum does not match",
          file.string());
  return seal;
}

/// "12 trials (seeds 1 to 3)": those that had begun when the claims were sealed; "" for none.
std::string begun_before(const StudyResults& results, int64_t sealed) {
  std::set<int64_t> seeds;
  int64_t trials = 0;
  constexpr double resolution = 1;  // seconds of `ended` and of the seal
  for (const TrialRecord* trial : each_once(results.trials)) {
    const double latest_begin = trial->ended + resolution - trial->seconds;
    if (!(trial->ended > 0) || latest_begin > static_cast<double>(sealed)) continue;
    ++trials;
    seeds.insert(trial->seed);
  }
  if (trials == 0) return "";
  const std::string range = seeds.size() == 1 ? fmt::format("seed {}", *seeds.begin())
                                              : fmt::format("seeds {} to {}", *seeds.begin(), *seeds.rbegin());
  return fmt::format("{} ({})", counted(trials, "trial"), range);
}

}  // namespace

std::filesystem::path seal_beside(const std::filesystem::path& claims) {
  return claims.parent_path() / (claims.stem().string() + ".sealed.json");
}

std::filesystem::path seal_in(const std::filesystem::path& folder) { return folder / "sealed.json"; }

std::string write_claim_seal(const std::filesystem::path& file, const ClaimSeal& seal) {
  const Json json{{"sealed", seal.at}, {"program", seal.program}, {"sha256", digest(seal)}, {"config", seal.config}};
  const std::string text = json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
  write_file(file, text);
  return tasks::sha256(text);
}

std::vector<std::string> changed_keys(const std::string& before, const std::string& after) {
  const auto was = deciding_values(before, "the seal"), is = deciding_values(after, "the file");
  std::vector<std::string> changes;
  const auto say = [&](const KeyPlace& place, const std::string& what) {
    changes.push_back(place.first.empty() ? place.second + what
                                          : fmt::format("{}: {}{}", place.first, place.second, what));
  };
  for (const auto& [place, value] : is) {
    const auto found = was.find(place);
    if (found == was.end()) say(place, fmt::format(" = {} (new)", excerpt(value)));
    else if (found->second != value) say(place, fmt::format(" = {} (was {})", excerpt(value), excerpt(found->second)));
  }
  for (const auto& [place, value] : was)
    if (!is.contains(place)) say(place, fmt::format(" is gone (was {})", excerpt(value)));
  return changes;
}

void apply_seal(const std::filesystem::path& file, const std::string& config, StudyResults& results) {
  const std::optional<ClaimSeal> seal = read_claim_seal(file);
  if (!seal) return;
  results.seal = SealedClaims{seal->at, begun_before(results, seal->at), changed_keys(seal->config, config)};
  results.seal->has_dates =
      std::all_of(results.trials.begin(), results.trials.end(), [](const TrialRecord& t) { return t.ended > 0; });
  std::set<std::string> programs;
  for (const TrialRecord& trial : results.trials)
    if (!trial.code.empty() && trial.code != seal->program) programs.insert(trial.code);
  for (const std::string& program : programs)
    results.seal->changes.push_back(fmt::format("program: {} (was {})", program, seal->program));
  if (results.seal->begun_before.empty()) return;
  for (ClaimConfig& claim : results.claims)
    if (claim.worded_after.empty()) claim.worded_after = results.seal->begun_before;
}

}  // namespace headroom::experiments
