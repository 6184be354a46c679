#include "experiments/studies/config/tasks/words.h"

#include <fmt/format.h>

#include "experiments/output/number.h"

namespace headroom::experiments {

std::string task_value(const TaskJson& table, const char* key) {
  if (!table.contains(key)) return "?";
  const TaskJson& value = table[key];
  if (value.is_string()) return value.get<std::string>();
  return value.is_number() ? exact(value.get<double>()) : value.dump();
}

double task_number(const TaskJson& table, const char* key, double otherwise) {
  return table.contains(key) && table[key].is_number() ? table[key].get<double>() : otherwise;
}

const TaskJson& task_part(const TaskJson& table, const char* key) {
  static const TaskJson nothing = TaskJson::object();
  return table.contains(key) && table[key].is_object() ? table[key] : nothing;
}

std::string token_words(const TaskJson& task) {
  return fmt::format("Tokens are vectors of {} {}, {} to a sequence.", task_value(task, "token_dim"),
                     task_value(task, "input") == "unit" ? "random numbers of norm 1" : "independent N(0, 1) numbers",
                     task_value(task, "length"));
}

std::string scored_words(const TaskJson& task) {
  const double first = task_number(task, "first_position", 0);
  return first > 0 ? fmt::format(" Scored from position {} on, counted from 0.", exact(first)) : "";
}

}  // namespace headroom::experiments
