#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "experiments/config/bind.h"
#include "experiments/config/reader.h"

namespace headroom::experiments {
namespace {

const std::vector<std::pair<const char*, Scale>> scales{
    {"linear", Scale::linear}, {"log2", Scale::log2}, {"log10", Scale::log10}};
const std::vector<std::string> metrics{"relative_mse",    "mse",        "error_l2",          "bound",
                                       "cross_entropy",   "perplexity", "bits_per_char",     "accuracy",
                                       "masked_accuracy", "excess",     "cross_entropy_all", "cross_entropy_response"};

void bind_study(Reader& in, StudyHead& head) {
  head.id = in.text("id", std::nullopt, "name of the study's folder under runs/");
  head.title = in.text("title", {head.id, "the id"}, "headline of the report");
  head.paper = in.text("paper", "", "what of the paper it repeats");
  const bool is_name = std::all_of(head.id.begin(), head.id.end(),
                                   [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
  if (in.has("id") && (head.id.empty() || !is_name))
    in.complain("id", fmt::format("wants letters, digits, - and _ (it names a folder), got \"{}\"", head.id));
}

void bind_report(Reader& in, ReportConfig& report) {
  in.table("x", "the swept key on the x axis", [&](Reader& x) {
    report.x_key = x.text("key", std::nullopt, "its path, such as \"model.heads\"");
    report.x_label = x.text("label", {split_path(report.x_key).back(), "its last word"}, "name on the axis");
    report.x_scale = x.choice("scale", report.x_scale, scales, "of the axis");
  });
  in.table("y", "the metric on the y axis, which claims speak of", [&](Reader& y) {
    report.y_metric = y.word("metric", metrics[0], metrics, "its name");
    report.y_scale = y.choice("scale", report.y_scale, scales, "of the axis");
    report.y_label = y.text("label", {report.y_metric, "the metric"}, "name on the axis");
  });
}

}  // namespace

void bind_head(Reader& in, const std::vector<std::string>& series, const std::string& folder, StudyHead& head) {
  in.optional_table("study", "what the study is called", [&](Reader& study) { bind_study(study, head); });
  in.optional_table("report", "what is drawn", [&](Reader& report) {
    bind_report(report, head.report);
    bind_overlay(report, folder);
  });
  in.tables("claim", "what is judged", [&](Reader& claim) { head.claims.push_back(bind_claim(claim, series)); });
}

StudyHead bind_head(const Value& root, const std::vector<std::string>& series, const std::string& folder,
                    Problems& problems) {
  StudyHead head;
  Reader in(root, "", problems);
  for (const char* key : {"study", "report"})
    if (!in.has(key)) in.complain(key, "missing table");
  bind_head(in, series, folder, head);
  in.skip({"task", "model", "train", "sweep", "series", "profile"});
  in.finish();
  return head;
}

}  // namespace headroom::experiments
