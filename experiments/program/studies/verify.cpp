#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <memory>

#include "experiments/output/terminal_look.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/claims/verdict_file.h"
#include "experiments/studies/run/runner.h"

namespace headroom::experiments {
namespace {

struct VerifyArguments : StudyArguments {
  std::vector<std::string> files;
  bool json = false;
};

/// What the store says about the claims of one study; without a store, that nothing was run.
StoredVerdicts verdicts_of(const Study& study, const std::string& out, bool& without_store) {
  if (has_store(study, out)) {
    const StudyResults results = collect_results(study, out);
    note_unchecked(fmt::format("{} · {}", results.id, results.profile), results.unchecked);
    return stored(results, judge(results));
  }
  without_store = true;
  write_note(fmt::format("headroom: {} · {} has no run store under {}; run it first", study.head.id, study.run, out));
  StudyResults nothing;
  nothing.id = study.head.id;
  nothing.profile = study.run;
  return stored(nothing, not_judged(study.head.claims, "the study was not run"));
}

void verify(const VerifyArguments& arguments) {
  std::vector<StoredVerdicts> all;
  bool bad = false;
  for (const std::string& file : arguments.files)
    all.push_back(verdicts_of(load_study(file, arguments.profile, arguments.settings), arguments.out, bad));
  fmt::print("{}", arguments.json ? verdict_list_json(all)
                                  : verdict_table(all, static_cast<size_t>(look_of(STDOUT_FILENO).columns)));
  for (const StoredVerdicts& one : all)
    for (const StoredVerdict& verdict : one.verdicts) bad = bad || verdict.status == name(VerdictStatus::fail);
  if (bad) throw Exit{1};
}

}  // namespace

void add_verify_command(Command app) {
  const Command command = app.command("verify", "judge the claims of studies; exits 1 when one fails");
  const auto arguments = std::make_shared<VerifyArguments>();
  command.option("STUDY", arguments->files, "ids or files of studies").required();
  add_study_options(command, *arguments);
  command.flag("--json", arguments->json, "a JSON list of study, claim, verdict, measured and paper");
  command.action([arguments] { verify(*arguments); });
}

}  // namespace headroom::experiments
