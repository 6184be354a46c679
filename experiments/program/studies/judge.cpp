#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/output/number.h"
#include "experiments/output/terminal_look.h"
#include "experiments/output/wrap.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/config/seal.h"
#include "experiments/studies/pages/report.h"
#include "experiments/studies/pages/verdict_file.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/words/verdict_words.h"
#include "experiments/tools/judge/judge_output.h"
#include "experiments/tools/judge/judged.h"
#include "experiments/tools/judge/looks_kept.h"
#include "experiments/tools/judge/readers/readers.h"

namespace headroom::experiments {
namespace {

struct JudgeArguments {
  std::vector<std::string> runs;
  std::string claims, write, junit, html;
  bool is_json = false, is_verbose = false, force = false, anytime = false, no_record = false;
};

/// Exit statuses besides 0: all claims hold.
constexpr int some_fail = 1, some_open = 3;

std::string notes_text(const std::vector<std::string>& notes) {
  std::string text;
  for (const std::string& note : notes) text += wrapped("- " + note, output_columns(), 2) + "\n";
  return text.empty() ? text : text + "\n";
}

void print_verdicts(const Analysis& results, const std::vector<std::string>& notes, bool is_verbose) {
  TerminalLook look = look_of(STDOUT_FILENO);
  look.is_verbose = is_verbose;
  print_text("{}", notes_text(notes));
  write_output(terminal_table(results, look));
  std::vector<std::string> weaknesses;
  for (const Verdict& v : results.verdicts())
    for (const std::string& note : v.notes)
      if (const std::string text = claim_name(v.claim) + ": " + note;
          is_verbose || note.find("unpaired") != std::string::npos)
        weaknesses.push_back(text);
  print_text("{}", weaknesses.empty() ? "" : "\n" + notes_text(weaknesses));
}

void judge(const JudgeArguments& arguments) {
  const bool has_file = !arguments.claims.empty();
  RunRoles roles;
  Value claims_file;
  if (has_file) roles = read_roles(claims_file = read_toml(arguments.claims));
  const bool has_claims = claims_file.find("claim") != nullptr;
  const char* const needs = has_file ? "a [[claim]] in the file of --claims" : "--claims";
  for (const auto& [option, value] : {std::pair{"--junit", &arguments.junit}, {"--html", &arguments.html}})
    require(has_claims || value->empty(), "{}: needs {}", option, needs);
  require(has_claims || !arguments.anytime, "--anytime: needs {}", needs);
  require(!arguments.anytime || roles.looks == 1, "--anytime: {} plans looks = {}; expected one of them",
          arguments.claims, roles.looks);
  roles.anytime |= arguments.anytime;
  const ForeignRuns runs = read_runs(arguments.runs, roles);
  guess_roles(roles, runs.runs, !has_file);
  require(!runs.runs.empty(), "no runs: {}",
          runs.problems.empty() ? "no file that any reader knows" : runs.problems.front());
  require(!roles.metric.empty(), "no column looks like a metric; --claims FILE names it: [runs] metric = \"…\"");
  JudgedRuns judged = judged_runs(runs, roles);
  std::vector<std::string> notes{judged.summary + "."};
  notes.insert(notes.end(), runs.problems.begin(), runs.problems.end());
  notes.insert(notes.end(), judged.notes.begin(), judged.notes.end());
  if (!arguments.write.empty()) write_file(arguments.write, first_claims(roles, judged.results));
  if (!has_claims) {
    if (arguments.is_json) {
      nlohmann::ordered_json json{{"runs", runs.runs.size()}, {"notes", notes}, {"metric", roles.metric},
                                  {"series", roles.series},   {"x", roles.x},   {"seed", roles.seed},
                                  {"rate", roles.rate}};
      return print_json(json);
    }
    return print_text("{}{}", notes_text(notes), inventory(runs, roles, judged, output_columns()));
  }
  judged.results.claims = read_claims(claims_file, judged.results);
  judged.results.id = std::filesystem::path(arguments.claims).stem().string();
  require(!judged.results.claims.empty(), "{}: holds no [[claim]]", arguments.claims);
  judged.results.resolved_config = to_toml(claims_file);
  apply_seal(seal_beside(arguments.claims), judged.results.resolved_config, judged.results);
  const CountedLook look =
      count_look(looks_beside(arguments.claims), runs, roles, !arguments.no_record, judged.results);
  notes.insert(notes.end(), look.notes.begin(), look.notes.end());
  const Analysis results = analyse(std::move(judged.results));
  const std::vector<Verdict>& verdicts = results.verdicts();
  if (arguments.is_json) {
    auto json = verdict_tree(results);
    json["look"] = look.number;
    json["shares"] = results.looks.shares;
    json["runs"] = {{"read", runs.runs.size()}, {"judged", results.trials.size()}, {"notes", notes}};
    print_json(json);
  } else {
    print_verdicts(results, notes, arguments.is_verbose);
  }
  if (!arguments.junit.empty()) write_file(arguments.junit, junit_xml(results.id, verdicts, notes));
  if (!arguments.html.empty()) write_file(arguments.html, judge_page(results, notes, command_as_given()));
  const auto is = [](VerdictStatus status) { return [status](const Verdict& v) { return v.status == status; }; };
  if (std::any_of(verdicts.begin(), verdicts.end(), is(VerdictStatus::fail))) throw Exit{some_fail};
  if (!std::all_of(verdicts.begin(), verdicts.end(), is(VerdictStatus::pass))) throw Exit{some_open};
}

}  // namespace

void add_judge_command(Command app) {
  const auto a = std::make_shared<JudgeArguments>();
  const Command command = app.command("judge", "judge claims on runs that other programs made");
  command
      .option("RUNS", a->runs,
              "files or folders: CSV, TSV, JSON, TensorBoard, W&B, MLflow, Optuna, lm-evaluation-harness, our stores")
      .required();
  command.option("--claims FILE", a->claims,
                 "TOML with the roles of columns ([runs]) and the claims ([[claim]]); without it: what is there, and "
                 "what these runs could decide");
  command.option("--write FILE", a->write, "also write a claims file to start from").output();
  command.flag("--json", a->is_json, "verdicts as one JSON object");
  command.option("--junit FILE", a->junit, "also write the verdicts as JUnit XML").output();
  command.option("--html FILE", a->html, "also write the verdicts, a figure and what was left out as a page").output();
  command.flag("--anytime", a->anytime, "p-values that hold however often claims are judged while runs come in");
  command.flag("--no-record", a->no_record, "do not count this look in the file next to --claims, NAME.looks");
  add_verbose_flag(command, a->is_verbose);
  command.flag("--force", a->force, "replace what --write, --junit and --html name");
  command.action([a] { judge(*a); });
}

}  // namespace headroom::experiments
