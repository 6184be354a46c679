#pragma once
#include <string>
#include <vector>

#include "experiments/program/models/model_arguments.h"

namespace headroom::experiments {

/// What `eval --choices` takes beside the model.
struct ChoiceArguments {
  std::string file, form, label = "label";
  std::vector<std::string> answers;
  int64_t max_items = 0;
};

/// --choices, --template, --answer, --label and --max-items.
void add_choice_options(Command command, ChoiceArguments& arguments);

/// How often the model finds the right choice likeliest, printed. Throws Error for what is wrong with files and items.
void eval_choices(const ModelArguments& model, const ChoiceArguments& arguments, bool as_json);

}  // namespace headroom::experiments
