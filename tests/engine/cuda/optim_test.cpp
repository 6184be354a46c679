// The optimizers, the norm and the step's state on the GPU against the CPU.
#include <algorithm>
#include <cmath>

#include "engine/optim/update.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/engine/cuda/gpu.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using namespace headroom::engine;

using testing::distance;
using testing::gpu;
using testing::has_gpu;
constexpr int64_t size = 5003;  ///< several blocks, and a rest after the last pack

Tensor state_with(const StepState& values, Device device) {
  const Tensor state = make_step_state(device);
  write_step_state(state, values);
  return state;
}

/// The same numbers on every device; `shift` elements into their storages.
struct Arrays {
  Tensor values, gradients, mean, square, copies;
  Arrays(Device device, DType dtype, int64_t shift) {
    const auto make = [&](uint64_t seed, double low) {
      const Tensor all = random_uniform({size + shift}, low, 1, {seed, 0, 0}, DType::f64).to(dtype);
      return all.to(device).slice(0, shift, size + shift);
    };
    values = make(1, -1), gradients = make(2, -1), mean = make(3, -0.1), square = make(4, 0);
    if (dtype == DType::f32) copies = Tensor::zeros({size + shift}, DType::bf16, device).slice(0, shift, size + shift);
  }
};

constexpr StepState third{.updates = 2, .learning_rate = 0.01, .gradient_factor = 0.25};

}  // namespace

TEST_CASE("adam and sgd on the GPU do what they do on the CPU, wherever the arrays begin") {
  if (!has_gpu()) return;
  constexpr AdamConfig adam{
      .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6, .decoupled_decay = 0.1, .l2_decay = 0.05, .decayed = 2001};
  for (const DType dtype : {DType::f32, DType::f64})
    for (const int64_t shift : {0, 1}) {
      CAPTURE(name_of(dtype), shift);
      const double bound = dtype == DType::f64 ? 1e-14 : 1e-6;
      Arrays want(cpu, dtype, shift), got(gpu, dtype, shift);
      adam_inplace(want.values, want.gradients, want.mean, want.square, want.copies, adam, state_with(third, cpu));
      adam_inplace(got.values, got.gradients, got.mean, got.square, got.copies, adam, state_with(third, gpu));
      CHECK(distance(got.values, want.values) < bound);
      CHECK(distance(got.mean, want.mean) < bound);
      CHECK(distance(got.square, want.square) < bound);
      if (got.copies.defined())
        CHECK((got.copies.to_vector<float>() == got.values.to(cpu).to(DType::bf16).to_vector<float>()));
      for (const SgdConfig& sgd : {SgdConfig{.momentum = 0.9, .nesterov = true, .l2_decay = 0.1, .decayed = 77},
                                   SgdConfig{.momentum = 0.9}, SgdConfig{}})
        for (const int64_t updates : {0, 2}) {
          StepState step = third;
          step.updates = updates;
          const Tensor none;
          const bool has = sgd.momentum > 0;
          sgd_inplace(want.values, want.gradients, has ? want.mean : none, want.copies, sgd, state_with(step, cpu));
          sgd_inplace(got.values, got.gradients, has ? got.mean : none, got.copies, sgd, state_with(step, gpu));
          CHECK(distance(got.values, want.values) < 4 * bound);
          CHECK(distance(got.mean, want.mean) < 4 * bound);
        }
    }
}

TEST_CASE("optimizers on the GPU write nothing where the step is not finite") {
  if (!has_gpu()) return;
  StepState values = third;
  values.is_finite = 0;
  const Tensor state = state_with(values, gpu);
  const Arrays arrays(gpu, DType::f32, 0), before(cpu, DType::f32, 0);
  adam_inplace(arrays.values, arrays.gradients, arrays.mean, arrays.square, arrays.copies, {}, state);
  sgd_inplace(arrays.values, arrays.gradients, arrays.mean, arrays.copies, {.momentum = 0.5}, state);
  CHECK((arrays.values.to_vector<float>() == before.values.to_vector<float>()));
  CHECK((arrays.mean.to_vector<float>() == before.mean.to_vector<float>()));
  CHECK((arrays.copies.to_vector<float>() == before.copies.to_vector<float>()));
}

TEST_CASE("the norm on the GPU is right wherever it is a number") {
  if (!has_gpu()) return;
  for (const double unit : {1e-44, 1e-30, 1.0, 1e30}) {
    const Tensor x = random_uniform({40009}, -unit, unit, {7, 0, 0}, DType::f64).to(DType::f32);
    CHECK(norm(x.to(gpu)) == Approx(norm(x.to(DType::f64))).epsilon(1e-12));
  }
  for (const double unit : {1e-310, 1e-200, 1e-155, 1.0, 1e150, 1e300}) {
    CAPTURE(unit);
    const Tensor x = random_uniform({20001}, -unit, unit, {8, 0, 0}, DType::f64);
    CHECK(norm(x.to(gpu)) / unit == Approx(norm(x) / unit).epsilon(1e-12));
  }
  const Tensor mixed = Tensor::from<double>({3}, {3e300, 4e300, 1e-300});
  CHECK(norm(mixed.to(gpu)) == Approx(5e300));
  CHECK(norm(Tensor::from<float>({2}, {1, -HUGE_VALF}).to(gpu)) == HUGE_VAL);
  CHECK(std::isnan(norm(Tensor::from<double>({3}, {1, HUGE_VAL, NAN}).to(gpu))));
  CHECK(norm(Tensor::zeros({0}, DType::f32, gpu)) == 0);
  CHECK(norm(Tensor::zeros({5}, DType::f64, gpu)) == 0);
}

TEST_CASE("a step's state on the GPU goes through the same values as on the CPU") {
  if (!has_gpu()) return;
  const Tensor rates = Tensor::from<double>({2}, {0.5, 0.25}), gradients = Tensor::from<float>({2}, {3, 4});
  const Tensor bad = Tensor::from<float>({2}, {3, NAN}), loss = Tensor::full({1}, 1.5);
  std::vector<std::vector<double>> seen;
  for (const Device device : {cpu, gpu}) {
    StepState s;
    s.random_count = 8;
    const Tensor state = state_with(s, device);
    std::vector<double> values;
    for (int step = 0; step < 4; ++step) {
      step_begin_inplace(state, rates.to(device));
      step_loss_inplace(state, loss.to(device));
      step_loss_inplace(state, loss.to(DType::f64).to(device));
      step_loss_inplace(state, loss.to(DType::bf16).to(device));
      step_norm_inplace(state, (step == 2 ? bad : gradients).to(device), step == 1 ? 0 : 2);
      step_end_inplace(state);
      s = read_step_state(state);
      for (const double value :
           {static_cast<double>(s.step), static_cast<double>(s.updates), static_cast<double>(s.random_offset), s.loss,
            s.learning_rate, s.gradient_factor, static_cast<double>(s.is_finite), step == 2 ? 0 : s.gradient_norm})
        values.push_back(value);
    }
    seen.push_back(values);
  }
  CHECK(seen[0] == seen[1]);
}

TEST_CASE("a state that lies elsewhere than its operands is refused") {
  if (!has_gpu()) return;
  const Tensor state = make_step_state(), rates = Tensor::full({1}, 0.5, DType::f64).to(gpu);
  const std::string error = testing::error_of([&] { step_begin_inplace(state, rates); });
  CHECK(error.find("step_begin: the step's state is on cpu, its operands on cuda:0") != std::string::npos);
}
