#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "experiments/studies/analysis/head_choice.h"

namespace headroom::experiments {

/// One number of heads with what some curves say of it.
struct HeadAdvice {
  int64_t width = 0, heads = 0, head_dim = 0;
  std::vector<const HeadChoice*> curves;  ///< what it rests on
  size_t good = 0, open = 0, worse = 0;   ///< on how many curves it is shown to be good, neither, or worse
  size_t unlearned = 0;                   ///< on how many of them some seed did not learn with it
  double times = 1;                       ///< the error over the best of its curve, at least 1 each: geometric mean
};

/// Numbers of heads that at least half of some curves of one width tried, the one to take first: that which is shown to
/// be worse, or failed to learn, on the smallest share of its curves; of several, that which is nearest to the best on
/// average; of those, the fewest heads.
std::vector<HeadAdvice> ranked_heads(const std::vector<const HeadChoice*>& curves);

/// The answer of guide and `headroom plan` for one task at a width, of the task's curves at any: the first of
/// ranked_heads(), over all position schemes, or of the scheme `positions` alone ("learned") where the former is shown
/// to be worse on at least half of that scheme's curves. Without heads where nothing was measured at that width.
HeadAdvice head_advice(const std::vector<const HeadChoice*>& task, int64_t width, const std::string& positions = "");

/// The scheme of a curve's positions without what is said of it: "alibi" of "alibi without scores".
std::string scheme_of(const HeadChoice& choice);
/// The schemes of some curves, in order, and their widths.
std::vector<std::string> schemes_of(const std::vector<const HeadChoice*>& curves);
std::vector<int64_t> widths_of(const std::vector<const HeadChoice*>& curves);

/// The width of heads that most published decoders of width D have, among the divisors of D: near 64 up to D = 2048
/// (the config.json of GPT-2, SmolLM2, Llama 3.2 1B), near 128 above (Llama 3 8B, Mistral 7B, Qwen2.5 7B).
int64_t usual_head_dim(int64_t width);

/// "64 up to a model width of 2048 and 128 above".
std::string usual_head_dims_text();

/// The factor between two widths: 1 or more.
double factor_between(int64_t a, int64_t b);

}  // namespace headroom::experiments
