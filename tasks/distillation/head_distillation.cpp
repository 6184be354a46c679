#include "tasks/distillation/head_distillation.h"

#include <cmath>
#include <functional>

#include "autograd/ops.h"
#include "autograd/optim/optimizer.h"
#include "engine/error.h"
#include "engine/ops/concat/concat.h"
#include "tasks/data/locate.h"
#include "tasks/theory/low_rank_logits.h"

namespace headroom::tasks {
namespace {

using engine::DType;
using engine::Tensor;

struct NamedError {
  const char* name;
  double WeightErrors::*value;
};
constexpr NamedError errors_told[] = {{"mse", &WeightErrors::mse},
                                      {"late_rms", &WeightErrors::late_rms},
                                      {"late_frobenius", &WeightErrors::late_frobenius},
                                      {"early_share", &WeightErrors::early_share}};

/// The head that is imitated, with what it reads.
HeadSource source_of(const HeadDistillationConfig& config, const StudiedTextConfig& text = {}) {
  return {.model = config.model, .text = text, .layer = config.layer, .head = config.head};
}

/// The head's input for sequence `index` of a text: f32 (L, D), with biases plus a column of ones.
Tensor inputs_of(StudiedModel& model, const HeadDistillationConfig& config, const StudiedTextConfig& text,
                 int64_t index, bool has_biases) {
  const Tensor tokens =
      layer_inputs(model, source_of(config, text), config.length, static_cast<uint64_t>(index));  // (D, L)
  Tensor x = tokens.transpose(0, 1).to(DType::f32).contiguous();                                  // (L, D)
  return has_biases ? engine::concat({x, Tensor::full({config.length, 1}, 1)}, 1) : x;
}

std::vector<Tensor> weights_of(const StudentHead& head, const std::vector<Tensor>& inputs) {
  const autograd::NoGrad no_grad;
  std::vector<Tensor> out;
  for (const Tensor& x : inputs) out.push_back(head.weights(x).value());  // (L, L)
  return out;
}

/// Makes missing lessons: one at a time, and none twice while it is in use.
std::shared_ptr<const HeadLesson> shared_lesson(const std::string& key, const std::function<HeadLesson()>& make) {
  static std::mutex making;
  static std::map<std::string, std::weak_ptr<const HeadLesson>> known;
  const std::lock_guard lock(making);
  if (auto lesson = known[key].lock()) return lesson;
  auto lesson = std::make_shared<const HeadLesson>(make());
  known[key] = lesson;
  return lesson;
}

}  // namespace

void validate(const HeadDistillationConfig& config) {
  validate(config.model);
  validate(config.text);
  require(!config.held_out.empty(), "held_out: expected a path, or \"random\"");
  require(config.layer >= 0 && config.head >= 0, "layer, index: expected >= 0, got {} and {}", config.layer,
          config.head);
  require(config.rank >= 1, "rank: expected >= 1, got {}", config.rank);
  require(config.length >= 2, "length: expected >= 2, got {}", config.length);
  require(config.sequences >= 2 && config.sequences % 2 == 0,
          "sequences: expected an even number, half of each kind, got {}", config.sequences);
  require(config.steps >= 0, "steps: expected >= 0, got {}", config.steps);
  require(config.rate > 0, "rate: expected > 0, got {}", config.rate);
}

WeightErrors weight_errors(const std::vector<Tensor>& weights, const std::vector<Tensor>& wanted) {
  double all = 0, early = 0, late_queries = 0, pairs = 0;
  for (size_t s = 0; s < weights.size(); ++s) {
    const Tensor a = weights[s].contiguous(), b = wanted.at(s).contiguous();
    const int64_t length = a.dim(0);
    const auto *x = a.data<float>(), *y = b.data<float>();
    for (int64_t l = 1; l <= length; ++l, x += length, y += length) {
      double square = 0;
      for (int64_t j = 0; j < l; ++j) square += std::pow(static_cast<double>(x[j]) - static_cast<double>(y[j]), 2);
      all += square;
      pairs += static_cast<double>(l);
      if (static_cast<double>(l) < early_queries * static_cast<double>(length)) early += square;
      else late_queries += 1;
    }
  }
  const auto sequences = static_cast<double>(weights.size());
  return {.mse = all / pairs,
          .late_rms = std::sqrt((all - early) / late_queries),
          .late_frobenius = std::sqrt((all - early) / sequences),
          .early_share = all > 0 ? early / all : 0};
}

void train_student(const StudentHead& student, const HeadLesson& lesson, int64_t steps, double rate) {
  const auto optimizer =
      autograd::make_optimizer({.kind = "adam", .lr = rate}, autograd::ParameterArena(student.parameters()));
  for (int64_t step = 0; step < steps; ++step) {
    const size_t i = static_cast<size_t>(step) % lesson.inputs.size();
    optimizer->arena().zero_grad();
    const autograd::Var error = student.weights(lesson.inputs[i]) - autograd::Var(lesson.weights[i]);  // (L, L)
    const autograd::Var loss = autograd::sum(error * error) * (1.0 / static_cast<double>(error.dim(0)));
    loss.backward();
    require(std::isfinite(loss.value().item()), "the student head's loss is not finite at step {}", step);
    optimizer->step(rate);
  }
}

void HeadDistillation::check() const {
  const HeadMaps teacher = head_of_model(model(), source_of(config_));
  require(teacher.is_causal, "{}: its heads look ahead", config_.model.model);
  const int64_t window = models::window_of(model().description().config, config_.layer);
  require(window == 0 || config_.length <= window,
          "{}: layer {} sees {} tokens; expected a length of at most so many, got {}", config_.model.model,
          config_.layer, window, config_.length);
  const autograd::NoGrad no_grad;
  const StudentHead student(teacher, config_.form, config_.rank, {});
  model().span(config_.text, config_.length, 0);
  model().span({.text = config_.held_out}, config_.length, 0);
}

HeadLesson HeadDistillation::make_lesson(uint64_t seed) const {
  HeadLesson lesson;
  lesson.teacher = head_of_model(model(), source_of(config_));
  const auto first = static_cast<int64_t>(seed) * config_.sequences;
  const StudiedTextConfig random{.text = "random"}, other{.text = config_.held_out};
  // Sequence i in one of four parts; random tokens have another number in each.
  const auto read = [&](const StudiedTextConfig& text, int64_t i, int64_t part) {
    const int64_t index = text.text == "random" ? 4 * i + part : i;
    return inputs_of(model(), config_, text, index, lesson.teacher.has_biases);
  };
  for (int64_t i = first; i < first + config_.sequences / 2; ++i) {
    lesson.inputs.push_back(read(config_.text, i, 0));
    lesson.inputs.push_back(read(random, i, 1));
    lesson.held_out.push_back(read(other, i, 2));
    lesson.held_out.push_back(read(random, i, 3));
  }
  const StudentHead teacher(lesson.teacher);
  lesson.weights = weights_of(teacher, lesson.inputs);
  lesson.answers = weights_of(teacher, lesson.held_out);
  for (const Tensor& x : lesson.inputs)
    lesson.norm += spectral_norm(x.to(DType::f64)) / static_cast<double>(lesson.inputs.size());
  return lesson;
}

std::shared_ptr<const HeadLesson> HeadDistillation::lesson(uint64_t seed) const {
  const std::string key = fmt::format("{} {} {} {} {} {} {} {} {} {}", find_model(roots_, config_.model.model).string(),
                                      config_.model.is_random, config_.text.text, config_.text.spans, config_.held_out,
                                      config_.layer, config_.head, config_.length, config_.sequences, seed);
  auto lesson = shared_lesson(key, [&] { return make_lesson(seed); });
  const std::lock_guard lock(keeping_);
  kept_.push_back(lesson);
  return lesson;
}

Metrics HeadDistillation::compute(uint64_t seed) const {
  check();
  const auto of = lesson(seed);
  const StudentHead student(of->teacher, config_.form, config_.rank, of->inputs);
  Metrics metrics{{"norm", of->norm}};
  const auto tell = [&](const std::string& end) {
    const WeightErrors own = weight_errors(weights_of(student, of->inputs), of->weights);
    const WeightErrors held_out = weight_errors(weights_of(student, of->held_out), of->answers);
    for (const NamedError& error : errors_told) {
      metrics[error.name + end] = own.*error.value;
      metrics["held_out_" + std::string(error.name) + end] = held_out.*error.value;
    }
  };
  tell("_before");
  train_student(student, *of, config_.steps, config_.rate);
  tell("");
  return metrics;
}

std::map<std::string, std::string> HeadDistillation::data_hashes() const {
  std::map<std::string, std::string> hashes = model().hashes(config_.text);
  hashes.merge(model().hashes({.text = config_.held_out}));
  return hashes;
}

std::string HeadDistillation::describe() const {
  return fmt::format("{} student of dimension {} for head {} of layer {} of {}{}, {} sequences of {} tokens",
                     name_in(student_form_names, config_.form), config_.rank, config_.head, config_.layer,
                     config_.model.model, config_.model.is_random ? " with random weights" : "", config_.sequences,
                     config_.length);
}

std::vector<std::string> head_distillation_metrics() {
  std::vector<std::string> names{"norm"};
  for (const NamedError& error : errors_told)
    for (const char* begin : {"", "held_out_"})
      for (const char* end : {"", "_before"}) names.push_back(begin + std::string(error.name) + end);
  return names;
}

}  // namespace headroom::tasks
