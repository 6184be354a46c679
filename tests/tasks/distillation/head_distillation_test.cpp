// A smaller head that is trained to give a larger one's attention weights.
#include "tasks/distillation/head_distillation.h"

#include <cmath>

#include "engine/parallel.h"
#include "tasks/measure/head_source.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"

namespace headroom::tasks {
namespace {

using engine::Tensor;
using testing::contains;
using testing::distance;
using testing::error_of;

std::string checkpoint(const char* name) {
  return testing::source_root() + "/tests/models/pretrained/checkpoints/" + name;
}

HeadDistillationConfig small_config(const char* name, StudentForm form, int64_t rank) {
  HeadDistillationConfig config;
  config.model.model = checkpoint(name);
  config.text.text = config.held_out = "random";
  config.layer = 1;
  config.head = 1;
  config.form = form;
  config.rank = rank;
  config.length = 12;
  config.sequences = 4;
  config.steps = 40;
  config.rate = 1e-2;
  return config;
}

/// The head of a config, and what it reads of random sequence 3.
struct Head {
  HeadMaps maps;
  Tensor x;        // (L, D)
  Tensor weights;  // (L, L): the model's own
  explicit Head(const char* name, int64_t layer = 1, int64_t length = 12) {
    StudiedModel model({.model = checkpoint(name)}, {});
    HeadSource source;
    source.text.text = "random";
    source.layer = layer, source.head = 1;
    maps = head_of_model(model, source);
    const Tensor tokens = layer_inputs(model, source, length, 3);  // (D, L)
    x = tokens.transpose(0, 1).to(engine::DType::f32).contiguous();
    std::vector<Tensor> all;
    const autograd::NoGrad no_grad;
    const std::vector<int64_t> span = model.span(source.text, length, 3);
    model.transformer().forward(Tensor::from({1, length}, span), {.probabilities = &all});
    weights = all.at(static_cast<size_t>(layer)).slice(1, 1, 2).reshape({length, length});  // of (B, H, T, T)
  }
};

}  // namespace

TEST_CASE("a student of full dimension is its teacher, which is the model's own head", "[distillation]") {
  const std::vector<Head> heads{Head("llama3.1"), Head("llama2-gqa.gguf"), Head("smollm2"),
                                Head("qwen3"),    Head("gemma3", 2),       Head("gemma3", 1, 5)};  // 1: of windows of 5
  for (const Head& head : heads) {
    CHECK(distance(StudentHead(head.maps).weights(head.x).value(), head.weights) < 2e-6);
    const int64_t dim = head.maps.wq.dim(0);
    for (const StudentForm form : {StudentForm::factored, StudentForm::pairs})
      CHECK(distance(StudentHead(head.maps, form, dim, {head.x}).weights(head.x).value(), head.weights) < 1e-5);
    CHECK(distance(StudentHead(head.maps, StudentForm::factored, 2, {head.x}).weights(head.x).value(), head.weights) >
          1e-4);
  }
  // Without a turn the truncated product is one head of width r, however it is written.
  Head head("llama3.1");
  head.maps.rope_base.reset();
  for (const int64_t rank : {1, 3}) {
    const Tensor factored = StudentHead(head.maps, StudentForm::factored, rank, {}).weights(head.x).value();
    CHECK(distance(StudentHead(head.maps, StudentForm::mixed, rank, {}).weights(head.x).value(), factored) < 1e-5);
  }
}

TEST_CASE("the pairs kept are those with the most energy", "[distillation]") {
  Head head("llama3.1");
  const int64_t dim = head.maps.wq.dim(0), width = head.maps.wq.dim(1);
  REQUIRE(dim >= 4);
  // All but pair 1 of both maps are nothing: one pair is the whole head.
  for (Tensor* map : {&head.maps.wq, &head.maps.wk}) {
    std::vector<double> values = map->to_vector<double>();
    for (int64_t i = 0; i < dim; ++i)
      for (int64_t j = 0; j < width && i % (dim / 2) != 1; ++j) values[static_cast<size_t>(i * width + j)] = 0;
    *map = Tensor::from({dim, width}, values);
  }
  const Tensor wanted = StudentHead(head.maps).weights(head.x).value();
  CHECK(distance(StudentHead(head.maps, StudentForm::pairs, 2, {head.x}).weights(head.x).value(), wanted) < 1e-6);
  CHECK(distance(StudentHead(head.maps, StudentForm::factored, 2, {}).weights(head.x).value(), wanted) < 1e-5);
}

TEST_CASE("errors of weights are told as they are defined", "[distillation]") {
  const auto wide = [](std::vector<float> diagonal) {  // (20, 20), whose rows put that much less than 1 on themselves
    std::vector<float> out(400);
    for (size_t l = 0; l < 20; ++l) out[l * 20 + l] = 1 - diagonal[l];
    return Tensor::from({20, 20}, out);
  };
  std::vector<float> error(20, 0.5f);
  error[0] = 0.25f;  // l = 1, the only early query of 20
  const WeightErrors errors = weight_errors({wide(error), wide(std::vector<float>(20))},
                                            {wide(std::vector<float>(20)), wide(std::vector<float>(20))});
  const double late = 19 * 0.25, early = 0.0625;
  CHECK(errors.mse == Approx((late + early) / (2 * 210)));
  CHECK(errors.late_rms == Approx(std::sqrt(late / (2 * 19))));
  CHECK(errors.late_frobenius == Approx(std::sqrt(late / 2)));
  CHECK(errors.early_share == Approx(early / (late + early)));
}

TEST_CASE("training brings a student nearer to its teacher, to the same bits on any number of threads",
          "[distillation]") {
  for (const StudentForm form : {StudentForm::factored, StudentForm::pairs, StudentForm::mixed}) {
    INFO(name_in(student_form_names, form));
    const HeadDistillation study(small_config("llama3.1", form, 2), {});
    const Metrics metrics = study.compute(0);
    CHECK(metrics.at("mse") < metrics.at("mse_before"));
    CHECK(metrics.at("late_rms") < metrics.at("late_rms_before"));
    CHECK(metrics.at("norm") > 0);
    const std::vector<std::string> names = head_distillation_metrics();
    CHECK(metrics.size() == names.size());
    for (const std::string& name : names) CHECK(metrics.contains(name));
    const engine::ThreadScope two(2);
    CHECK(HeadDistillation(small_config("llama3.1", form, 2), {}).compute(0) == metrics);
    CHECK(study.compute(1) != metrics);
  }
  for (const StudentForm form : {StudentForm::factored, StudentForm::pairs, StudentForm::mixed})
    for (const char* model : {"qwen2", "qwen3"}) {  // biases; norms
      const Metrics metrics = HeadDistillation(small_config(model, form, 2), {}).compute(0);
      CHECK(metrics.at("mse") < metrics.at("mse_before"));
    }
  HeadDistillationConfig full = small_config("llama3.1", StudentForm::factored, 2);
  full.rank = Head("llama3.1").maps.wq.dim(0);
  full.steps = 0;
  CHECK(HeadDistillation(full, {}).compute(0).at("held_out_mse") < 1e-11);
}

TEST_CASE("a student that cannot be says why", "[distillation]") {
  const auto error = [](const char* model, StudentForm form, int64_t rank) {
    return error_of([&] { HeadDistillation(small_config(model, form, rank), {}).check(); });
  };
  CHECK_THAT(error("llama3.1", StudentForm::factored, 99), contains("rank 99: expected 1 to d_H = "));
  CHECK_THAT(error("llama3.1", StudentForm::pairs, 3), contains("rank 3 is odd"));
  CHECK_THAT(error("gpt2", StudentForm::pairs, 2), contains("has no pairs to keep"));
  CHECK_THAT(error("gemma3", StudentForm::factored, 2), contains("layer 1 sees 5 tokens"));
  HeadDistillationConfig config = small_config("llama3.1", StudentForm::factored, 2);
  config.sequences = 3;
  CHECK_THROWS_WITH(HeadDistillation(config, {}), contains("sequences: expected an even number"));
}

}  // namespace headroom::tasks
