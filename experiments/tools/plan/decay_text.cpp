#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "experiments/output/number.h"
#include "experiments/tools/plan/decay.h"
#include "models/files/mapped_file.h"
#include "tasks/theory/decay_estimate.h"

namespace headroom::experiments {
namespace {

/// Of the kinds in a text, as many as keep the equations few enough to solve at once.
int64_t kinds_for(int64_t lags) {
  constexpr int64_t most_equations = 1600, most_kinds = 64;
  return std::clamp<int64_t>(most_equations / (lags + 1), 2, most_kinds);
}

}  // namespace

Decay decay_of_text(const std::string& file, int64_t terms) {
  require(terms >= 1 && terms <= 256, "--terms: expected 1 to 256 lags of a text, got {}", terms);
  models::MappedFile text;
  tasks::DecayEstimate found;
  try {
    text = models::MappedFile(file);
  } catch (const Error& error) {
    fail("--from-text: {}", error.what());
  }
  try {
    found = tasks::estimate_decay(text.text(), terms, kinds_for(terms));
  } catch (const Error& error) {
    fail("--from-text: {}: {}", file, error.what());
  }
  Decay decay;
  decay.norms = std::move(found.norms);
  decay.is_estimated = true;
  decay.token_dim = found.symbols;
  decay.source = fmt::format(
      "{}: least squares over {} bytes, {} kinds (the token's width without --token-dim), explains {:.0f} %, noise {}",
      file, text.size(), found.symbols, 100 * found.explained, rounded(found.noise));
  require(std::any_of(decay.norms.begin(), decay.norms.end(), [](double norm) { return norm > 0; }),
          "--from-text: {}: no lag 1..{} helps to predict the next byte", file, terms);
  return decay;
}

}  // namespace headroom::experiments
