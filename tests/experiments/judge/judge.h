#pragma once
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "experiments/studies/analysis/analysis.h"
#include "experiments/studies/toml/document.h"
#include "experiments/studies/words/verdict_words.h"
#include "experiments/tools/judge/judged.h"
#include "experiments/tools/judge/readers/readers.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::testing {

/// Files of runs and of claims in a folder of their own, read and judged as the command does.
class Judging {
 public:
  explicit Judging(const std::string& claims) { write_bytes(folder / "claims.toml", claims); }
  void add(const std::string& name, const std::string& text) {
    write_bytes(folder / name, text);
    paths.push_back((folder / name).string());
  }
  std::vector<experiments::Verdict> verdicts() {
    using namespace experiments;
    const Value file = read_toml((folder / "claims.toml").string());
    RunRoles roles = read_roles(file);
    runs = read_runs(paths, roles);
    guess_roles(roles, runs.runs, false);
    judged = judged_runs(runs, roles);
    judged.results.claims = read_claims(file, judged.results);
    return analyse(judged.results).verdicts();
  }
  /// Whether a note of the readers or on the runs has these words.
  bool says(const std::string& words) const {
    const auto has = [&](const std::string& note) { return note.find(words) != std::string::npos; };
    return std::any_of(runs.problems.begin(), runs.problems.end(), has) ||
           std::any_of(judged.notes.begin(), judged.notes.end(), has);
  }

  TemporaryFolder folder;
  std::vector<std::string> paths;
  experiments::ForeignRuns runs;
  experiments::JudgedRuns judged;
};

/// The runs in a file of that name with these bytes.
inline experiments::ForeignRuns read_as(const std::string& name, const std::string& bytes) {
  const TemporaryFolder folder;
  write_bytes(folder / name, bytes);
  return experiments::read_runs({(folder / name).string()}, {});
}

/// A file or folder of data/.
inline std::string data_file(const std::string& name) {
  return (std::filesystem::path(source_root()) / "tests/experiments/judge/data" / name).string();
}

inline const std::string muon_claim =
    "[[claim]]\nkind = \"less_than\"\nseries = \"muon\"\nthan = { series = \"adamw\" }\n";
inline const std::string tuned_runs =
    "[runs]\nmetric = \"test_loss\"\nchoose = \"val_loss\"\nseries = \"optimizer\"\nrate = \"lr\"\n";
inline const std::string one_rate = "single_rate = \"it was tuned before\"\n";

/// A row a run of two optimizers at three rates with five seeds; at the middle rate muon is 0.05 below adamw, in each
/// pair of a seed to 0.002.
inline std::string two_optimizers(const std::string& seed_of_muon = "") {
  std::string text = "optimizer,lr,seed,val_loss,test_loss\n";
  for (const bool is_muon : {false, true})
    for (const int rate : {1, 2, 3})
      for (int seed = 0; seed < 5; ++seed) {
        const double shared = 0.02 * (seed - 2), own = is_muon ? 0.001 * (seed % 3) - 0.05 : 0;
        const double loss = 2.3 + shared + own + (rate == 2 ? 0 : 0.1);
        text += std::string(is_muon ? "muon" : "adamw") + ",0.00" + std::to_string(rate) + "," +
                (is_muon ? seed_of_muon : "") + std::to_string(seed) + "," + std::to_string(loss + 0.01) + "," +
                std::to_string(loss) + "\n";
      }
  return text;
}

}  // namespace headroom::testing
