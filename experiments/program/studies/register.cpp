#include <fmt/format.h>

#include <ctime>
#include <filesystem>
#include <memory>

#include "engine/error.h"
#include "experiments/output/file.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/studies/study_arguments.h"
#include "experiments/studies/config/seal.h"
#include "experiments/studies/config/shipped_files.h"
#include "experiments/studies/run/runner.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/words/verdict_words.h"
#include "experiments/tools/judge/judged.h"
#include "experiments/version.h"

namespace headroom::experiments {
namespace {

struct RegisterArguments : StudyArguments {
  std::string file;
  bool force = false;
};

/// Writes the seal and says what it proves, and what had begun before.
void seal_as(const std::filesystem::path& file, const std::string& config, StudyResults results, bool force) {
  std::error_code none;
  require(force || !std::filesystem::exists(file, none), "{}: sealed already; --force seals anew, with today's date",
          file.string());
  if (file.has_parent_path()) make_folder(file.parent_path());  // a study's, before its first run
  const std::string hash = write_claim_seal(file, {std::time(nullptr), version_text(), config});
  apply_seal(file, config, results);
  print_text(
      "{}\nsealed   {}\nSHA-256  {}\nReports will compare it with what they judge. The date is this machine's: "
      "publish the SHA-256 to prove it.\n",
      seal_lines(results).front(), file.string(), hash);
}

void seal_claims(const RegisterArguments& a) {
  const std::string file = study_file(a.file).string();
  if (const Value root = read_toml(file); root.find("runs")) {
    require(a.profile.empty() && a.settings.empty(), "{}: claims on runs have no profiles and no settings", file);
    read_roles(root);
    return seal_as(seal_beside(file), to_toml(root), {}, a.force);
  }
  const Study study = load_study(a.file, profile_of(a, a.file), a.settings);
  require(!study.head.claims.empty(), "{}: holds no [[claim]]", a.file);
  StudyResults results = has_store(study, a.out) ? collect_results(study, a.out) : planned_results(study);
  seal_as(seal_in(study_folder(study, a.out)), study.resolved, std::move(results), a.force);
}

}  // namespace

void add_register_command(Command app) {
  const auto a = std::make_shared<RegisterArguments>();
  const Command command = app.command("register", "seal claims before the first trial; reports say what changed");
  command.option("STUDY|CLAIMS", a->file, "id or file of a study, or a claims file of judge").required();
  add_study_options(command, *a);
  command.flag("--force", a->force, "replace an earlier seal");
  command.action([a] { seal_claims(*a); });
}

}  // namespace headroom::experiments
