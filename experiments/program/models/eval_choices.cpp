#include "experiments/program/models/eval_choices.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "experiments/program/command_line/progress_line.h"
#include "experiments/program/command_line/standard_streams.h"
#include "tasks/data/locate.h"
#include "tasks/measure/choice_scores.h"

namespace headroom::experiments {
namespace {

/// A template as it stands on a command line: \n, \t and \\ are written out.
std::string unescaped(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const char next = text[i] == '\\' && i + 1 < text.size() ? text[i + 1] : '\0';
    if (next != 'n' && next != 't' && next != '\\') {
      out += text[i];
      continue;
    }
    out += next == 'n' ? '\n' : next == 't' ? '\t' : '\\';
    ++i;
  }
  return out;
}

std::vector<tasks::ChoiceItem> items_of(const ChoiceArguments& arguments) {
  const bool is_table = !arguments.form.empty();
  if (!is_table && !arguments.answers.empty())
    throw UsageError("--answer goes with --template, which says what a row of the table becomes");
  std::vector<tasks::ChoiceItem> items;
  if (is_table) {
    tasks::ChoiceTable table{unescaped(arguments.form), {}, arguments.label};
    for (const std::string& answer : arguments.answers) table.answers.push_back(unescaped(answer));
    items = tasks::read_choice_table(arguments.file, table);
  } else {
    items = tasks::read_choice_lines(arguments.file);
  }
  if (arguments.max_items > 0 && items.size() > static_cast<size_t>(arguments.max_items))
    items.resize(static_cast<size_t>(arguments.max_items));
  return items;
}

nlohmann::ordered_json json_of(const tasks::ChoiceScores& s) {
  return {{"items", s.items},
          {"accuracy", s.accuracy},
          {"stderr", s.stderr_accuracy},
          {"accuracy_per_byte", s.accuracy_per_byte},
          {"stderr_per_byte", s.stderr_per_byte},
          {"log_loss", s.log_loss},
          {"stderr_log_loss", s.stderr_log_loss},
          {"commonest", s.commonest},
          {"chance", s.chance},
          {"picked", s.picked}};
}

void print(const tasks::ChoiceScores& s) {
  fmt::print("{} items\n", s.items);
  fmt::print("accuracy            {:.4f}  ± {:.4f}\n", s.accuracy, s.stderr_accuracy);
  fmt::print("accuracy per byte   {:.4f}  ± {:.4f}\n", s.accuracy_per_byte, s.stderr_per_byte);
  fmt::print("log loss            {:.4f}  ± {:.4f}\n", s.log_loss, s.stderr_log_loss);
  fmt::print("commonest answer    {:.4f}\n", s.commonest);
  fmt::print("guessing            {:.4f}\n", s.chance);
}

}  // namespace

void add_choice_options(Command command, ChoiceArguments& arguments) {
  command
      .option("--choices", arguments.file,
              "in place of a text: items to choose an answer of by log p, one JSON object a line (prompt, choices, "
              "answer), or with --template a table with tabs")
      .path_by(tasks::named_text)
      .value_name("FILE");
  command
      .option("--template", arguments.form,
              "what a row of the table becomes, with its columns in braces: \"{content}\\nSentiment:\"")
      .value_name("TEXT");
  command
      .option("--answer", arguments.answers,
              "an answer of the table's rows; give two or more, in the order of the labels")
      .value_name("TEXT")
      .one_value_each();
  command.option("--label", arguments.label, "the table's column with the number of the right answer, from 0")
      .value_name("COLUMN")
      .show_default();
  command.option("--max-items", arguments.max_items, "only the first N items").value_name("N");
}

void eval_choices(const ModelArguments& arguments, const ChoiceArguments& choices, bool as_json) {
  const std::vector<tasks::ChoiceItem> items = items_of(choices);
  const auto files = models::ModelFiles::open(arguments.path);
  const models::ModelDescription& description = files->description();
  const auto tokenizer = files->tokenizer();
  const auto model = arguments.load(*files);
  const tasks::ChoiceOptions options{.context = description.longest_text(), .bos = description.text_begin()};
  tasks::ChoiceScores scores;
  {
    ProgressLine line;
    scores = tasks::measure_choices(*model, *tokenizer, items, options, [&](int64_t done, double accuracy) {
      line.show(fmt::format("{}/{} items  accuracy {:.4f}", done, items.size(), accuracy),
                static_cast<double>(done) / static_cast<double>(items.size()));
    });
  }
  if (as_json) print_json(json_of(scores));
  else print(scores);
}

}  // namespace headroom::experiments
