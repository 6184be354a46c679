#include <fmt/core.h>

#include <algorithm>
#include <bit>

#include "experiments/studies/config/bind.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {
namespace {

constexpr engine::Device cuda{engine::Device::Kind::cuda, 0};
constexpr Bounds steps{.low = 0, .high = 1e12};

autograd::OptimizerConfig bind_optimizer(Reader& in, TrainConfig& train) {
  autograd::OptimizerConfig optimizer;
  optimizer.kind = in.word("kind", optimizer.kind, {"sgd", "adam", "adamw", "muon"}, "the update rule");
  const bool is_muon = optimizer.kind == "muon";
  optimizer.lr =
      in.real("lr", std::nullopt, above(0), "learning rate, muon: of the matrices; the schedule multiplies it");
  in.set("beta1", optimizer.beta1, fraction, "adam, adamw: decay of the first moment");
  in.set("beta2", optimizer.beta2, fraction, "adam, adamw: decay of the second moment");
  in.set("eps", optimizer.eps, above(0), "adam, adamw: added to the root of the second moment");
  in.set("weight_decay", optimizer.weight_decay, at_least(0), "adamw, muon: decoupled; others: added to the gradient");
  optimizer.momentum = in.real("momentum", {is_muon ? 0.95 : 0, "0.95 for muon, else 0"}, fraction, "sgd, muon");
  optimizer.nesterov = in.flag("nesterov", {is_muon, "true for muon"}, "sgd, muon");
  in.when(is_muon, "with kind = \"muon\"", [&] {
    optimizer.adamw_lr = in.real("adamw_lr", {optimizer.lr / 10, "lr / 10"}, above(0),
                                 "learning rate of all but matrices, and of the matrices at the ends");
    optimizer.adamw_matrices =
        in.texts("adamw_matrices",
                 "patterns of matrices that AdamW updates, too: in place of tokens.*, positions, input.*, readout.*");
  });
  train.decay = in.texts("decay", "patterns of parameters that decay besides the matrices: \"*.bias\"");
  train.no_decay = in.texts("no_decay", "patterns of parameters that do not decay: \"tokens.*\"");
  return optimizer;
}

/// Reads one table of train.schedule. A `warmup` next to another kind is a separate factor; a cosine falls from the end
/// of the warm-up to the last step by default.
void bind_schedule(Reader& in, int64_t train_steps, std::vector<autograd::ScheduleConfig>& factors) {
  autograd::ScheduleConfig factor;
  factor.kind =
      in.word("kind", std::nullopt, {"constant", "warmup", "cosine", "step", "inverse_sqrt", "reduce_on_plateau"},
              "factor on the learning rate; several tables multiply");
  const bool owns_warmup = factor.kind == "warmup" || factor.kind == "inverse_sqrt";
  const int64_t warmup = in.integer("warmup", 0, steps, "steps of linear rise from 0; beside any kind");
  if (warmup > train_steps)
    in.complain("warmup", fmt::format("{} is out of range: expected <= train.steps = {}", warmup, train_steps));
  if (owns_warmup && warmup == 0) in.complain("warmup", fmt::format("{} needs 1 step or more", factor.kind));
  if (owns_warmup) {
    factor.warmup = warmup;
  } else if (warmup > 0) {
    factors.push_back({.kind = "warmup", .warmup = warmup});
  }
  const bool is_cosine = factor.kind == "cosine";
  factor.start = in.integer("start", {is_cosine ? std::min(warmup, train_steps) : 0, "warmup"}, steps,
                            "cosine: first step of the fall");
  if (factor.start > train_steps)
    in.complain("start", fmt::format("{} is out of range: expected <= train.steps = {}", factor.start, train_steps));
  const int64_t rest = is_cosine ? std::max<int64_t>(1, train_steps - factor.start) : 0;
  factor.steps = in.integer("steps", {rest, "cosine: what is left; step: required"}, steps,
                            "cosine: length of the fall; step: steps between drops");
  if (factor.kind == "step" && factor.steps == 0) in.complain("steps", "expected the steps between drops, >= 1");
  if (is_cosine && factor.steps == 0) in.complain("steps", "0 is out of range: expected >= 1");
  in.set("final_factor", factor.final_factor, {.low = 0, .high = 1}, "cosine: where the factor ends");
  in.set("factor", factor.factor, {.low = 0, .high = 1, .low_open = true},
         "step, reduce_on_plateau: factor of each drop");
  in.set("patience", factor.patience, at_least(0), "reduce_on_plateau: evaluations without improvement");
  in.set("threshold", factor.threshold, at_least(0), "reduce_on_plateau: relative improvement that counts");
  factors.push_back(factor);
}

/// Reads keys added after the first studies.
void bind_start(Reader& in, TrainConfig& train) {
  in.set("start", train.start,
         {{"drawn", Start::drawn}, {"slopes", Start::slopes}, {"constructive", Start::constructive}},
         "the first weights: drawn by model.init, or the proof's ALiBi slopes, or all its weights, written over them");
  in.leave_out_default("start");
  in.optional_table(
      "steps_to", "metric steps_to: the first validation where a metric reaches a value", [&](Reader& steps_to) {
        train.steps_to.emplace();
        train.steps_to->metric = steps_to.text("metric", std::nullopt, "of the validation set");
        train.steps_to->value =
            steps_to.real("value", std::nullopt, {}, "value to reach; never: one more than the steps done");
      });
  in.leave_out_default("steps_to");
  if (train.steps_to && train.eval_every == 0) in.complain("steps_to", "expected an eval_every above 0");
}

/// Reads keys that change no number, and those of a device.
void bind_keeping(Reader& in, TrainConfig& train) {
  in.set("allow_emulation", train.allow_emulation, "bf16 even where the CPU does not have it");
  in.set("save_every", train.save_every, at_least(0), "seconds between checkpoints; 0: one before each step");
  in.set("keep_weights", train.keep_weights, "keep the judged weights as OUT/STUDY/PROFILE/weights/ID.safetensors");
  in.set("device", train.device, {{"cpu", engine::cpu}, {"cuda", cuda}}, "where models are trained");
  if (train.optimizer.kind == "muon" && !train.device.is_cpu())
    in.complain("device", "train.optimizer.kind = \"muon\" runs on the CPU only: it has no kernels for cuda yet");
  in.set("tf32", train.tf32, "cuda: f32 products on tensor cores, which read 10 bits of mantissa");
  if (!train.tf32) in.leave_out("tf32");
  for (const char* key : {"allow_emulation", "save_every", "keep_weights", "device"}) in.leave_out(key);
}

}  // namespace

TrainConfig bind_train(Reader& in) {
  TrainConfig train;
  train.steps = in.integer("steps", std::nullopt, {.low = 1, .high = 1e12}, "updates");
  train.batch = in.integer("batch", std::nullopt, count, "sequences per update");
  in.table("optimizer", "how weights are updated; lr is always needed",
           [&](Reader& optimizer) { train.optimizer = bind_optimizer(optimizer, train); });
  in.tables("schedule", "learning rate over time; constant without any",
            [&](Reader& schedule) { bind_schedule(schedule, train.steps, train.schedule); });
  if (train.schedule.empty()) train.schedule.emplace_back();  // constant
  in.set("clip", train.clip, at_least(0), "largest global gradient norm; 0: no clipping");
  in.set("eval_every", train.eval_every, at_least(0), "steps between validations; 0: only after the last step");
  in.set("eval_sequences", train.eval_sequences, count, "sequences of the validation set, and of the test set");
  in.set("judged", train.judged, {{"last", Judged::last}, {"best", Judged::best}},
         "the weights a trial is judged by: after the last step, or at the best validation");
  in.set("patience", train.patience, at_least(0),
         "validations in a row without a new best before training ends early; 0: it never does");
  bind_start(in, train);
  if (train.patience > 0 && train.eval_every == 0) in.complain("patience", "expected an eval_every above 0");
  in.set("accumulate", train.accumulate, count,
         "parts that a batch is cut into, to save memory; their gradients add up");
  if (train.accumulate > train.batch)
    in.complain("accumulate", fmt::format("{} is more than the batch of {}", train.accumulate, train.batch));
  in.set("parts", train.parts, count,
         "a power of two: parts of a batch that ranks can share (mpirun), their gradients added along one tree");
  if (train.parts == 1) in.leave_out("parts");
  if (!std::has_single_bit(static_cast<uint64_t>(train.parts)) || train.batch % train.parts != 0)
    in.complain("parts",
                fmt::format("{} is not a power of two that divides the batch of {}", train.parts, train.batch));
  if (train.parts > 1 && train.accumulate > 1) in.complain("accumulate", "expected 1 with train.parts above 1");
  in.set("log_every", train.log_every, at_least(0),
         "steps between training losses of the history; 0: about 100 of them");
  in.set("precision", train.precision, {{"f32", engine::Precision::f32}, {"bf16", engine::Precision::bf16}},
         "bf16: weights and activations, with f32 masters; on a CPU without AVX512-BF16 only operands of products");
  in.set("timed", train.timed,
         "time forward, backward and update, as metrics; trials then run one by one on all threads");
  if (train.timed && train.accumulate > 1) in.complain("accumulate", "is not timed: expected 1 with timed = true");
  if (train.timed && train.parts > 1) in.complain("parts", "is not timed: expected 1 with timed = true");
  if (train.timed && train.steps <= warm_up_steps)
    in.complain("steps", fmt::format("{} is too few with timed = true: the first {} are not counted", train.steps,
                                     warm_up_steps));
  bind_keeping(in, train);
  return train;
}

}  // namespace headroom::experiments
