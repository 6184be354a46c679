#include <fmt/format.h>

#include <algorithm>

#include "engine/excerpt.h"
#include "experiments/studies/claims/bind_claim.h"
#include "experiments/studies/claims/claim_scope.h"
#include "experiments/studies/claims/reference.h"
#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

/// Reads the author's answer; its claims' existence is checked once they are read.
void bind_answer(Reader& in, StudyAnswer& answer) {
  answer.words = in.text("words", std::nullopt, "a sentence, shown if these claims have the verdicts that it supposes");
  answer.holds = in.texts("holds", "ids of the claims that it says hold");
  answer.fails = in.texts("fails", "ids of the claims that it says fail");
  if (answer.holds.empty() && answer.fails.empty())
    in.complain("words", "names no claim: `holds` and `fails` list those that it says hold and fail");
}

/// Checks the answer, except for profiles without claims, such as those that only show that a study runs.
void check_answer(Reader& in, const StudyInfo& head) {
  for (const auto* ids : {&head.answer.holds, &head.answer.fails})
    for (const std::string& id : *ids)
      if (!head.claims.empty() && std::none_of(head.claims.begin(), head.claims.end(),
                                               [&](const ClaimConfig& claim) { return claim.id == id; }))
        in.complain("study", fmt::format("answer: no claim of this profile has the id \"{}\"", excerpt(id)));
}

void bind_study(Reader& in, StudyInfo& head) {
  head.id = in.text("id", std::nullopt, "name of the study's folder under runs/");
  head.title = in.text("title", {head.id, "the id"}, "headline of the report");
  in.set("question", head.question, "the question that it asks, in a sentence");
  in.optional_table("answer", "the answer in the author's words; like verdicts, each profile has its own",
                    [&](Reader& answer) { bind_answer(answer, head.answer); });
  in.set("guide", head.guide, "heading of the guide's section that shows its claims");
  in.set("paper", head.paper, "part of the paper that it repeats");
  head.deviations = in.texts("deviations", "where its set-up differs from the paper's, or the paper does not say");
  if (in.is_text("id") && !is_folder_name(head.id)) in.complain("id", no_folder_name(head.id));
}

/// Checks that the paper has that column or number, and the series measures a number for it.
void check_path(Reader& in, const BesidePaper& b, const ClaimScope& scope) {
  const auto column = paper_points(b.path);
  const std::vector<double> x = scope.x();
  const auto is_measured = [&](const auto& point) { return std::find(x.begin(), x.end(), point.first) != x.end(); };
  if (column.empty() && !paper_number(b.path))
    in.complain("path", fmt::format("the paper's tables have no number at {}",
                                    excerpt(fmt::format("{}", fmt::join(b.path, " / ")))));
  else if (column.empty() && !b.at && x.size() > 1)
    in.complain(
        "at", fmt::format("missing: the path is one number, the series has {} values of {}", x.size(), scope.x_name()));
  else if (!column.empty() && !x.empty() && std::none_of(column.begin(), column.end(), is_measured))
    in.complain("path", fmt::format("the paper has no number at any {} of the series", scope.x_name()));
}

/// One [[report.beside]].
BesidePaper bind_beside(Reader& in, const StudyScope& study) {
  BesidePaper b;
  b.series = in.text("series", {"", "the only one"}, "the series whose numbers they are");
  b.metric = in.text("metric", {"", "the report's y"}, "of the test data");
  b.path = in.texts("path", "path of the paper's column or number in its tables (data/paper_tables.json)");
  b.at = in.optional_real("at", {}, "x of the number; without it every x that the column has");
  const ClaimScope scope(study, b.series, b.metric, {}, {});
  if (!b.series.empty()) scope.check_series(in, "series", b.series);
  else if (study.series.size() > 1)
    in.complain("series", fmt::format("missing: the study has several series ({})",
                                      excerpt(fmt::format("{}", fmt::join(study.series, ", ")), 300)));
  scope.check_metric(in, "metric", b.metric);
  if (b.at) scope.check_x(in, "at", *b.at);
  check_path(in, b, scope);
  return b;
}

/// One [[report.lines]].
std::string bind_line(Reader& in, const StudyScope& study, const std::vector<std::string>& above) {
  std::string line =
      in.text("series", std::nullopt, "the first four are drawn together, the others get small panels below them");
  if (!line.empty()) ClaimScope(study, line, "", {}, {}).check_series(in, "series", line);
  if (std::find(above.begin(), above.end(), line) != above.end())
    in.complain("series", fmt::format("\"{}\" is drawn already", excerpt(line)));
  return line;
}

std::string take_series_keys(Reader& in) {
  const std::string name = in.text("name", std::nullopt, "name of the curve; claims call it by this");
  in.raw("task", "keys of [task] that differ");
  in.raw("model", "keys of [model] that differ");
  in.raw("train", "keys of [train] that differ");
  in.raw("sweep", "keys of [sweep] that differ");
  if (const Value* report = in.raw("report", "report.overlay, when it differs"))
    for (const Entry& entry : report->table)
      if (entry.key != "overlay")
        in.problems().add(entry.place, in.path("report") + "." + entry.key, "a series overrides only report.overlay");
  return name;
}

}  // namespace

void bind_info(Reader& in, const StudyScope& scope, const ReportScope& metrics, StudyInfo& head) {
  in.optional_table("study", "what the study is called", [&](Reader& study) { bind_study(study, head); });
  StudyScope study = scope;
  in.optional_table("report", "what is drawn", [&](Reader& report) {
    head.report = bind_report(report, metrics);
    bind_overlay(report);
    study.x_name = last_word(head.report.x_key);
    study.y_metric = head.report.y_metric;
    report.tables("lines", "the series that figures draw first if there are more than four",
                  [&](Reader& line) { head.report.lines.push_back(bind_line(line, study, head.report.lines)); });
    report.tables("beside", "numbers for the paper's tables, where no claim names them",
                  [&](Reader& beside) { head.report.beside.push_back(bind_beside(beside, study)); });
  });
  in.tables("claim", "what is judged",
            [&](Reader& claim) { head.claims.push_back(bind_claim(claim, study, head.claims)); });
  check_answer(in, head);
}

StudyInfo bind_info(const Value& root, const StudyScope& scope, const ReportScope& metrics, Complaints& problems) {
  StudyInfo head;
  Reader in(root, "", problems);
  for (const char* key : {"study", "report"})
    if (!in.has(key)) in.complain(key, "missing table");
  bind_info(in, scope, metrics, head);
  in.skip({"task", "model", "train", "sweep", "series", "profile"});
  in.finish();
  return head;
}

void describe_series(Reader& in) { take_series_keys(in); }

std::string read_series(const Value& series, const std::vector<std::string>& taken, Complaints& problems) {
  if (series.kind != Value::Kind::table) {
    problems.add(series.place, "series", "expected tables [[series]]");
    return "";
  }
  Reader in(series, "series", problems);
  const std::string name = take_series_keys(in);
  in.finish();
  constexpr size_t longest_name = 200;
  if (name.size() > longest_name) in.complain("name", fmt::format("expected at most {} bytes", longest_name));
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    in.complain("name", fmt::format("\"{}\" is taken", excerpt(name)));
  return name;
}

}  // namespace headroom::experiments
