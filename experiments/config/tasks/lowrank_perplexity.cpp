#include "experiments/config/tasks/pretrained.h"
#include "experiments/config/tasks/registry.h"

namespace headroom::experiments {

tasks::TaskConfig bind_lowrank_perplexity(Reader& in) {
  tasks::LowRankConfig task;
  task.model = bind_studied_model(in);
  task.text.text = beside_study(in, "text", in.text("text", task.text.text, "whose first tokens are predicted"));
  task.tokens = in.integer("tokens", task.tokens, {.low = 2, .high = most}, "so many of them");
  task.context = in.integer("context", task.context, {.low = 2, .high = most},
                            "tokens that the model sees at once: chunks of so many, the protocol \"disjoint\"");
  std::vector<std::string> qk = tasks::qk_method_names(), vo = tasks::vo_method_names();
  qk.insert(qk.begin(), "none"), vo.insert(vo.begin(), "none");
  task.qk = tasks::qk_method_named(in.word("qk", "plain", qk, "how queries and keys are made smaller"));
  task.vo = tasks::vo_method_named(in.word("vo", "none", vo, "how values are made smaller"));
  task.rank = in.integer("rank", task.rank, count, "of every key-value head of the layers");
  task.layers =
      in.text("layers", task.layers,
              "\"all\", \"odd\", \"deepest:4\", \"random:4\" (drawn by the seed), numbers and ranges \"0-5,7\", or "
              "\"each\": every layer alone, in turn");
  task.refinement =
      in.choice("refine", task.refinement, {{"none", tasks::Refinement::none}, {"weights", tasks::Refinement::weights}},
                "what is done to the factors: 150 steps of AdamW at 2e-4 on the weights' squared error");
  in.optional_table("calibration", "what methods that read activations are made from", [&](Reader& own) {
    task.calibration_text.text = beside_study(
        own, "text", own.text("text", task.calibration_text.text, "a path, or a name below a data folder"));
    task.calibration.begin = own.integer("from", task.calibration.begin, {.low = 0}, "its first token");
    task.calibration.end = own.integer("to", task.calibration.end, count, "the token behind its last");
  });
  in.attempt("layers", [&] { tasks::validate(task); });
  return task;
}

}  // namespace headroom::experiments
