#include "tasks/theory/constructive/constructive_task.h"

#include "experiments/studies/config/tasks/registry.h"

namespace headroom::experiments {
namespace {

tasks::Mended bind_mended(Reader& in) {
  tasks::Mended mended;
  in.set("zero_front", mended.zero_front, "zero tokens in front of the sequence");
  in.set("looks_back", mended.looks_back, "softmax over earlier keys, not over later queries");
  in.set("own_rows", mended.own_rows, "what is fetched has rows beside the token's");
  in.set("whole_normaliser", mended.whole_normaliser, "values undo the whole normaliser of softmax");
  in.set("interpolation", mended.interpolation, "coefficients by interpolation, not by the lemma's slow rates");
  return mended;
}

tasks::TaskConfig bind_constructive(Reader& in) {
  using engine::DType, models::Activation;
  tasks::ConstructiveConfig task;
  in.set("variant", task.kind, tasks::construction_names,
         "heads for each lag, as the proof has it; with a leak into the residual; shared by all lags");
  in.set("token_dim", task.token_dim, count, "numbers per token, d");
  in.set("heads", task.heads, count, "heads that serve a lag");
  task.head_dim = in.integer("head_dim", {task.token_dim, "token_dim"}, count, "width of a head, at most token_dim");
  in.set("split", task.split, "narrow heads of a lag read different rows of the token");
  in.set("first_lag", task.first_lag, count, "the target sums the tokens from this lag on");
  in.set("lags", task.lags, count, "number of tokens that the target sums, n");
  task.scale = in.real("scale", {task.scale, "the best for the dtype"}, {.low = 0, .high = 1, .high_open = true},
                       "about the largest node e^-rate of the exponential sums; 0: the best");
  in.table("mended", "which slips of the proof are mended", [&](Reader& m) { task.mended = bind_mended(m); });
  in.set("dtype", task.dtype, {{"f64", DType::f64}, {"f32", DType::f32}}, "of the weights");
  in.set("activation", task.activation,
         {{"relu", Activation::relu},
          {"gelu", Activation::gelu},
          {"gelu_tanh", Activation::gelu_tanh},
          {"silu", Activation::silu}},
         "of the linear network: act(x) - act(-x) = x");
  in.set("sequences", task.sequences, count, "random inputs");
  in.set("length", task.length, count, "tokens of each");
  in.attempt("kind", [&] {
    tasks::validate(task);
    tasks::plan_construction(tasks::construction_of(task));
  });
  return task;
}

}  // namespace

const TaskKind constructive_task{
    "constructive-transformer", bind_constructive,
    always("The weights that the proof of Theorem 1 writes down are loaded into a Transformer, and its largest error "
           "over random sequences is measured. Nothing is trained.")};

}  // namespace headroom::experiments
