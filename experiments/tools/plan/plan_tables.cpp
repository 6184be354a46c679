#include "experiments/tools/plan/plan_tables.h"

#include "experiments/output/number.h"

namespace headroom::experiments {

std::string tables_text(const std::vector<PlanTable>& tables, size_t columns) {
  std::string out;
  for (const PlanTable& table : tables)
    out += "\n" + (table.heading.empty() ? "" : table.heading + "\n") + aligned(table.cells, columns);
  return out;
}

std::vector<std::pair<std::string, std::string>> basis_words(bool has_allocation) {
  std::vector<std::pair<std::string, std::string>> words;
  if (has_allocation)
    words = {{"theorem", "proved, and checked against independent computations"},
             {"heuristic",
              "rests on 1.3 e^(0.02 m)/H, whose lemma is false: H heads cannot fetch a lag ≥ H at all (error 1), "
              "and from H = lag + 1 on only rounding and training limit them"},
             {"fit",
              "estimated from a text or a trained model's attention, or scaled to what a study measured; as good as "
              "its R²"}};
  words.insert(words.end(),
               {{"guess", "a plausible model that nothing proves: how rounding adds up, what a fused attention keeps"},
                {"count", "arithmetic on the model's shapes"},
                {"lower bound", "a roofline: no program is faster at the machine's speed, given below the times"},
                {"measured", "on this machine, just now, beside whatever else it does"},
                {"data sheet", "what the maker says"}});
  return words;
}

std::string basis_text(bool has_allocation, size_t columns) {
  Cells rows;
  for (const auto& [word, meaning] : basis_words(has_allocation)) rows.push_back({"  " + word, meaning});
  return "basis\n" + aligned(rows, columns);
}

}  // namespace headroom::experiments
