#include <fmt/format.h>

#include <random>
#include <set>
#include <utility>

#include "engine/error.h"
#include "models/files/json.h"
#include "tasks/measure/choice_items.h"

namespace headroom::tasks {
namespace {

using nlohmann::json;

/// A text of the task, or its usual value.
std::string text_of(const json& task, const char* key, const char* usual) {
  const auto found = task.find(key);
  if (found == task.end()) return usual;
  require(found->is_string(), "{}: {} is no text", key, models::shown(*found));
  return found->get<std::string>();
}

/// As Python takes a value for true: some tasks say "false", which is a text.
bool is_true(const json& task, const char* key, bool usual) {
  const auto found = task.find(key);
  if (found == task.end()) return usual;
  if (found->is_boolean()) return found->get<bool>();
  if (found->is_number()) return found->get<double>() != 0;
  return !found->empty() && !(found->is_string() && found->get_ref<const std::string&>().empty());
}

/// Choices as numpy.random.RandomState(42).permutation shows them: MT19937, from the last place to the first, each
/// drawn number masked to the least power of two and drawn again while it is too large.
std::vector<std::string> permuted(std::vector<std::string> choices) {
  std::mt19937 random(42);
  for (size_t i = choices.size() - 1; i > 0; --i) {
    uint32_t mask = 1;
    while (mask < i) mask = 2 * mask + 1;
    size_t j = i + 1;
    while (j > i) j = static_cast<uint32_t>(random()) & mask;
    std::swap(choices[i], choices[j]);
  }
  return choices;
}

/// The frame of a task's prompts.
struct Frame {
  std::string before, input, output, choice;
  bool lists_choices;

  explicit Frame(const json& task)
      : before(text_of(task, "task_prefix", "")),
        input(text_of(task, "example_input_prefix", "\nQ: ")),
        output(text_of(task, "example_output_prefix", "\nA: ")),
        choice(text_of(task, "choice_prefix", "\n  choice: ")),
        lists_choices(is_true(task, "append_choices_to_input", true)) {}

  std::string prompt(const std::string& question, const std::vector<std::string>& choices) const {
    std::string text = before + input + question;
    if (lists_choices)
      for (const std::string& one : permuted(choices)) text += choice + one;
    return text + output;
  }
};

/// The example's item; false where several choices are the best.
bool read_example(const json& example, const Frame& frame, ChoiceItem& item) {
  const auto question = example.find("input"), scores = example.find("target_scores");
  require(question != example.end() && question->is_string(), "expected a text \"input\"");
  require(scores != example.end() && scores->is_object() && scores->size() >= 2,
          "expected \"target_scores\" of two or more choices: only tasks of multiple choice can be read");
  double best = -INFINITY;
  int best_choices = 0;
  for (const auto& [choice, score] : scores->items()) {
    require(score.is_number() && !choice.empty(), "target_scores: {} is no number", models::shown(score));
    const double value = score.get<double>();
    best_choices = value > best ? 1 : best_choices + (value == best ? 1 : 0);
    if (value > best) best = value, item.answer = std::ssize(item.choices);
    item.choices.push_back(choice);
  }
  item.prompt = frame.prompt(question->get<std::string>(), item.choices);
  return best_choices == 1;
}

}  // namespace

ChoiceFile read_big_bench(const std::filesystem::path& path) {
  const json task = models::read_json(path);
  const auto examples = task.is_object() ? task.find("examples") : task.end();
  require(examples != task.end() && examples->is_array(),
          "{}: holds no \"examples\"; a BIG-bench task of several has a task.json in each folder", path.string());
  const Frame frame = [&] {
    try {
      return Frame(task);
    } catch (const Error& error) {
      throw error.in(path.string());
    }
  }();
  ChoiceFile file;
  std::set<std::string> seen;
  for (size_t i = 0; i < examples->size(); ++i) {
    const json& example = (*examples)[i];
    ChoiceItem item;
    item.place = fmt::format("{}, example {}", path.string(), i + 1);
    try {
      require(example.is_object(), "expected an object with input and target_scores, got {}", models::shown(example));
      const bool is_new = seen.insert(example.dump()).second;
      if (read_example(example, frame, item) && is_new) file.items.push_back(std::move(item));
      else ++file.left_out;
    } catch (const Error& error) {
      throw error.in(item.place);
    }
  }
  require(!file.items.empty(), "{}: holds no item", path.string());
  return file;
}

}  // namespace headroom::tasks
