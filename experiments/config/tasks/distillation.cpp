#include "experiments/config/tasks/pretrained.h"
#include "experiments/config/tasks/registry.h"

namespace headroom::experiments {

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

}  // namespace headroom::experiments
