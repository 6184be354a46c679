#include "experiments/studies/analysis/text_floor.h"

#include "experiments/studies/config/trial_facts.h"

namespace headroom::experiments {
namespace {

struct Floor {
  const char *kind, *source, *tokenizer, *loss;  ///< loss: of instructions
  double nats;
};

/// Counted once from the data, so that pages need none; text_floor_test counts again where the data are there.
constexpr Floor floors[] = {
    {"next-token", "tinyshakespeare", "char", "", 2.5},
    {"masked", "tinyshakespeare", "char", "", 3.12},
    {"next-token", "wikitext-2", "byte", "", 2.34},
    {"instructions", "code-and-math", "byte", "all", 2.63},
    {"instructions", "code-and-math", "byte", "response", 2.71},
};

}  // namespace

std::optional<double> text_floor(const TrialFacts& trial) {
  for (const Floor& floor : floors)
    if (trial.task == floor.kind && trial.source == floor.source && trial.tokenizer == floor.tokenizer &&
        trial.loss == floor.loss)
      return floor.nats;
  return std::nullopt;
}

}  // namespace headroom::experiments
