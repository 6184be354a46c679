#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "experiments/tools/probe/probe_output.h"
#include "experiments/tools/probe/probe_page.h"

namespace headroom::experiments {
namespace {

using Shade = HeadMeasure::Shade;

constexpr int faintest = 6;  ///< per cent of the colour: a cell is always seen

/// What the colours of one measure stand for.
struct HeatScale {
  Shade shade = Shade::linear;
  double low = 0, high = 0;  ///< signed: -high to high
};

HeatScale scale_of(const HeadMeasure& measure, const std::vector<double>& values) {
  HeatScale scale{measure.shade, finite_quantile(values, 0), finite_quantile(values, 1)};
  if (measure.shade == Shade::signed_) {
    scale.high = std::max(std::abs(scale.low), std::abs(scale.high));
    scale.low = -scale.high;
  }
  return scale;
}

/// Per cent of the colour, negative for that of negative values; 0 for none.
int shade_of(const HeatScale& scale, double value) {
  if (!std::isfinite(value)) return 0;
  double share = 0.5;
  if (scale.shade == Shade::signed_) share = scale.high > 0 ? std::abs(value) / scale.high : 0;
  else if (scale.high > scale.low)
    share = scale.shade == Shade::log ? std::log(value / scale.low) / std::log(scale.high / scale.low)
                                      : (value - scale.low) / (scale.high - scale.low);
  const int percent_of_colour =
      faintest + static_cast<int>(std::lround((100 - faintest) * std::clamp(share, 0.0, 1.0)));
  return scale.shade == Shade::signed_ && value < 0 ? -percent_of_colour : percent_of_colour;
}

/// A measure as the script needs it: colours and texts of all heads.
nlohmann::ordered_json heat_json(const ProbeResults& r, const HeadMeasure& measure) {
  const std::vector<double> values = values_of(r, measure);
  const HeatScale scale = scale_of(measure, values);
  nlohmann::ordered_json shades = nlohmann::ordered_json::array(), texts = shades;
  for (const double value : values) {
    shades.push_back(shade_of(scale, value));
    texts.push_back(measure_text(measure, value));
  }
  return {{"id", measure.id},
          {"group", measure.group},
          {"label", measure.label},
          {"meaning", measure.meaning},
          {"low", measure_text(measure, scale.low)},
          {"high", measure_text(measure, scale.high)},
          {"signed", measure.shade == Shade::signed_},
          {"shades", std::move(shades)},
          {"texts", std::move(texts)}};
}

/// Four digits are more than a curve shows.
void round_numbers(nlohmann::ordered_json& json) {
  if (json.is_number_float()) json = std::stod(fmt::format("{:.4g}", json.get<double>()));
  else if (json.is_structured())
    for (auto& part : json) round_numbers(part);
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

}  // namespace

Block probe_heat_map(const ProbeResults& r) {
  const std::vector<HeadMeasure> measures = head_measures(r);
  nlohmann::ordered_json data = probe_json(r), heat = nlohmann::ordered_json::array();
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
  data["heat"] = std::move(heat);
  for (auto& head : data["heads"]) head.erase("measures");
  for (const char* key : {"findings", "limits", "measures", "spans"}) data.erase(key);
  round_numbers(data);
  map.json = script_json(data);
  map.script = "tools/probe/assets/probe.js";
  Block block;
  block.kind = Block::Kind::heat_map;
  block.heat = std::move(map);
  return block;
}

}  // namespace headroom::experiments
