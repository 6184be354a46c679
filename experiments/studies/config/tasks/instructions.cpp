#include "tasks/language/instructions.h"

#include "engine/error.h"

#include "experiments/studies/config/tasks/corpus.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::TaskConfig bind_instructions(Reader& in) {
  using tasks::InstructionLoss, tasks::PromptTemplate;
  tasks::InstructionsConfig task;
  task.source = word_or_file(
      in, "source", in.text("source", task.source, "\"markov\", \"code-and-math\", or a JSON file in Alpaca's format"));
  task.markov = bind_markov(in, task.markov);
  task.tokenizer = word_or_file(in, "tokenizer",
                                in.text("tokenizer", task.tokenizer, "\"char\", \"byte\", or the path of a tokenizer"));
  task.prompt = in.choice("prompt", task.prompt, {{"alpaca", PromptTemplate::alpaca}, {"brief", PromptTemplate::brief}},
                          "Stanford Alpaca's text, or \"Q: ... A: \" for short contexts");
  task.loss = in.choice("loss", task.loss, {{"response", InstructionLoss::response}, {"all", InstructionLoss::all}},
                        "the tokens that are trained on and judged by; both are measured");
  task.length = in.integer("length", task.length, {.low = 2, .high = most}, "tokens of context, L");
  task.validation = in.real("validation", task.validation, {.low = 0, .high = 1, .low_open = true, .high_open = true},
                            "share of the items");
  task.test = in.real("test", task.test, fraction, "share of the items; 0: tested on validation");
  task.split_seed =
      in.integer("split_seed", task.split_seed, {.low = 0, .high = most}, "decides which items are where");
  refuse_empty(in, {"source", "tokenizer"});
  if (!task.source.empty()) in.attempt("source", [&] { validate(task); });
  return task;
}

TaskWords instructions_words(const TaskJson& task) {
  return {fmt::format("The model has to continue prompts with their answers, token by token: {}, {} tokens of context; "
                      "the loss is taken over {}.",
                      task_value(task, "source"), task_value(task, "length"),
                      task_value(task, "loss") == "all" ? "prompt and answer" : "the answer"),
          "“Instruction: add 2 and 3. Response:” → “5”"};
}

}  // namespace

const TaskKind instructions_task{"instructions", bind_instructions, instructions_words};

}  // namespace headroom::experiments
