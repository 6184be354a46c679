#include "experiments/studies/pages/paper_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/number.h"

namespace headroom::experiments {
namespace {

/// One table with our numbers.
struct FilledTable {
  std::vector<std::string> columns;                      ///< of ours; "ours" where there are none
  std::vector<std::map<std::string, std::string>> rows;  ///< of each number: column → cell
  size_t run = 0;                                        ///< numbers that have one of ours
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
  for (const auto& row : out.rows) out.run += row.empty() ? 0 : 1;
  return out;
}

std::string cell_of(const std::map<std::string, std::string>& row, const std::string& column) {
  const auto found = row.find(column);
  return found == row.end() ? "not run" : found->second;
}

Block table_section(const PaperTable& paper, const std::vector<StoredVerdicts>& all) {
  const FilledTable ours = filled(paper, all);
  std::vector<std::vector<Phrase>> rows;
  for (size_t i = 0; i < paper.numbers.size(); ++i) {
    const PaperNumber& number = paper.numbers[i];
    std::vector<Phrase>& row = rows.emplace_back(text_cells({number.label, exact(number.value)}));
    for (const std::string& column : ours.columns)
      row.push_back(
          {{.text = cell_of(ours.rows[i], column), .role = ours.rows[i].contains(column) ? Role::plain : Role::muted}});
  }
  std::vector<std::string> head{"number", "paper"};
  for (const std::string& column : ours.columns) head.push_back(column);
  return section(paper.study,
                 {paragraph(fmt::format("{}{}{} of {} numbers have one of ours beside them.", paper.setting,
                                        paper.setting.empty() ? "" : ". ", ours.run, paper.numbers.size()),
                            Role::muted),
                  table("Numbers of " + paper.study, head, std::move(rows), {})});
}

VerdictRow claim_row(const StoredVerdicts& one, const StoredVerdict& v) {
  const std::string words = v.says.empty() ? v.claim : v.says;
  const char* const whose = v.source == ClaimSource::paper     ? ""
                            : v.source == ClaimSource::theorem ? "A theorem: "
                                                               : "Ours: ";
  std::string numbers = v.summary;
  if (v.paper) numbers += fmt::format("{}paper: {}", numbers.empty() ? "" : " · ", exact(*v.paper));
  return {v.status,
          {{whose + words}},
          {paragraph(v.sentence), paragraph(fmt::format("{} · {}: {}", one.study, one.profile, v.claim), Role::source)},
          numbers};
}

/// True if a study of ours is for the table, or has a number of it: others are no concern of who ran these studies.
bool is_about(const PaperTable& table, const std::vector<StoredVerdicts>& all) {
  return std::any_of(all.begin(), all.end(), [&](const StoredVerdicts& one) { return one.study == table.study; }) ||
         filled(table, all).run > 0;
}

/// The tables of studies that ran without any number of ours, a line each.
std::string not_run_text(const std::vector<StoredVerdicts>& all, size_t columns) {
  std::vector<std::vector<std::string>> rows;
  for (const PaperTable& table : paper_tables())
    if (is_about(table, all) && filled(table, all).run == 0)
      rows.push_back({"  " + table.study, table.setting, counted(std::ssize(table.numbers), "number")});
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
    const FilledTable ours = filled(table, all);
    if (ours.run == 0) continue;
    out += fmt::format("{}{}{}\n", table.study, table.setting.empty() ? "" : " · ", table.setting);
    std::vector<std::vector<std::string>> rows = {{"  ", "paper"}};
    rows[0].insert(rows[0].end(), ours.columns.begin(), ours.columns.end());
    for (size_t i = 0; i < table.numbers.size(); ++i) {
      if (ours.rows[i].empty()) continue;
      rows.push_back({"  " + table.numbers[i].label, exact(table.numbers[i].value)});
      for (const std::string& column : ours.columns) rows.back().push_back(cell_of(ours.rows[i], column));
    }
    out += aligned(rows, columns);
    if (const size_t left = table.numbers.size() - ours.run; left > 0)
      out += fmt::format("  {} more of the paper's numbers {} no counterpart\n", left, left == 1 ? "has" : "have");
    out += '\n';
  }
  out += not_run_text(all, columns);
  return out.empty() ? "No study here has a number of the paper's tables.\n\n" : out;
}

std::string paper_page(const std::vector<StoredVerdicts>& all) {
  const char* const name = "The paper's numbers beside ours";
  const Block top =
      header({title(name),
              paragraph("A number of ours is what a study measured; its column names the model that it ran on and "
                        "the profile, and the verdict of a claim stands behind the number.",
                        Role::muted)});
  Document page{name, {top}, "output/assets/report.css"};
  for (const PaperTable& table : paper_tables())
    if (is_about(table, all)) page.blocks.push_back(table_section(table, all));
  std::vector<VerdictRow> rows;
  for (const StoredVerdicts& one : all)
    for (const StoredVerdict& v : one.verdicts) rows.push_back(claim_row(one, v));
  page.blocks.push_back(section("Claims", {rows.empty() ? paragraph("No study was run.", Role::muted)
                                                        : verdict_table("Verdicts", std::move(rows))}));
  return as_html(page);
}

std::filesystem::path write_paper_page(const std::vector<StoredVerdicts>& all, const std::filesystem::path& out) {
  make_folder(out);
  write_file(out / "paper.html", paper_page(all));
  return out / "paper.html";
}

}  // namespace headroom::experiments
