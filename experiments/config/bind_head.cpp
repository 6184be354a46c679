#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "experiments/claims/claims.h"
#include "experiments/config/bind.h"
#include "experiments/config/reader.h"

namespace headroom::experiments {
namespace {

const std::vector<std::pair<const char*, Scale>> scales{
    {"linear", Scale::linear}, {"log2", Scale::log2}, {"log10", Scale::log10}};
const std::vector<std::string> metrics{"relative_mse", "mse"};

void bind_report(Reader& in, ReportConfig& report) {
  if (!in.has("x")) in.complain("x", "missing");
  in.table("x", [&](Reader& x) {
    report.x_key = x.text("key", std::nullopt);
    report.x_label = x.text("label", split_path(report.x_key).back());
    report.x_scale = x.choice("scale", report.x_scale, scales);
  });
  report.y_metric = metrics[0];
  in.table("y", [&](Reader& y) {
    report.y_metric = y.text("metric", metrics[0]);
    report.y_scale = y.choice("scale", report.y_scale, scales);
    report.y_label = y.text("label", report.y_metric);
    if (std::find(metrics.begin(), metrics.end(), report.y_metric) == metrics.end())
      y.complain("metric", fmt::format("wants one of {}, got \"{}\"", fmt::join(metrics, ", "), report.y_metric));
  });
  if (report.y_label.empty()) report.y_label = report.y_metric;
  in.raw("overlay");
}

ClaimConfig bind_claim(Reader& in, const std::vector<std::string>& series) {
  ClaimConfig claim;
  const auto& kinds = claim_kinds();
  claim.kind = in.text("kind", std::nullopt);
  if (in.has("kind") && std::find(kinds.begin(), kinds.end(), claim.kind) == kinds.end())
    in.complain("kind", fmt::format("wants one of {}, got \"{}\"", fmt::join(kinds, ", "), claim.kind));
  claim.series = in.text("series", "");
  const bool is_known = std::find(series.begin(), series.end(), claim.series) != series.end();
  if (claim.series.empty() && series.size() > 1)
    in.complain("series", fmt::format("missing: the study has several series ({})", fmt::join(series, ", ")));
  else if (!claim.series.empty() && !is_known)
    in.complain("series",
                fmt::format("there is no series \"{}\"; the study has {}", claim.series, fmt::join(series, ", ")));
  claim.paper = in.text("paper", "");
  claim.ours = in.text("ours", "");
  claim.why = in.text("why", "");
  claim.among = in.numbers("among");
  if (claim.kind == "argmin_in" && !in.has("among"))
    in.complain("among", "missing: argmin_in wants the x that may be the best");
  if (in.has("at")) claim.at = in.real("at", 0.0);
  else in.raw("at");
  if (claim.kind == "within_factor" && !claim.at) in.complain("at", "missing: within_factor wants the x to be judged");
  claim.factor = in.real("factor", claim.factor, at_least(1));
  claim.significance =
      in.real("significance", claim.significance, {.low = 0, .high = 1, .low_open = true, .high_open = true});
  claim.log_error = in.flag("log_error", claim.log_error);
  return claim;
}

/// Number → number at a path of a JSON file.
std::vector<std::pair<double, double>> read_points(const std::string& file, const Value& path) {
  std::ifstream in(file);
  require(in.good(), "cannot read {}", file);
  const nlohmann::json document = nlohmann::json::parse(in, nullptr, false);
  require(!document.is_discarded(), "{} is not JSON", file);
  const nlohmann::json* node = &document;
  for (const Value& key : path.list) {
    require(key.kind == Value::Kind::text, "path wants strings");
    require(node->is_object() && node->contains(key.text), "{} has no \"{}\"", file, key.text);
    node = &(*node)[key.text];
  }
  require(node->is_object(), "{}: wants an object of number: number there", file);
  std::vector<std::pair<double, double>> points;
  for (const auto& [key, value] : node->items()) {
    size_t used = 0;
    double x = 0;
    try {
      x = std::stod(key, &used);
    } catch (const std::exception&) {
    }
    require(used == key.size() && used > 0 && value.is_number(), "{}: \"{}\" is not number: number", file, key);
    points.emplace_back(x, value.get<double>());
  }
  std::sort(points.begin(), points.end());
  return points;
}

void bind_points(Reader& in, std::vector<std::pair<double, double>>& points) {
  const Value* list = in.raw("points");
  if (!list) return;
  bool ok = list->kind == Value::Kind::list && !list->list.empty();
  for (const Value& point : list->list) {
    const bool is_pair = point.list.size() == 2 && point.list[0].is_number() && point.list[1].is_number();
    if (is_pair) points.emplace_back(point.list[0].number(), point.list[1].number());
    ok = ok && is_pair;
  }
  if (!ok) in.complain("points", "wants a list of pairs [x, y]");
}

}  // namespace

StudyHead bind_head(const Value& root, const std::vector<std::string>& series, Problems& problems) {
  StudyHead head;
  Reader in(root, "", problems);
  for (const char* key : {"study", "report"})
    if (!in.has(key)) in.complain(key, "missing table");
  in.table("study", [&](Reader& study) {
    head.id = study.text("id", std::nullopt);
    head.title = study.text("title", head.id);
    head.paper = study.text("paper", "");
    const bool is_name = std::all_of(head.id.begin(), head.id.end(),
                                     [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
    if (study.has("id") && (head.id.empty() || !is_name))
      study.complain("id", fmt::format("wants letters, digits, - and _ (it names a folder), got \"{}\"", head.id));
  });
  in.table("report", [&](Reader& report) { bind_report(report, head.report); });
  in.tables("claim", [&](Reader& claim) { head.claims.push_back(bind_claim(claim, series)); });
  for (const char* key : {"task", "model", "train", "sweep", "series", "profile"}) in.raw(key);
  in.finish();
  return head;
}

Overlay bind_overlay(const Value& root, const std::string& series, const std::string& folder, Problems& problems) {
  Overlay overlay;
  overlay.series = series;
  const Entry* report = root.find("report");
  if (!report || report->value.kind != Value::Kind::table) return overlay;
  Reader in(report->value, "report", problems);
  in.table("overlay", [&](Reader& table) {
    overlay.label = table.text("label", "theory");
    bind_points(table, overlay.points);
    const Value* path = table.raw("path");
    const std::string file = table.text("file", "");
    if (file.empty() == overlay.points.empty()) return table.complain("file", "wants either file and path, or points");
    if (file.empty()) return;
    if (!path || path->kind != Value::Kind::list) return table.complain("path", "wants a list of keys");
    try {
      overlay.points = read_points(file[0] == '/' ? file : folder + "/" + file, *path);
    } catch (const Error& error) {
      table.complain("file", error.what());
    }
  });
  return overlay;
}

}  // namespace headroom::experiments
