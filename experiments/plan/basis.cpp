#include "experiments/plan/basis.h"

#include "experiments/claims/number.h"

namespace headroom::experiments {

const std::vector<std::pair<std::string, std::string>>& basis_words() {
  static const std::vector<std::pair<std::string, std::string>> words{
      {"theorem", "proved, and checked against independent computations"},
      {"heuristic",
       "rests on 1.3 e^(0.02 m)/H, whose lemma is false: H heads cannot fetch a lag ≥ H at all (error 1), "
       "and from H = lag + 1 on only rounding and training limit them"},
      {"fit",
       "estimated from a text or a trained model's attention, or scaled to what a study measured; as good as its R²"},
      {"guess", "a plausible model that nothing proves: how rounding adds up, what a fused attention keeps"},
      {"count", "arithmetic on the model's shapes"},
      {"lower bound", "a roofline: no program on this machine is faster, most are slower"},
      {"measured", "on this machine, just now"},
      {"data sheet", "what the maker says"}};
  return words;
}

std::string basis_text(size_t columns) {
  Cells rows;
  for (const auto& [word, meaning] : basis_words()) rows.push_back({"  " + word, meaning});
  return "basis\n" + aligned(rows, columns);
}

}  // namespace headroom::experiments
