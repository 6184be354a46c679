#include "experiments/tools/probe/probe_page.h"

#include <fmt/format.h>

#include <utility>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/tools/probe/probe_findings.h"
#include "experiments/tools/probe/probe_output.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

constexpr size_t lead_findings = 3;  ///< those before the heat map: width, layers, weights

Block tables_section(const ProbeResults& r) {
  return section(
      "In numbers",
      {cells_table("Layers", probe_layer_cells(r), {}), paragraph(probe_columns(r), Role::muted),
       fold(fmt::format("All {} heads", r.probe.probes.size()), {cells_table("Heads", probe_head_cells(r), {})})});
}

Block limits_section(const ProbeResults& r) {
  Blocks limits;
  for (const std::string& limit : probe_limits(r)) limits.push_back(item(limit));
  return section("What these measures do not say", std::move(limits));
}

Block source_section(const ProbeResults& r) {
  std::vector<Fact> rows;
  for (const auto& [key, text] : {std::pair{"model", r.model},
                                  {"text", r.text},
                                  {"pieces", probe_source(r)},
                                  {"headroom", version_text()},
                                  {"time", fmt::format("{:.1f} s", r.seconds)}})
    rows.push_back({key, {{text}}, {}});
  return section("Where this comes from", {facts(std::move(rows))});
}

}  // namespace

void write_probe_page(const std::filesystem::path& path, const ProbeResults& r) {
  const std::vector<ProbeFinding> findings = probe_findings(r);
  Document page{
      "Heads of " + r.name,
      {header({paragraph("headroom probe", Role::over), title(r.name), paragraph(probe_subject(r), Role::muted),
               paragraph(fmt::format("{} · {}", r.model, probe_source(r)), Role::muted)})},
      "tools/probe/assets/probe.css"};
  Blocks lead{paragraph(findings[0].text, Role::headline)};
  for (size_t i = 1; i < lead_findings; ++i) lead.push_back(paragraph(findings[i].text));
  page.blocks.push_back(section(findings[0].heading, std::move(lead)));
  page.blocks.push_back(section("Every head", {probe_heat_map(r)}));
  for (size_t i = lead_findings; i < findings.size(); ++i)
    page.blocks.push_back(section(findings[i].heading, {paragraph(findings[i].text)}));
  append(page.blocks, {limits_section(r), tables_section(r), source_section(r)});
  if (path.has_parent_path()) make_folder(path.parent_path());
  write_file(path, as_html(page));
}

}  // namespace headroom::experiments
