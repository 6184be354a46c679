#include "experiments/tools/probe/probe_page.h"

#include <fmt/format.h>

#include <set>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/page_assets.h"
#include "experiments/output/text.h"
#include "experiments/studies/pages/page.h"
#include "experiments/studies/pages/page_sections.h"
#include "experiments/tools/probe/probe_findings.h"
#include "experiments/tools/probe/probe_output.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

constexpr size_t lead_findings = 3;  ///< those before the heat map: width, layers, weights

std::string cells_table(const std::string& name, const Cells& cells) {
  std::string rows;
  for (size_t i = 1; i < cells.size(); ++i) {
    rows += fmt::format("<tr><th scope=\"row\">{}</th>", escape(cells[i][0]));
    for (size_t j = 1; j < cells[i].size(); ++j) rows += element("td", escape(cells[i][j]));
    rows += "</tr>\n";
  }
  return sortable_table(name, cells[0], rows);
}

std::string tables_section(const ProbeResults& r) {
  return fmt::format(
      "<section>\n<h2>In numbers</h2>\n{}<p class=\"muted\">{}</p>\n<details>\n<summary>All {} heads</summary>\n{}"
      "</details>\n</section>\n",
      cells_table("Layers", probe_layer_cells(r)), escape(probe_columns(r)), r.probe.probes.size(),
      cells_table("Heads", probe_head_cells(r)));
}

std::string limits_section(const ProbeResults& r) {
  std::string out = "<section>\n<h2>What these measures do not say</h2>\n<ul>\n";
  for (const std::string& limit : probe_limits(r)) out += element("li", escape(limit)) + "\n";
  return out + "</ul>\n</section>\n";
}

std::string source_section(const ProbeResults& r) {
  std::string out = "<section>\n<h2>Where this comes from</h2>\n<table class=\"words\"><tbody>\n";
  const auto row = [&](const char* key, const std::string& text) {
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td></tr>\n", key, escape(text));
  };
  row("model", r.model);
  row("text", r.text);
  row("pieces", probe_source(r));
  row("headroom", version_text());
  row("time", fmt::format("{:.1f} s", r.seconds));
  return out + "</tbody></table>\n</section>\n";
}

}  // namespace

void write_probe_page(const std::filesystem::path& path, const ProbeResults& r) {
  const std::vector<ProbeFinding> findings = probe_findings(r);
  std::string body = fmt::format(
      "<header>\n<p class=\"over\">headroom probe</p>\n<h1>{}</h1>\n<p class=\"muted\">{}</p>\n<p "
      "class=\"muted\">{}</p>\n"
      "</header>\n<main>\n<section>\n<h2>{}</h2>\n<p class=\"headline\">{}</p>\n",
      escape(r.name), escape(probe_subject(r)), escape(fmt::format("{} · {}", r.model, probe_source(r))),
      escape(findings[0].heading), escape(findings[0].text));
  for (size_t i = 1; i < lead_findings; ++i) body += element("p", escape(findings[i].text)) + "\n";
  body += "</section>\n<section>\n<h2>Every head</h2>\n" + probe_heat_map(r) + "</section>\n";
  for (size_t i = lead_findings; i < findings.size(); ++i)
    body += fmt::format("<section>\n<h2>{}</h2>\n<p>{}</p>\n</section>\n", escape(findings[i].heading),
                        escape(findings[i].text));
  body += limits_section(r) + tables_section(r) + source_section(r) + "</main>\n";
  if (path.has_parent_path()) make_folder(path.parent_path());
  write_file(path, document("Heads of " + r.name, body, page_asset("tools/probe/assets/probe.css")));
}

}  // namespace headroom::experiments
