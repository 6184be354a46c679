#include <fmt/format.h>

#include "engine/excerpt.h"
#include "experiments/studies/claims/bind_claim.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

void bind_study(Reader& in, StudyInfo& head) {
  head.id = in.text("id", std::nullopt, "name of the study's folder under runs/");
  head.title = in.text("title", {head.id, "the id"}, "headline of the report");
  head.question = in.text("question", "", "the question that it asks, in a sentence");
  head.guide = in.text("guide", "", "heading of the guide's section that shows its claims");
  head.paper = in.text("paper", "", "what of the paper it repeats");
  head.deviations = in.texts("deviations", "where its set-up is not the paper's, or the paper does not say");
  if (in.is_text("id") && !is_folder_name(head.id))
    in.complain(
        "id",
        fmt::format(
            "expected letters, digits, - and _, a letter or digit first (it names a folder), at most 100, got \"{}\"",
            excerpt(head.id)));
}

}  // namespace

void bind_info(Reader& in, const StudyScope& scope, const ReportScope& metrics, const std::string& folder,
               StudyInfo& head) {
  in.optional_table("study", "what the study is called", [&](Reader& study) { bind_study(study, head); });
  StudyScope study = scope;
  in.optional_table("report", "what is drawn", [&](Reader& report) {
    head.report = bind_report(report, metrics);
    bind_overlay(report, folder);
    study.x_name = split_path(head.report.x_key).back();
    study.y_metric = head.report.y_metric;
    report.tables("beside", "numbers for the paper's tables, where no claim names them",
                  [&](Reader& beside) { head.report.beside.push_back(bind_beside(beside, study)); });
  });
  in.tables("claim", "what is judged",
            [&](Reader& claim) { head.claims.push_back(bind_claim(claim, study, head.claims)); });
}

StudyInfo bind_info(const Value& root, const StudyScope& scope, const ReportScope& metrics, const std::string& folder,
                    Complaints& problems) {
  StudyInfo head;
  Reader in(root, "", problems);
  for (const char* key : {"study", "report"})
    if (!in.has(key)) in.complain(key, "missing table");
  bind_info(in, scope, metrics, folder, head);
  in.skip({"task", "model", "train", "sweep", "series", "profile"});
  in.finish();
  return head;
}

}  // namespace headroom::experiments
