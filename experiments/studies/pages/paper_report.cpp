#include "experiments/studies/pages/paper_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/number.h"
#include "experiments/output/text.h"
#include "experiments/studies/pages/page_sections.h"

namespace headroom::experiments {
namespace {

/// One table with ours beside it.
struct FilledTable {
  std::vector<std::string> columns;                      ///< of ours; "ours" where there are none
  std::vector<std::map<std::string, std::string>> rows;  ///< of each number: column → cell
};

FilledTable filled(const PaperTable& table, const std::vector<StoredVerdicts>& all) {
  FilledTable out;
  for (const PaperNumber& number : table.numbers) {
    auto& row = out.rows.emplace_back();
    for (const OurNumber& o : ours_beside(number.path, all)) {
      const std::string column = o.column();
      if (std::find(out.columns.begin(), out.columns.end(), column) == out.columns.end()) out.columns.push_back(column);
      std::string& cell = row[column];
      cell += (cell.empty() ? "" : "; ") + rounded(o.value) + (o.status.empty() ? "" : " " + o.status);
    }
  }
  if (out.columns.empty()) out.columns.emplace_back("ours");
  return out;
}

std::string cell_of(const std::map<std::string, std::string>& row, const std::string& column) {
  const auto found = row.find(column);
  return found == row.end() ? "not run" : found->second;
}

size_t count_run(const PaperTable& table, const std::vector<StoredVerdicts>& all) {
  size_t count = 0;
  for (const PaperNumber& number : table.numbers) count += ours_beside(number.path, all).empty() ? 0 : 1;
  return count;
}

std::string table_section(const PaperTable& table, const std::vector<StoredVerdicts>& all) {
  const FilledTable ours = filled(table, all);
  std::string rows;
  for (size_t i = 0; i < table.numbers.size(); ++i) {
    const PaperNumber& number = table.numbers[i];
    rows += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td>", escape(number.label), exact(number.value));
    for (const std::string& column : ours.columns)
      rows += fmt::format("<td{}>{}</td>", ours.rows[i].contains(column) ? "" : " class=\"muted\"",
                          escape(cell_of(ours.rows[i], column)));
    rows += "</tr>\n";
  }
  std::vector<std::string> head{"number", "paper"};
  for (const std::string& column : ours.columns) head.push_back(column);
  return fmt::format(
      "<section>\n<h2>{}</h2>\n<p class=\"muted\">{}{}{} of {} numbers have one of ours beside "
      "them.</p>\n{}</section>\n",
      escape(table.study), escape(table.setting), table.setting.empty() ? "" : ". ", count_run(table, all),
      table.numbers.size(), sortable_table("Numbers of " + table.study, head, rows));
}

std::string claim_item(const StoredVerdicts& one, const StoredVerdict& v) {
  std::string words = v.paper_says + v.theorem_says + v.ours_says;  // one of them is there
  if (words.empty()) words = v.claim;
  const char* const whose = v.source() == ClaimSource::paper     ? ""
                            : v.source() == ClaimSource::theorem ? "A theorem: "
                                                                 : "Ours: ";
  std::string numbers = v.summary;
  if (v.paper) numbers += fmt::format("{}paper: {}", numbers.empty() ? "" : " · ", exact(*v.paper));
  return fmt::format(
      "<li class=\"{}\"><div class=\"verdict\"><span class=\"status\">{}</span> <span "
      "class=\"claim\">{}{}</span></div>\n"
      "<p>{}</p>\n<p class=\"muted mono\">{} · {}: {}{}</p></li>\n",
      slug(v.status), escape(v.status), whose, escape(words), escape(v.sentence), escape(one.study),
      escape(one.profile), escape(v.claim),
      numbers.empty() ? "" : fmt::format("<span class=\"numbers\">{}</span>", escape(numbers)));
}

/// The tables without any number of ours, a line each.
std::string not_run_text(const std::vector<StoredVerdicts>& all, size_t columns) {
  std::vector<std::vector<std::string>> rows;
  for (const PaperTable& table : paper_tables())
    if (count_run(table, all) == 0)
      rows.push_back({"  " + table.study, table.setting,
                      fmt::format("{} {}", table.numbers.size(), table.numbers.size() == 1 ? "number" : "numbers")});
  return rows.empty() ? "" : "not run\n" + aligned(rows, columns) + "\n";
}

}  // namespace

std::vector<OurNumber> ours_beside(const PaperPath& path, const std::vector<StoredVerdicts>& all) {
  std::vector<OurNumber> found;
  for (const StoredVerdicts& one : all)
    for (const StoredVerdict& v : one.verdicts)
      for (const auto& [at, value] : v.beside)
        if (at == path) found.push_back({one.study, one.profile, v.claim, v.status, value, v.model});
  for (const StoredVerdicts& one : all)
    for (const StoredBeside& b : one.beside)
      if (b.path == path) found.push_back({one.study, one.profile, "", "", b.value, b.model});
  return found;
}

std::string paper_text(const std::vector<StoredVerdicts>& all, size_t columns) {
  std::string out;
  for (const PaperTable& table : paper_tables()) {
    const size_t run = count_run(table, all);
    if (run == 0) continue;
    out += fmt::format("{}{}{}\n", table.study, table.setting.empty() ? "" : " · ", table.setting);
    const FilledTable ours = filled(table, all);
    std::vector<std::vector<std::string>> rows = {{"  ", "paper"}};
    rows[0].insert(rows[0].end(), ours.columns.begin(), ours.columns.end());
    for (size_t i = 0; i < table.numbers.size(); ++i) {
      if (ours.rows[i].empty()) continue;
      rows.push_back({"  " + table.numbers[i].label, exact(table.numbers[i].value)});
      for (const std::string& column : ours.columns) rows.back().push_back(cell_of(ours.rows[i], column));
    }
    out += aligned(rows, columns);
    if (const size_t left = table.numbers.size() - run; left > 0)
      out += fmt::format("  {} more of the paper's numbers {} no counterpart\n", left, left == 1 ? "has" : "have");
    out += '\n';
  }
  return out + not_run_text(all, columns);
}

std::string paper_page(const std::vector<StoredVerdicts>& all) {
  std::string out =
      "<header>\n<h1>The paper's numbers beside ours</h1>\n<p class=\"muted\">A number of ours is what a study "
      "measured; its column names the model that it ran on and the profile, and the verdict of a claim stands behind "
      "the number.</p>\n</header>\n"
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
