#include "experiments/tools/probe/probe_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "experiments/output/file.h"
#include "experiments/output/html.h"
#include "experiments/output/plot/plot.h"
#include "experiments/version.h"
#include "models/files/file_size.h"

namespace headroom::experiments {
namespace {

using Shade = HeadMeasure::Shade;

constexpr int faintest = 6;  ///< per cent of the colour: a cell is always seen

/// Per cent of the colour for a value between `low` and `high`, negative for that of negative values; 0 for none.
int shade_of(Shade shade, double low, double high, double value) {
  if (!std::isfinite(value)) return 0;
  double share = 0.5;
  if (shade == Shade::signed_) share = high > 0 ? std::abs(value) / high : 0;
  else if (high > low)
    share = shade == Shade::log ? std::log(value / low) / std::log(high / low) : (value - low) / (high - low);
  const int percent_of_colour =
      faintest + static_cast<int>(std::lround((100 - faintest) * std::clamp(share, 0.0, 1.0)));
  return shade == Shade::signed_ && value < 0 ? -percent_of_colour : percent_of_colour;
}

/// A measure as the script needs it: colours and texts of all heads.
nlohmann::ordered_json heat_json(const ProbeResults& r, const HeadMeasure& measure) {
  const std::vector<double> values = of_heads(r, measure.value);
  double low = finite_quantile(values, 0), high = finite_quantile(values, 1);
  if (measure.shade == Shade::signed_) {
    high = std::max(std::abs(low), std::abs(high));
    low = -high;
  }
  nlohmann::ordered_json shades = nlohmann::ordered_json::array(), texts = shades;
  for (const double value : values) {
    shades.push_back(shade_of(measure.shade, low, high, value));
    texts.push_back(measure_text(measure, value));
  }
  return {{"id", measure.id},
          {"group", measure.group},
          {"label", measure.label},
          {"meaning", measure.meaning},
          {"low", measure_text(measure, low)},
          {"high", measure_text(measure, high)},
          {"signed", measure.shade == Shade::signed_},
          {"shades", std::move(shades)},
          {"texts", std::move(texts)}};
}

/// JSON in a <script> of a page that is XML, too.
std::string script_json(const nlohmann::ordered_json& json) {
  std::string out;
  for (const char c : json.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace)) {
    if (c == '<' || c == '>' || c == '&') out += fmt::format("\\u{:04x}", static_cast<int>(c));
    else out += c;
  }
  return out;
}

/// The heat maps as HTML: the first measure's cells, and what the script needs for the others.
Block heat_map(const ProbeResults& r) {
  const std::vector<HeadMeasure> measures = head_measures(r);
  nlohmann::ordered_json heat = nlohmann::ordered_json::array();
  HeatMap map;
  for (const HeadMeasure& measure : measures) {
    heat.push_back(heat_json(r, measure));
    map.measures.push_back(
        {measure.id, measure.group, measure.label, measure.meaning, heat.back()["low"], heat.back()["high"]});
  }
  map.rows = r.probe.layers;
  map.columns = r.probe.heads;
  map.shades = heat[0]["shades"].get<std::vector<int>>();
  for (const tasks::HeadProbe& head : r.probe.probes)
    map.hovers.push_back(fmt::format("layer {}, head {}: {}", head.layer, head.head,
                                     heat[0]["texts"][map.hovers.size()].get<std::string>()));
  map.details = head_details(r);
  map.json = script_json({{"layers", map.rows}, {"heads_per_layer", map.columns}, {"heat", std::move(heat)}});
  map.script = "tools/probe/assets/probe.js";
  Block block;
  block.kind = Block::Kind::heat_map;
  block.heat = std::move(map);
  return block;
}

/// A bar for each of `sizes`, of what the files or the cache are now.
Block savings_figure(const std::vector<SizeAfter>& sizes) {
  constexpr double half_of_bar = 0.32;
  constexpr uint32_t now = 0x7a8594, after = 0x3b7dc4;  // legible on light and on dark pages
  Plot plot;
  plot.id = "savings";
  plot.title = "Bytes of weights and cache, and what each step leaves";
  plot.x_label = "percent of today’s bytes";
  plot.y_label = "weights in all; cache for each token";
  Layer& bars = plot.layers.emplace_back(Layer{.kind = Layer::Kind::cells, .legend = {}, .marks = {}});
  std::vector<std::string> labels;
  std::vector<std::string> said;
  for (size_t i = sizes.size(); i-- > 0;) {  // the first one on top
    const SizeAfter& one = sizes[i];
    const double percent_left = 100 * one.share;
    labels.push_back(fmt::format("{}: {}", one.name, models::size_text(static_cast<uint64_t>(one.bytes))));
    said.insert(said.begin(), fmt::format("{}, {:.0f} %", labels.back(), percent_left));
    bars.marks.push_back({.x = percent_left / 2,
                          .y = static_cast<double>(labels.size() - 1),
                          .hover = said.front(),
                          .size_x = percent_left / 2,
                          .size_y = half_of_bar,
                          .fill = one.share == 1 ? now : after});
  }
  plot.description = fmt::format("{}.", fmt::join(said, "; "));
  plot.x = fit_axis(Scale::linear, {0, 100});
  plot.x.low = 0;
  plot.y = category_axis(labels);
  return figure(plot, "Half of q and k, or of keys: the half of their width in every head. Counted, before any loss.");
}

}  // namespace

void write_probe_page(const std::filesystem::path& path, const ProbeResults& r) {
  constexpr size_t lead_findings = 4;  // before the heat map: what can be won, width, layers, weights
  const std::filesystem::path model = std::filesystem::path(r.model).lexically_normal();
  const std::string file = (model.has_filename() ? model : model.parent_path()).filename().string();
  const std::vector<ProbeFinding> findings = probe_findings(r);
  Document page{"Heads of " + file,
                {header({paragraph("headroom probe", Role::over), title(file), paragraph(probe_subject(r), Role::muted),
                         paragraph(fmt::format("{} · {}", r.model, probe_source(r)), Role::muted)})},
                "tools/probe/assets/probe.css"};
  Blocks lead{paragraph(advice_of(r.savings), Role::headline)}, limits;
  if (const auto sizes = sizes_after(r.savings); !sizes.empty()) lead.push_back(savings_figure(sizes));
  lead.push_back(paragraph(reasons_of(r.savings)));
  for (size_t i = 1; i < lead_findings; ++i) lead.push_back(paragraph(findings[i].text));
  append(page.blocks, {section(findings[0].heading, std::move(lead)), section("Every head", {heat_map(r)})});
  for (size_t i = lead_findings; i < findings.size(); ++i)
    page.blocks.push_back(section(findings[i].heading, {paragraph(findings[i].text)}));
  for (const std::string& limit : probe_limits(r)) limits.push_back(item(limit));
  append(
      page.blocks,
      {section("What these measures do not say", std::move(limits)),
       section("In numbers", {cells_table("Layers", probe_layer_cells(r), {}), paragraph(probe_columns(r), Role::muted),
                              fold(fmt::format("All {} heads", r.probe.probes.size()),
                                   {cells_table("Heads", probe_head_cells(r), {})})}),
       section("Where this comes from", {facts({{"model", {{r.model}}, {}},
                                                {"text", {{r.text}}, {}},
                                                {"pieces", {{probe_source(r)}}, {}},
                                                {"headroom", {{version_text()}}, {}},
                                                {"time", {{fmt::format("{:.1f} s", r.seconds)}}, {}}})})});
  if (path.has_parent_path()) make_folder(path.parent_path());
  write_file(path, as_html(page));
}

}  // namespace headroom::experiments
