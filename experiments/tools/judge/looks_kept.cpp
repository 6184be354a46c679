#include "experiments/tools/judge/looks_kept.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <sstream>
#include <utility>

#include "engine/error.h"
#include "engine/excerpt.h"
#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "models/files/regular_file.h"
#include "tasks/data/sha256.h"

namespace headroom::experiments {
namespace {

using Json = nlohmann::ordered_json;

/// A line of the file.
struct KeptLook {
  std::string date, claims, data;  ///< UTC; SHA-256 of the claims file without its remarks, and of what was judged
  int64_t runs = 0, divisor = 1;   ///< 3: its share is 1/3
};

/// Looks that a file may hold, which bounds its size.
constexpr size_t most_looks = 1000;

/// The values of all runs that claims are about, whatever their files are called, whoever logged them, however they are
/// ordered, and whatever [runs] says of them.
std::string digest_of(const ForeignRuns& runs, const RunRoles& roles) {
  std::set<std::string> names = roles.claimed;
  names.insert({roles.metric, roles.choose});
  std::vector<std::string> texts;
  for (const ForeignRun& run : runs.runs) {
    std::string text = run.end == RunEnd::finished ? "" : run.said;
    for (const std::string& name : names)
      if (const auto found = run.metrics.find(name); found != run.metrics.end())
        text += fmt::format("{}: {}\n", name, fmt::join(found->second, " "));
    texts.push_back(std::move(text));
  }
  std::sort(texts.begin(), texts.end());
  return tasks::sha256(fmt::format("{}", fmt::join(texts, "\n")));
}

std::optional<KeptLook> kept_look(const std::string& line) {
  const Json json = Json::parse(line, nullptr, false);
  const auto has = [&](const char* key, bool (Json::*is)() const noexcept) {
    return json.contains(key) && (json[key].*is)();
  };
  if (!json.is_object()) return std::nullopt;
  for (const char* key : {"date", "claims", "data"})
    if (!has(key, &Json::is_string)) return std::nullopt;
  for (const char* key : {"runs", "divisor"})
    if (!has(key, &Json::is_number_integer)) return std::nullopt;
  KeptLook look{json["date"], json["claims"], json["data"], json["runs"], json["divisor"]};
  const bool is_possible = look.divisor >= 1 && look.divisor <= INT32_MAX;
  return is_possible ? std::optional(std::move(look)) : std::nullopt;
}

std::vector<KeptLook> read_looks(const std::filesystem::path& file) {
  std::error_code none;
  if (!std::filesystem::exists(file, none)) return {};
  std::istringstream text(models::read_file(file, {"file of looks", uint64_t{1} << 20}));
  std::vector<KeptLook> looks;
  for (std::string line; std::getline(text, line);) {
    const auto look = kept_look(line);
    require(look.has_value(),
            "{}:{}: not a look as headroom judge writes it; mend the line, or delete the file to count anew",
            file.string(), looks.size() + 1);
    looks.push_back(*look);
  }
  return looks;
}

void write_looks(const std::filesystem::path& file, const std::vector<KeptLook>& looks) {
  std::string text;
  for (const KeptLook& look : looks)
    text.append(Json{{"date", look.date},
                     {"claims", look.claims},
                     {"data", look.data},
                     {"runs", look.runs},
                     {"divisor", look.divisor}}
                    .dump(-1, ' ', false, Json::error_handler_t::replace))
        .append("\n");
  write_file(file, text);
}

/// "1 + 1/2 + 1/3", "3/3 + 1/4": the shares of looks, at most six terms of them.
std::string sum_text(const std::vector<KeptLook>& looks) {
  std::vector<std::pair<int64_t, int64_t>> groups;  // divisor, and how many looks in a row have it
  for (const KeptLook& look : looks) {
    if (groups.empty() || groups.back().first != look.divisor) groups.emplace_back(look.divisor, 0);
    ++groups.back().second;
  }
  std::vector<std::string> terms;
  for (const auto& [divisor, count] : groups)
    terms.push_back(divisor == 1 ? fmt::format("{}", count) : fmt::format("{}/{}", count, divisor));
  if (terms.size() > 6) {
    terms.erase(terms.begin() + 4, terms.end() - 1);
    terms.insert(terms.end() - 1, "…");
  }
  return fmt::format("{}", fmt::join(terms, " + "));
}

std::string percent(double share) { return fmt::format("{} %", exact(std::round(1000 * std::min(share, 1.0)) / 10)); }

/// What claims on sampled values are compared with at the last of these looks; "" where that is their significance, and
/// was at every look.
std::string share_note(const std::vector<KeptLook>& looks, const RunRoles& roles, const StudyResults& results) {
  std::set<double> levels;
  for (const ClaimConfig& claim : results.claims)
    if (!claim.deterministic) levels.insert(claim.significance);
  const size_t k = looks.size();
  const int64_t divisor = looks.back().divisor;
  if (levels.empty() || (k == 1 && divisor == 1)) return "";
  if (roles.anytime)
    return fmt::format("This is look {} at these claims. Their p-values hold at any number of looks.", k);
  const std::string level = levels.size() == 1 ? exact(*levels.begin()) : "each claim's significance";
  double sum = 0;
  for (const KeptLook& look : looks) sum += 1 / static_cast<double>(look.divisor);
  const bool is_planned = std::cmp_less_equal(k, roles.looks);
  if (is_planned && sum < 1 + 1e-9)
    return fmt::format("This is look {} of {} planned, so p is compared with {}/{}.", k, roles.looks, level, divisor);
  const std::string bound = levels.size() == 1
                                ? fmt::format("{} ({} × ({}))", percent(*levels.begin() * sum), level, sum_text(looks))
                                : fmt::format("its significance × ({})", sum_text(looks));
  return fmt::format(
      "This is look {} at these claims, so p is compared with {}/{}. {} planned, so a claim may be wrong with "
      "probability up to {}; --anytime keeps {}, `looks = N` in [runs] plans them.",
      k, level, divisor,
      roles.looks == 1 || is_planned ? "Earlier looks were not" : fmt::format("Only {} looks were", roles.looks), bound,
      levels.size() == 1 ? percent(*levels.begin()) : "its significance");
}

}  // namespace

std::filesystem::path looks_beside(const std::filesystem::path& claims) {
  return claims.parent_path() / (claims.stem().string() + ".looks");
}

CountedLook count_look(const std::filesystem::path& file, const ForeignRuns& runs, const RunRoles& roles,
                       bool is_recorded, StudyResults& results) {
  std::vector<KeptLook> looks = read_looks(file);
  const std::string claims = tasks::sha256(results.resolved_config), data = digest_of(runs, roles);
  const auto seen = std::find_if(looks.begin(), looks.end(), [&](const KeptLook& look) { return look.data == data; });
  const bool is_new = seen == looks.end();
  if (is_new) {
    const int64_t k = std::ssize(looks) + 1;
    looks.push_back({fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))), claims, data,
                     std::ssize(results.trials), std::max(k, roles.looks)});
  } else {
    looks.erase(seen + 1, looks.end());  // those after it saw other data
  }
  CountedLook out{std::ssize(looks), {}};
  results.looks.anytime = roles.anytime;
  results.looks.shares = {roles.anytime ? 1 : 1 / static_cast<double>(looks.back().divisor)};
  if (std::string note = share_note(looks, roles, results); !note.empty()) out.notes.push_back(std::move(note));
  const auto other =
      std::find_if(looks.rbegin(), looks.rend(), [&](const KeptLook& look) { return look.claims != claims; });
  if (other != looks.rend())
    out.notes.push_back(fmt::format("The claims file changed since look {} ({}); the count of looks goes on.",
                                    looks.rend() - other, excerpt(other->date)));
  if (!is_new) return out;
  std::string fault = is_recorded ? "" : "--no-record";
  if (is_recorded && looks.size() > most_looks)
    fault = fmt::format("{} holds {} looks, as many as it may", file.string(), most_looks);
  try {
    if (fault.empty()) write_looks(file, looks);
  } catch (const Error& error) {
    fault = error.what();
  }
  if (!fault.empty()) out.notes.push_back("This look is not counted: " + fault);
  return out;
}

}  // namespace headroom::experiments
