#include "experiments/studies/config/tasks/pretrained.h"
#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

using tasks::Refinement;

void bind_training(Reader& in, tasks::LowRankConfig& task) {
  tasks::RefineConfig& training = task.training;
  in.set("steps", training.steps, count, "of Adam");
  in.set("batch_size", training.batch, count, "windows of a step");
  in.set("context", training.context, {.low = 2, .high = most}, "tokens of a window");
  in.set("rate", training.lr, {.low = 0, .high = 1, .low_open = true},
         "its largest learning rate, which falls along a cosine");
  in.set("warmup", training.warmup, count, "steps until it is reached");
  set_file(in, "text", task.refinement_text.text, "a path, or a name below a data folder");
  in.set("from", task.refinement_tokens.begin, {.low = 0}, "its first token");
  in.set("to", task.refinement_tokens.end, count, "the token after its last, at most the text's");
}

void bind_method(Reader& in, tasks::LowRankConfig& task) {
  std::vector<std::string> qk = tasks::qk_method_names(), vo = tasks::vo_method_names(),
                           parts = tasks::removed_part_names();
  for (auto* names : {&qk, &vo, &parts}) names->insert(names->begin(), "none");
  const std::string part =
      in.word("remove", "none", parts,
              "pieces to take out whole, so that rank / width of them stay: with ranks = \"measured\" those that lose "
              "least, else drawn by the seed");
  in.leave_out_default("remove");
  if (part != "none") task.removed = tasks::removed_part_named(part), task.qk = tasks::QkMethod::none;
  in.when(part == "heads" || part == "kv-heads", "with remove = heads or kv-heads", [&] {
    task.refits_output =
        in.flag("refit", task.refits_output,
                "the output matrix of the heads that stay is fitted, in least squares, to what all gave");
    in.leave_out_default("refit");
  });
  in.when(!task.removed, "without remove", [&] {
    task.qk = tasks::qk_method_named(in.word("qk", "plain", qk, "how queries and keys are made smaller"));
    task.vo = tasks::vo_method_named(in.word("vo", "none", vo, "how values are made smaller"));
  });
}

tasks::TaskConfig bind_lowrank_perplexity(Reader& in) {
  tasks::LowRankConfig task;
  task.model = bind_studied_model(in);
  set_file(in, "text", task.text.text, "whose first tokens are predicted");
  in.set("tokens", task.tokens, {.low = 2, .high = most}, "how many of them");
  in.set("context", task.context, {.low = 2, .high = most},
         "tokens that the model sees at once: the text is cut into chunks of so many");
  in.set("protocol", task.protocol,
         {{"disjoint", tasks::PerplexityProtocol::disjoint}, {"llamacpp", tasks::PerplexityProtocol::llamacpp}},
         "which tokens of a chunk are scored: all but its first, or the second half, which sees at least half of "
         "the context");
  in.leave_out_default("protocol");
  bind_method(in, task);
  in.set("rank", task.rank, count, "of every key-value head of the layers; where pieces are removed, the mean");
  in.set("layers", task.layers,
         "\"all\", \"odd\", \"deepest:4\", \"random:4\" (drawn by the seed), numbers and ranges \"0-5,7\", or "
         "\"each\": every layer alone, in turn");
  in.set("ranks", task.spread, {{"equal", tasks::RankSpread::equal}, {"measured", tasks::RankSpread::measured}},
         "the same in all heads, or the same sum, spent where the heads' measured losses are least");
  in.leave_out_default("ranks");
  in.set("refine", task.refinement,
         {{"none", Refinement::none},
          {"weights", Refinement::weights},
          {"attention", Refinement::attention},
          {"hidden", Refinement::hidden},
          {"logits", Refinement::logits}},
         "what the factors are trained towards: with weights 150 steps of AdamW at 2e-4 on their "
         "squared error, as the paper does");
  const bool trains = task.refinement != Refinement::none && task.refinement != Refinement::weights;
  in.when(trains, "with refine = attention, hidden or logits", [&] {
    in.optional_table("refinement", "how they are trained", [&](Reader& own) { bind_training(own, task); });
  });
  in.optional_table("calibration", "the text for methods that read activations", [&](Reader& own) {
    set_file(own, "text", task.calibration_text.text, "a path, or a name below a data folder");
    own.set("from", task.calibration.begin, {.low = 0}, "its first token");
    own.set("to", task.calibration.end, count, "the token after its last");
  });
  return checked(in, "layers", task);
}

}  // namespace

const TaskKind lowrank_perplexity_task{"lowrank-perplexity", bind_lowrank_perplexity,
                                       always("The heads of some layers of a trained model are given narrower queries "
                                              "and keys, and the model's perplexity on held-out text is measured.")};

}  // namespace headroom::experiments
