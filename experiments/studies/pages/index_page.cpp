#include "experiments/studies/pages/index_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <tuple>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/text.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/pages/page_sections.h"
#include "models/files/regular_file.h"
#include "models/files/visible_folders.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

/// A path from the page to a file, as a URL: everything but letters, digits and -._~ as %XX.
std::string url(const std::string& part) {
  std::string out;
  for (unsigned char c : part) {
    const bool plain = (c < 0x80 && std::isalnum(c)) ||
                       (c != 0 && std::string_view("-._~").find(static_cast<char>(c)) != std::string_view::npos);
    out += plain ? std::string(1, static_cast<char>(c)) : fmt::format("%{:02X}", c);
  }
  return out;
}

/// Columns of words keep the room that a sentence needs.
const char* const kIndexRules = R"css(
body { max-width: 78rem; }
.index th, .index td { text-align: left; white-space: normal; }
.index tbody th { font-weight: 600; }
.index .id { display: block; font-weight: 400; }
@media screen and (min-width: 34.01rem) {
  .index .finding { min-width: 20rem; }
  .index .study { min-width: 13rem; }
}
.index thead button { white-space: normal; }
)css";

std::string word_cell(const std::string& text) { return fmt::format("<td class=\"word\">{}</td>", escape(text)); }

std::string summary_row(const StudySummary& s) {
  return fmt::format(
             "<tr><th scope=\"row\" class=\"word study\"><a href=\"{}/{}/report.html\">{}</a> <span class=\"muted "
             "id\">{}</span></th>",
             url(s.id), url(s.profile), escape(s.title), escape(s.id)) +
         word_cell(s.profile) + fmt::format("<td class=\"word finding\">{}</td>", escape(s.finding)) +
         word_cell(s.paper_tally) + word_cell(s.theorem_tally) + word_cell(s.ours_tally) +
         fmt::format("<td class=\"word\" data-v=\"{}\">{}</td></tr>\n", s.seconds, escape(s.progress));
}

}  // namespace

std::string summary_json(const StudyResults& r, const std::vector<Verdict>& verdicts) {
  const auto part = [&](const char* key) {
    const auto found = r.provenance.find(key);
    return found == r.provenance.end() ? std::string() : found->second;
  };
  const std::string cpu = part("CPU"), isa = part("instruction set");
  const Json json = {{"study", r.id},
                     {"profile", r.profile},
                     {"title", r.title},
                     {"paper", r.paper},
                     {"progress", progress_of(r)},
                     {"paper_claims", tally(verdicts, ClaimSource::paper)},
                     {"theorem_claims", tally(verdicts, ClaimSource::theorem)},
                     {"our_claims", tally(verdicts, ClaimSource::ours)},
                     {"seconds", training_seconds(r)},
                     {"finding", verdicts.empty() ? "" : finding(r, verdicts)},
                     {"machine", cpu.empty() || isa.empty() ? cpu + isa : cpu + ", " + isa}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<StudySummary> read_summaries(const fs::path& out, std::vector<std::string>& unread) {
  std::vector<StudySummary> summaries;
  for (const fs::path& study : models::visible_folders(out)) {
    for (const fs::path& profile : models::visible_folders(study)) {
      const fs::path file = profile / "summary.json";
      if (std::error_code none; !fs::exists(file, none)) continue;  // no report yet
      try {
        const Json json = Json::parse(models::read_file(file, {"summary", uint64_t{1} << 24}), nullptr, false);
        // Folders, not the file's own words, say where the page is.
        summaries.push_back({study.filename().string(), profile.filename().string(), json.at("title"), json.at("paper"),
                             json.at("progress"), json.at("paper_claims"), json.value("theorem_claims", ""),
                             json.at("our_claims"), json.value("finding", ""), json.at("seconds")});
      } catch (const std::exception&) {  // unreadable, or of another version
        unread.push_back(file.string());
      }
    }
  }
  std::sort(summaries.begin(), summaries.end(), [](const StudySummary& a, const StudySummary& b) {
    return std::tie(a.id, a.profile) < std::tie(b.id, b.profile);
  });
  std::sort(unread.begin(), unread.end());
  return summaries;
}

fs::path write_index(const fs::path& out) {
  std::vector<std::string> unread;
  const auto summaries = read_summaries(out, unread);
  std::string rows;
  for (const StudySummary& summary : summaries) rows += summary_row(summary);
  std::string body = fmt::format(
      "<header>\n<p class=\"over\">headroom</p>\n<h1>Studies</h1>\n<p class=\"muted\">{} "
      "{}</p>\n</header>\n<main>\n",
      summaries.size(), summaries.size() == 1 ? "report" : "reports");
  const std::string table = sortable_table(
      "Studies",
      {"study", "profile", "finding", "the paper’s claims", "checks of theorems", "our own claims", "trials and time"},
      rows, {0, 1, 2, 3, 4, 5, 6});
  body += "<div class=\"index\">\n" + table + "</div>\n";
  for (const std::string& path : unread)
    body += fmt::format("<p class=\"notes\">{} cannot be read; report that study again.</p>\n", escape(path));
  if (std::error_code ignored; fs::exists(out / "paper.html", ignored))
    body += "<p><a href=\"paper.html\">Every number of the paper beside ours</a></p>\n";
  write_file(out / "index.html", document("Studies", body + "</main>\n", kIndexRules));
  return out / "index.html";
}

}  // namespace headroom::experiments
