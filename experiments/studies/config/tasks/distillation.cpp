#include "experiments/studies/config/tasks/pretrained.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

/// A table of a stage that goes through sentences.
void bind_epochs(Reader& in, const char* name, const char* doc, tasks::StageSettings& stage) {
  in.table(name, doc, [&](Reader& of) {
    stage.epochs = of.integer("epochs", stage.epochs, {.low = 0, .high = most}, "times that it sees all sentences");
    stage.batch = of.integer("batch_size", stage.batch, count, "sentences in a step");
    stage.rate = of.real("rate", stage.rate, above(0), "AdamW's learning rate");
  });
}

tasks::TwoStageSource bind_two_stage_source(Reader& in) {
  tasks::TwoStageSource source;
  const auto file = [&](const char* key, const std::string& usual, const char* doc) {
    return beside_study(in, key, in.text(key, usual, doc));
  };
  source.model = file("model", "", "a GGUF file or a Hugging Face folder: a path, or a name below models/");
  source.text = file("text", source.text, "that stage I trains on: a path, or a name below a data folder");
  source.validation = file("validation", source.validation, "the text that stage I's losses are of");
  source.sentences = file("sentences", source.sentences, "labelled, tabs between columns: stage II trains on them");
  source.dev = file("dev", source.dev, "labelled sentences that accuracies are of");
  source.window = in.integer("window", source.window, count, "tokens that stage I is given at a time");
  source.validation_tokens =
      in.integer("validation_tokens", source.validation_tokens, count, "of the validation text, the first");
  source.validation_window = in.integer("validation_window", source.validation_window, count,
                                        "tokens that a loss on the validation text is given at a time");
  source.sentence_count =
      in.integer("sentence_count", source.sentence_count, {.low = 0, .high = most}, "drawn by the seed; 0: all");
  return source;
}

tasks::TaskConfig bind_head_distillation(Reader& in) {
  using tasks::StudentForm;
  tasks::HeadDistillationConfig task;
  task.model = bind_studied_model(in);
  const std::string text = task.text.text;
  task.text = bind_studied_text(in, text);
  task.held_out =
      in.text("held_out", task.held_out, "the text of sequences that are measured only; \"random\": tokens");
  task.held_out = beside_study(in, "held_out", task.held_out);
  task.layer = in.integer("layer", task.layer, {.low = 0}, "of the teacher head");
  task.head = in.integer("index", task.head, {.low = 0}, "its number in the layer");
  task.form =
      in.choice("form", task.form,
                {{"factored", StudentForm::factored}, {"pairs", StudentForm::pairs}, {"mixed", StudentForm::mixed}},
                "the student: W = L R that turns in all d_H coordinates, some of the teacher's rotary pairs, or "
                "singular vectors that turn by frequencies of their own");
  task.rank = in.integer("rank", task.rank, count, "its dimension, d_h");
  task.length = in.integer("length", task.length, {.low = 2, .high = most}, "tokens of a sequence, L");
  task.sequences = in.integer("sequences", task.sequences, {.low = 2, .high = most},
                              "to train on, and as many held out: half spans of the text, half random tokens");
  task.steps = in.integer("steps", task.steps, {.low = 0, .high = most}, "of Adam, one sequence each");
  task.rate = in.real("rate", task.rate, above(0), "Adam's learning rate");
  in.attempt("sequences", [&] { tasks::validate(task); });
  return task;
}

tasks::TaskConfig bind_two_stage(Reader& in) {
  using tasks::TwoStageRow;
  tasks::TwoStageConfig task;
  task.source = bind_two_stage_source(in);
  task.row =
      in.choice("row", task.row,
                {{"compressed", TwoStageRow::compressed},
                 {"teacher", TwoStageRow::teacher},
                 {"head-only", TwoStageRow::head_only}},
                "the classifier that is measured: of factored heads, the whole model fine-tuned, or the whole model "
                "with a readout that alone is trained");
  task.layers =
      in.text("layers", task.layers, "whose heads become factors: all, odd, deepest:4, random:4, or as 0-5,7");
  task.rank = in.integer("rank", task.rank, count, "of each head's factors, d_h");
  task.init = in.choice("init", task.init, {{"svd", tasks::FactorInit::svd}, {"kaiming", tasks::FactorInit::kaiming}},
                        "how the factors start");
  task.has_stage_one = in.flag("stage_one", task.has_stage_one, "false: factors are not refined on the text");
  task.has_stage_two = in.flag("stage_two", task.has_stage_two, "false: nothing learns the task");
  bind_epochs(in, "teacher", "fine-tuning of the whole model", task.teacher);
  in.table("one", "stage I", [&](Reader& of) {
    task.one.steps = of.integer("steps", task.one.steps, {.low = 0, .high = most}, "of AdamW");
    task.one.batch = of.integer("batch_size", task.one.batch, count, "windows in a step");
    task.one.rate = of.real("rate", task.one.rate, above(0), "AdamW's learning rate");
  });
  bind_epochs(in, "two", "stage II", task.two);
  in.attempt("rank", [&] { tasks::validate(task); });
  return task;
}

TaskWords head_distillation_words(const TaskJson&) {
  return {
      "One head of a trained model is the teacher; a narrower head is trained to do the same "
      "on the same text."};
}

TaskWords two_stage_words(const TaskJson&) {
  return {
      "The heads of some layers of a trained model are made narrower, then trained to do what they "
      "did, then with the whole model."};
}

}  // namespace

const TaskKind head_distillation_task{"head-distillation", bind_head_distillation, head_distillation_words};
const TaskKind two_stage_task{"two-stage", bind_two_stage, two_stage_words};

}  // namespace headroom::experiments
