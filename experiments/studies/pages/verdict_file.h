#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "experiments/studies/analysis/analysis.h"

namespace headroom::experiments {

/// A verdict as a study's folder keeps it, for those who have the folder but not the study's file.
struct StoredVerdict {
  std::string claim;  ///< claim_name()
  ClaimSource source = ClaimSource::ours;
  std::string says;    ///< the claim in words; "" where the study has none
  std::string status;  ///< pass | fail | undecided | not run
  double measured = Verdict::none;
  std::optional<double> paper;  ///< the paper's number
  std::string summary, sentence;
  std::vector<std::pair<PaperPath, double>> beside;  ///< our numbers for those in the paper's tables
  std::string model{};  ///< that its series ran on: "SmolLM2-135M-Instruct.Q4_1" of a file; "" where it trained its own
  std::string tests{};  ///< id of the paper's sentence that the claim tests
};

/// One of our numbers for the paper's tables that no claim speaks of.
struct StoredBeside {
  PaperPath path;
  double value = 0;
  std::string model;
};

/// All verdicts of one study under one profile.
struct StoredVerdicts {
  std::string study, profile;
  std::vector<StoredVerdict> verdicts;
  std::vector<StoredBeside> beside{};
};

/// What is kept of a study's verdicts.
StoredVerdicts stored(const Analysis& results);

/// Every claim with its fields, status, numbers and words.
nlohmann::ordered_json verdict_tree(const Analysis& results);
/// The same as the text of verdicts.json.
std::string verdicts_json(const Analysis& results);

/// Reads OUT/STUDY/PROFILE/verdicts.json of every study under `out`, ordered by (study, profile). A study that was
/// never reported is not among them. Throws Error naming a file that is no such JSON.
std::vector<StoredVerdicts> read_verdicts(const std::filesystem::path& out);

/// One line per claim, in columns: study, claim, verdict, measured, p, the paper's number.
std::string verdict_table(const std::vector<StoredVerdicts>& all, size_t columns = 0);

/// `[{"study", "claim", "source", "verdict", "measured", "paper"}]`: `source` is "paper", "theorem" or "ours";
/// `measured` is a number, or null when the claim is not run; `paper` the paper's number, without one its words, null
/// for a claim that is not the paper's. "sentence" is there where the claim tests one of paper_sentences().
std::string verdict_list_json(const std::vector<StoredVerdicts>& all);

}  // namespace headroom::experiments
