#include <fmt/core.h>

#include "experiments/config/bind.h"
#include "experiments/config/reader.h"

namespace headroom::experiments {
namespace {

using models::HeadGroup;
using models::TransformerConfig;

constexpr double most =
    1 << 24;  ///< of any width, count or length: what int64 products of four of them can hold is more
constexpr Bounds count{.low = 1, .high = most};

tasks::LinearFunctionalConfig bind_task(Reader& in) {
  tasks::LinearFunctionalConfig task;
  in.text("kind", std::nullopt);
  in.choice("kind", 0, {{"linear-functional", 0}});
  in.table("kernel", [&](Reader& kernel) {
    kernel.choice("kind", 0, {{"n-gram", 0}});
    task.kernel.n = kernel.integer("n", task.kernel.n, count);
  });
  task.token_dim = in.integer("token_dim", task.token_dim, count);
  task.length = in.integer("length", task.length, {.low = 2, .high = most});
  task.first_position = in.integer("first_position", task.first_position, {.low = 0, .high = most});
  task.input =
      in.choice("input", task.input, {{"normal", tasks::TokenInput::normal}, {"unit", tasks::TokenInput::unit}});
  if (task.first_position >= task.length)
    in.complain("first_position",
                fmt::format("{} is out of range: wants < task.length = {}", task.first_position, task.length));
  return task;
}

/// Equal heads from heads, head_dim, qk_dim, v_dim and kv_heads.
HeadGroup bind_heads(Reader& in, int64_t width) {
  HeadGroup group;
  group.heads = in.integer("heads", std::nullopt, count);
  const bool needs_head_dim = !in.has("head_dim") && !(in.has("qk_dim") && in.has("v_dim"));
  const bool divides = group.heads > 0 && width % group.heads == 0;
  if (needs_head_dim && in.has("heads") && !divides)
    in.complain("heads", fmt::format("{} does not divide model.width = {}: give head_dim", group.heads, width));
  const int64_t head_dim = in.integer("head_dim", divides ? width / group.heads : 1, count);
  group.qk_dim = in.integer("qk_dim", head_dim, count);
  group.v_dim = in.integer("v_dim", head_dim, count);
  group.kv_heads = in.integer("kv_heads", 0, {.low = 0, .high = most});
  if (group.kv_heads > 0 && group.heads % group.kv_heads != 0)
    in.complain("kv_heads", fmt::format("{} does not divide the {} heads", group.kv_heads, group.heads));
  return group;
}

HeadGroup bind_group(Reader& in) {
  HeadGroup group;
  group.heads = in.integer("heads", std::nullopt, count);
  group.qk_dim = in.integer("qk_dim", std::nullopt, count);
  group.v_dim = in.integer("v_dim", std::nullopt, count);
  group.kv_heads = in.integer("kv_heads", 0, {.low = 0, .high = most});
  if (group.kv_heads > 0 && group.heads % group.kv_heads != 0)
    in.complain("kv_heads", fmt::format("{} does not divide the {} heads", group.kv_heads, group.heads));
  return group;
}

models::Init bind_init(Reader& in) {
  using models::InitScheme;
  models::Init init;
  init.scheme = in.choice("scheme", init.scheme,
                          {{"torch_linear", InitScheme::torch_linear},
                           {"normal", InitScheme::normal},
                           {"xavier", InitScheme::xavier},
                           {"kaiming", InitScheme::kaiming},
                           {"gpt2", InitScheme::gpt2}});
  init.std = in.real("std", init.std, at_least(0));
  init.embedding_std = in.real("embedding_std", init.embedding_std, at_least(0));
  init.position_std = in.real("position_std", init.position_std, at_least(0));
  return init;
}

TransformerConfig bind_model(Reader& in) {
  using models::Activation, models::Norm, models::NormPlace, models::Positions;
  TransformerConfig model;
  const bool is_decoder = in.choice("kind", false, {{"encoder", false}, {"decoder", true}});
  model.layers = in.integer("layers", model.layers, count);
  model.width = in.integer("width", std::nullopt, count);
  if (in.has("groups")) {
    for (const char* key : {"heads", "head_dim", "qk_dim", "v_dim", "kv_heads"})
      if (in.raw(key)) in.complain(key, "is given beside model.groups, which has it per group");
    in.tables("groups", [&](Reader& group) { model.groups.push_back(bind_group(group)); });
    if (model.groups.empty()) in.complain("groups", "wants at least one table { heads, qk_dim, v_dim }");
  } else {
    model.groups = {bind_heads(in, model.width)};
    in.raw("groups");
  }
  model.causal = in.flag("causal", is_decoder);
  if (is_decoder && !model.causal) in.complain("causal", "a decoder is causal; for false use kind = \"encoder\"");
  model.positions = in.choice("positions", model.positions,
                              {{"none", Positions::none},
                               {"sinusoidal", Positions::sinusoidal},
                               {"learned", Positions::learned},
                               {"rope", Positions::rope},
                               {"alibi", Positions::alibi}});
  model.rope_base = in.real("rope_base", model.rope_base, above(1));
  model.alibi_slope_first = in.real("alibi_slope_first", model.alibi_slope_first, above(0));
  model.alibi_slope_last = in.real("alibi_slope_last", model.alibi_slope_last, above(0));
  model.norm = in.choice("norm", model.norm,
                         {{"none", Norm::none}, {"layer_norm", Norm::layer_norm}, {"rms_norm", Norm::rms_norm}});
  model.norm_place = in.choice("norm_place", model.norm_place, {{"pre", NormPlace::pre}, {"post", NormPlace::post}});
  model.final_norm = in.flag("final_norm", model.final_norm);
  model.norm_eps = in.real("norm_eps", model.norm_eps, above(0));
  model.ffn_width = in.integer("ffn_width", model.ffn_width, {.low = 0, .high = most});
  model.activation = in.choice("activation", model.activation,
                               {{"relu", Activation::relu},
                                {"gelu", Activation::gelu},
                                {"gelu_tanh", Activation::gelu_tanh},
                                {"swiglu", Activation::swiglu}});
  model.attention_bias = in.flag("attention_bias", model.attention_bias);
  model.ffn_bias = in.flag("ffn_bias", model.ffn_bias);
  model.dropout = in.real("dropout", model.dropout, fraction);
  if (in.has("logit_scale")) model.logit_scale = in.real("logit_scale", 1.0, above(0));
  else in.raw("logit_scale");
  model.checkpoint_blocks = in.flag("checkpoint_blocks", model.checkpoint_blocks);
  in.table("init", [&](Reader& init) { model.init = bind_init(init); });
  return model;
}

autograd::OptimizerConfig bind_optimizer(Reader& in) {
  autograd::OptimizerConfig optimizer;
  static const std::vector<std::pair<const char*, int>> kinds{{"sgd", 0}, {"adam", 1}, {"adamw", 2}};
  optimizer.kind = kinds[static_cast<size_t>(in.choice("kind", 2, kinds))].first;
  optimizer.lr = in.real("lr", std::nullopt, above(0));
  optimizer.beta1 = in.real("beta1", optimizer.beta1, fraction);
  optimizer.beta2 = in.real("beta2", optimizer.beta2, fraction);
  optimizer.eps = in.real("eps", optimizer.eps, above(0));
  optimizer.weight_decay = in.real("weight_decay", optimizer.weight_decay, at_least(0));
  optimizer.momentum = in.real("momentum", optimizer.momentum, fraction);
  optimizer.nesterov = in.flag("nesterov", optimizer.nesterov);
  return optimizer;
}

/// One table of train.schedule. A `warmup` beside another kind is a factor of its own, and a cosine falls from the end
/// of the warm-up to the last step unless told otherwise.
void bind_schedule(Reader& in, int64_t train_steps, std::vector<autograd::ScheduleConfig>& factors) {
  static const std::vector<std::pair<const char*, int>> kinds{
      {"constant", 0}, {"warmup", 1}, {"cosine", 2}, {"step", 3}, {"inverse_sqrt", 4}, {"reduce_on_plateau", 5}};
  autograd::ScheduleConfig factor;
  in.text("kind", std::nullopt);
  factor.kind = kinds[static_cast<size_t>(in.choice("kind", 0, kinds))].first;
  const bool owns_warmup = factor.kind == "warmup" || factor.kind == "inverse_sqrt";
  const double last = static_cast<double>(train_steps);
  const int64_t warmup = in.integer("warmup", owns_warmup ? std::nullopt : std::optional<int64_t>(0),
                                    {.low = owns_warmup ? 1.0 : 0.0, .high = last});
  if (owns_warmup) {
    factor.warmup = warmup;
  } else if (warmup > 0) {
    factors.push_back({.kind = "warmup", .warmup = warmup});
  }
  const bool is_cosine = factor.kind == "cosine";
  factor.start = in.integer("start", is_cosine ? warmup : 0, {.low = 0, .high = last});
  const int64_t rest = is_cosine ? std::max<int64_t>(1, train_steps - factor.start) : 0;
  factor.steps = in.integer("steps", factor.kind == "step" ? std::nullopt : std::optional<int64_t>(rest),
                            {.low = is_cosine || factor.kind == "step" ? 1.0 : 0.0, .high = 1e15});
  factor.final_factor = in.real("final_factor", factor.final_factor, {.low = 0, .high = 1});
  factor.factor = in.real("factor", factor.factor, {.low = 0, .high = 1, .low_open = true});
  factor.patience = in.integer("patience", factor.patience, at_least(0));
  factor.threshold = in.real("threshold", factor.threshold, at_least(0));
  factors.push_back(factor);
}

TrainConfig bind_train(Reader& in) {
  TrainConfig train;
  train.steps = in.integer("steps", std::nullopt, {.low = 1, .high = 1e12});
  train.batch = in.integer("batch", std::nullopt, count);
  in.table("optimizer", [&](Reader& optimizer) { train.optimizer = bind_optimizer(optimizer); });
  if (!in.has("optimizer")) in.complain("optimizer", "missing");
  in.tables("schedule", [&](Reader& schedule) { bind_schedule(schedule, train.steps, train.schedule); });
  if (train.schedule.empty()) train.schedule.emplace_back();  // constant
  train.clip = in.real("clip", train.clip, at_least(0));
  train.eval_every = in.integer("eval_every", train.eval_every, at_least(0));
  train.eval_sequences = in.integer("eval_sequences", train.eval_sequences, count);
  train.judged = in.choice("judged", train.judged, {{"last", Judged::last}, {"best", Judged::best}});
  return train;
}

}  // namespace

TrialConfig bind_trial(const Value& root, int64_t seed, Problems& problems) {
  TrialConfig config;
  config.seed = seed;
  Reader in(root, "", problems);
  for (const char* key : {"task", "model", "train"})
    if (!in.has(key)) in.complain(key, "missing table");
  in.table("task", [&](Reader& task) { config.task = bind_task(task); });
  in.table("model", [&](Reader& model) { config.model = bind_model(model); });
  in.table("train", [&](Reader& train) { config.train = bind_train(train); });
  if (!problems.empty()) return config;
  TransformerConfig model = config.model;  // with stand-ins for what the task decides
  (model.tied ? model.vocab : model.input_dim) = 1;
  model.output_dim = 1;
  try {
    models::validate(model);
  } catch (const Error& error) {
    in.complain("model", error.what());
  }
  return config;
}

}  // namespace headroom::experiments
