#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "experiments/claims/bind_claim.h"
#include "experiments/config/bind.h"
#include "experiments/toml/reader.h"

namespace headroom::experiments {
namespace {

void bind_study(Reader& in, StudyHead& head) {
  head.id = in.text("id", std::nullopt, "name of the study's folder under runs/");
  head.title = in.text("title", {head.id, "the id"}, "headline of the report");
  head.paper = in.text("paper", "", "what of the paper it repeats");
  const bool is_name = std::all_of(head.id.begin(), head.id.end(),
                                   [](unsigned char c) { return std::isalnum(c) || c == '-' || c == '_'; });
  if (in.has("id") && (head.id.empty() || !is_name))
    in.complain("id", fmt::format("wants letters, digits, - and _ (it names a folder), got \"{}\"", head.id));
}

}  // namespace

void bind_head(Reader& in, const std::vector<std::string>& series, const std::string& folder, StudyHead& head) {
  in.optional_table("study", "what the study is called", [&](Reader& study) { bind_study(study, head); });
  in.optional_table("report", "what is drawn", [&](Reader& report) {
    head.report = bind_report(report);
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
