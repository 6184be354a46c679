#include "experiments/studies/config/tasks/pretrained.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

/// A table of a stage that goes through sentences.
void bind_epochs(Reader& in, const char* name, const char* doc, tasks::StageSettings& stage) {
  in.table(name, doc, [&](Reader& of) {
    of.set("epochs", stage.epochs, {.low = 0, .high = most}, "times that it sees all sentences");
    of.set("batch_size", stage.batch, count, "sentences in a step");
    of.set("rate", stage.rate, above(0), "AdamW's learning rate");
  });
}

tasks::TwoStageSource bind_two_stage_source(Reader& in) {
  tasks::TwoStageSource source;
  set_file(in, "model", source.model, "a GGUF file or a Hugging Face folder: a path, or a name below models/");
  set_file(in, "text", source.text, "that stage I trains on: a path, or a name below a data folder");
  set_file(in, "validation", source.validation, "text for stage I's losses");
  set_file(in, "sentences", source.sentences, "labelled sentences for stage II, with tabs between columns");
  set_file(in, "dev", source.dev, "labelled sentences for accuracies");
  in.set("window", source.window, count, "tokens that stage I is given at a time");
  in.set("validation_tokens", source.validation_tokens, count, "first tokens of the validation text");
  in.set("validation_window", source.validation_window, count,
         "tokens that a loss on the validation text is given at a time");
  in.set("sentence_count", source.sentence_count, {.low = 0, .high = most}, "drawn by the seed; 0: all");
  return source;
}

tasks::TaskConfig bind_head_distillation(Reader& in) {
  tasks::HeadDistillationConfig task;
  task.model = bind_studied_model(in);
  task.text = bind_studied_text(in, task.text);
  set_file(in, "held_out", task.held_out, "text of the sequences only measured; \"random\": random tokens");
  in.set("layer", task.layer, {.low = 0}, "of the teacher head");
  in.set("index", task.head, {.low = 0}, "its number in the layer");
  in.set("form", task.form, tasks::student_form_names,
         "the student: W = L R that turns in all d_H coordinates, some of the teacher's rotary pairs, or "
         "singular vectors that turn by frequencies of their own");
  in.set("rank", task.rank, count, "its dimension, d_h");
  in.set("length", task.length, {.low = 2, .high = most}, "tokens of a sequence, L");
  in.set("sequences", task.sequences, {.low = 2, .high = most},
         "to train on, and as many held out: half spans of the text, half random tokens");
  in.set("steps", task.steps, {.low = 0, .high = most}, "of Adam, one sequence each");
  in.set("rate", task.rate, above(0), "Adam's learning rate");
  return checked(in, "sequences", task);
}

tasks::TaskConfig bind_two_stage(Reader& in) {
  tasks::TwoStageConfig task;
  task.source = bind_two_stage_source(in);
  in.set("row", task.row, tasks::two_stage_row_names,
         "the classifier to measure: with factored heads, the whole model fine-tuned, or the whole model with "
         "only its readout trained");
  in.set("layers", task.layers, "whose heads become factors: all, odd, deepest:4, random:4, or as 0-5,7");
  in.set("rank", task.rank, count, "of each head's factors, d_h");
  in.set("init", task.init, tasks::factor_init_names, "how the factors start");
  in.set("stage_one", task.has_stage_one, "false: factors are not refined on the text");
  in.set("stage_two", task.has_stage_two, "false: nothing learns the task");
  bind_epochs(in, "teacher", "fine-tuning of the whole model", task.teacher);
  in.table("one", "stage I", [&](Reader& of) {
    of.set("steps", task.one.steps, {.low = 0, .high = most}, "of AdamW");
    of.set("batch_size", task.one.batch, count, "windows in a step");
    of.set("rate", task.one.rate, above(0), "AdamW's learning rate");
  });
  bind_epochs(in, "two", "stage II", task.two);
  return checked(in, "rank", task);
}

}  // namespace

const TaskKind head_distillation_task{
    "head-distillation", bind_head_distillation,
    always("One head of a trained model is the teacher; a narrower head is trained to do the same on the same text.")};
const TaskKind two_stage_task{"two-stage", bind_two_stage,
                              always("The heads of some layers of a trained model are made narrower, then trained to "
                                     "do what they did, then with the whole model.")};

}  // namespace headroom::experiments
