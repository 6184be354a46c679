#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "models/checkpoints/model_files.h"
#include "tasks/data/locate.h"

namespace headroom::experiments {

/// How much a target needs each lag: ‖ρ_1‖, ‖ρ_2‖, …, and where the numbers come from.
struct Decay {
  std::vector<double> norms;
  std::string source;  ///< "given", "exponential α = 0.5", "text.txt: …"
  bool is_estimated = false;
  int64_t token_dim = 0;  ///< of the tokens that an estimate is about; 0: not known
  std::string series;     ///< of the study that it was taken from
};

/// What an option's text has between its commas, or other characters `at`: one part at least.
std::vector<std::string> parts_of_list(const std::string& text, char at);

/// A decay from the command line: norms ("1,1,0.5") or a kernel of tasks/kernel.h with its parameter
/// ("exponential:0.5", "polynomial:1.5", "n-gram:4", "delta:20", "airy:8"), whose first `terms` values are taken.
/// Throws Error naming --decay, the term and what is wanted.
Decay parse_decay(const std::string& text, int64_t terms);

/// The ranks of lags 1, 2, … from the command line: "8,6,4,2"; none for an empty text. Throws Error naming --ranks.
std::vector<int64_t> parse_ranks(const std::string& text);

/// From a text, byte by byte: tasks::estimate_decay() over lags 1..terms. Throws Error naming --from-text.
Decay decay_of_text(const std::string& file, int64_t terms);

class StudyRun;

/// From a run: how many heads' worth of attention the trained model with the smallest validation error gives to each
/// lag, in units of the largest: as its trial recorded it (the 4-gram's do) or, of a causal model whose weights were
/// kept, measured now over `terms` lags. A study of a linear functional that has neither gives the target's own norms.
/// Throws Error naming --from-study where a run has none of these.
Decay decay_of_study(const StudyRun& run, int64_t terms, const tasks::DataRoots& roots);

/// From a trained model: how many heads' worth of attention all its layers give to each lag from 1 to `terms` (at most
/// half its context), a mean over the queries of up to 16 windows of max(64, 2·terms) of the tokens, in units of the
/// largest. `cut` says how they became tokens. Throws Error naming --text where the tokens fill no window.
Decay decay_of_model(const models::ModelFiles& files, const models::Transformer& model,
                     const std::vector<int32_t>& tokens, const std::string& cut, int64_t terms);

/// Throws Error naming --decay unless every norm is finite and >= 0, and one is above 0.
void check_norms(const std::vector<double>& norms);

}  // namespace headroom::experiments
