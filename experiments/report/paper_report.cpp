#include "experiments/report/paper_report.h"

#include <fmt/format.h>

#include "experiments/claims/number.h"
#include "experiments/report/file.h"
#include "experiments/report/page_sections.h"
#include "experiments/report/text.h"

namespace headroom::experiments {
namespace {

/// A cell: each number, the study and profile that it comes from, and the verdict.
std::string ours_text(const std::vector<OurNumber>& ours) {
  std::string text;
  for (const OurNumber& o : ours)
    text += fmt::format("{}{} ({} · {}, {})", text.empty() ? "" : "; ", rounded(o.value), o.study, o.profile, o.status);
  return text.empty() ? "not run" : text;
}

size_t count_run(const PaperTable& table, const std::vector<StoredVerdicts>& all) {
  size_t count = 0;
  for (const PaperNumber& number : table.numbers) count += ours_beside(number.path, all).empty() ? 0 : 1;
  return count;
}

std::string table_section(const PaperTable& table, const std::vector<StoredVerdicts>& all) {
  std::string rows;
  for (const PaperNumber& number : table.numbers) {
    const auto ours = ours_beside(number.path, all);
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td><td{}>{}</td></tr>\n", escape(number.label),
                        exact(number.value), ours.empty() ? " class=\"muted\"" : "", escape(ours_text(ours)));
  }
  return fmt::format(
      "<section>\n<h2>{}</h2>\n<p class=\"muted\">{}{}{} of {} numbers have one of ours beside "
      "them.</p>\n{}</section>\n",
      escape(table.study), escape(table.setting), table.setting.empty() ? "" : ". ", count_run(table, all),
      table.numbers.size(), sortable_table("Numbers of " + table.study, {"number", "paper", "ours"}, rows));
}

std::string claim_item(const StoredVerdicts& one, const StoredVerdict& v) {
  const bool is_ours = v.paper_says.empty() && !v.ours_says.empty();
  const std::string words = !v.paper_says.empty() ? v.paper_says : is_ours ? v.ours_says : v.claim;
  std::string numbers = v.summary;
  if (v.paper) numbers += fmt::format("{}paper: {}", numbers.empty() ? "" : " · ", exact(*v.paper));
  return fmt::format(
      "<li class=\"{}\"><div class=\"verdict\"><span class=\"status\">{}</span> <span "
      "class=\"claim\">{}{}</span></div>\n"
      "<p>{}</p>\n<p class=\"muted mono\">{} · {}: {}{}</p></li>\n",
      slug(v.status), escape(v.status), is_ours ? "Ours: " : "", escape(words), escape(v.sentence), escape(one.study),
      escape(one.profile), escape(v.claim),
      numbers.empty() ? "" : fmt::format("<span class=\"numbers\">{}</span>", escape(numbers)));
}

}  // namespace

std::vector<OurNumber> ours_beside(const PaperPath& path, const std::vector<StoredVerdicts>& all) {
  std::vector<OurNumber> found;
  for (const StoredVerdicts& one : all)
    for (const StoredVerdict& v : one.verdicts)
      for (const auto& [at, value] : v.beside)
        if (at == path) found.push_back({one.study, one.profile, v.claim, v.status, value});
  return found;
}

std::string paper_text(const std::vector<StoredVerdicts>& all) {
  std::string out;
  for (const PaperTable& table : paper_tables()) {
    out += fmt::format("{}{}{}\n", table.study, table.setting.empty() ? "" : " · ", table.setting);
    std::vector<std::vector<std::string>> rows = {{"  ", "paper", "ours"}};
    for (const PaperNumber& number : table.numbers)
      rows.push_back({"  " + number.label, exact(number.value), ours_text(ours_beside(number.path, all))});
    out += aligned(rows) + "\n";
  }
  return out;
}

std::string paper_page(const std::vector<StoredVerdicts>& all) {
  std::string out =
      "<header>\n<h1>The paper's numbers beside ours</h1>\n<p class=\"muted\">A number of ours is what a claim "
      "measured "
      "that names the paper's as its reference. Models and data differ where a study's page says so.</p>\n</header>\n"
      "<main>\n";
  for (const PaperTable& table : paper_tables()) out += table_section(table, all);
  out += "<section>\n<h2>Claims</h2>\n";
  std::string items;
  for (const StoredVerdicts& one : all)
    for (const StoredVerdict& v : one.verdicts) items += claim_item(one, v);
  out += items.empty() ? "<p class=\"muted\">No study was run.</p>\n"
                       : "<ul class=\"verdicts\" aria-label=\"Verdicts\">\n" + items + "</ul>\n";
  return document("The paper's numbers beside ours", out + "</section>\n</main>\n");
}

std::filesystem::path write_paper_page(const std::vector<StoredVerdicts>& all, const std::filesystem::path& out) {
  make_folder(out);
  write_file(out / "paper.html", paper_page(all));
  return out / "paper.html";
}

}  // namespace headroom::experiments
