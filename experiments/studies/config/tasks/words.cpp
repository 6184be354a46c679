#include "experiments/studies/config/tasks/words.h"

#include <fmt/format.h>

#include "experiments/output/number.h"

namespace headroom::experiments {

std::string task_value(const TaskJson& table, const char* key) {
  const auto found = table.is_object() ? table.find(key) : table.end();
  if (!table.is_object() || found == table.end()) return "?";
  if (found->is_string()) return found->get<std::string>();
  return found->is_number() ? exact(found->get<double>()) : found->dump();
}

double task_number(const TaskJson& table, const char* key, double otherwise) {
  const auto found = table.is_object() ? table.find(key) : table.end();
  return table.is_object() && found != table.end() && found->is_number() ? found->get<double>() : otherwise;
}

const TaskJson& task_part(const TaskJson& table, const char* key) {
  static const TaskJson nothing = TaskJson::object();
  const auto found = table.find(key);
  return found == table.end() || !found->is_object() ? nothing : *found;
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
