#pragma once
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace headroom::experiments {

/// What a task asks of a model, or a formula computes, for somebody who has not read the paper; plain text.
struct TaskWords {
  std::string words;      ///< whole sentences
  std::string example{};  ///< "x = 2, -1, 3, 1, then y = 2 - 1 + 3 + 1 = 5"; "" for a formula that has none
};

/// A trial's resolved [task]. What is missing is left out of its words: it may come from a store of another version.
using TaskJson = nlohmann::ordered_json;

/// A resolved key as text: "8", "normal"; "?" where it is missing.
std::string task_value(const TaskJson& table, const char* key);
double task_number(const TaskJson& table, const char* key, double otherwise);
/// A table in the table; an empty one where it is missing.
const TaskJson& task_part(const TaskJson& table, const char* key);

/// The sentence on tokens that are random vectors, and the one on the first position that is scored ("" from 0 on).
std::string token_words(const TaskJson& task);
std::string scored_words(const TaskJson& task);

/// An example of a weighted sum of earlier tokens, from the weights of lags 1, 2, …; "" without weights.
std::string weighted_example(const std::vector<double>& weights);

}  // namespace headroom::experiments
