#include "experiments/studies/pages/index_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/studies/pages/answer.h"
#include "experiments/studies/pages/headline.h"
#include "experiments/studies/pages/page.h"
#include "models/files/entries_of.h"
#include "models/files/regular_file.h"

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

std::vector<Phrase> summary_row(const StudySummary& s) {
  const std::string report = fmt::format("{}/{}/report.html", url(s.id), url(s.profile));
  std::vector<Phrase> cells =
      text_cells({s.title, s.profile, s.finding, s.paper_tally, s.theorem_tally, s.ours_tally, s.progress});
  cells[0] = {{.text = s.title, .link = report}, {" "}, {.text = s.id, .role = Role::muted}};
  cells.back()[0].sorts_as = s.seconds;
  return cells;
}

}  // namespace

std::string summary_json(const Analysis& r, const std::vector<std::string>& figures) {
  const auto part = [&](const char* key) { return r.provenance.contains(key) ? r.provenance.at(key) : ""; };
  const std::string cpu = part("CPU"), isa = part("instruction set");
  const Json json = {{"study", r.id},
                     {"profile", r.profile},
                     {"title", r.title},
                     {"paper", r.paper},
                     {"progress", progress_of(r)},
                     {"paper_claims", tally(r.verdicts(), ClaimSource::paper)},
                     {"theorem_claims", tally(r.verdicts(), ClaimSource::theorem)},
                     {"our_claims", tally(r.verdicts(), ClaimSource::ours)},
                     {"seconds", training_seconds(r)},
                     {"finding", r.verdicts().empty() ? "" : answer(r).words},
                     {"figures", figures},
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
        const Json json = Json::parse(models::read_file(file, {"summary", uint64_t{1} << 24, false}), nullptr, false);
        // Folders, not the file's own words, say where the page is.
        summaries.push_back({study.filename().string(), profile.filename().string(), json.at("title"),
                             json.at("progress"), json.at("paper_claims"), json.value("theorem_claims", ""),
                             json.at("our_claims"), json.value("finding", ""), json.at("seconds"),
                             json.value("figures", std::vector<std::string>{})});
      } catch (const std::exception&) {  // unreadable, or of another version
        unread.push_back(file.string());
      }
    }
  }
  std::sort(unread.begin(), unread.end());
  return summaries;
}

fs::path write_index(const fs::path& out) {
  std::vector<std::string> unread;
  const auto summaries = read_summaries(out, unread);
  std::vector<std::vector<Phrase>> rows;
  for (const StudySummary& summary : summaries) rows.push_back(summary_row(summary));
  const Block top = header({paragraph("headroom", Role::over), title("Studies"),
                            paragraph(counted(std::ssize(summaries), "report"), Role::muted)});
  Document page{"Studies",
                {top, table("Studies",
                            {"study", "profile", "finding", "the paper’s claims", "checks of theorems",
                             "our own claims", "trials and time"},
                            std::move(rows))},
                "output/assets/index.css"};
  for (const std::string& path : unread)
    page.blocks.push_back(paragraph(path + " cannot be read; report that study again.", Role::notes));
  if (std::error_code ignored; fs::exists(out / "paper.html", ignored))
    page.blocks.push_back(paragraph({{.text = "Every number of the paper beside ours", .link = "paper.html"}}));
  write_file(out / "index.html", as_html(page));
  return out / "index.html";
}

}  // namespace headroom::experiments
