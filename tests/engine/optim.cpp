#include <cmath>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/ops/dropout/dropout.h"
#include "engine/optim/newton_schulz.h"
#include "engine/optim/update.h"
#include "engine/rng.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

using namespace headroom;
using namespace headroom::engine;
using testing::contains;
using testing::distance;

namespace {

constexpr int64_t size = 70001;  ///< several tasks, and a rest in every vector width

Tensor normal(const char* stream, double scale = 1) {
  return random_normal({size}, 0, scale, Rng(3).take(stream, size + 1));
}

Tensor state_with(const StepState& values) {
  const Tensor state = make_step_state();
  write_step_state(state, values);
  return state;
}

struct Arrays {
  Tensor values = normal("values"), gradients = normal("gradients"), mean = normal("mean", 0.1);
  Tensor square = random_uniform({size}, 0, 1, Rng(4).take("square", size));
  Tensor copies = Tensor::empty({size}, DType::bf16);
};

constexpr StepState third{.updates = 2, .learning_rate = 0.01, .gradient_factor = 0.25};
constexpr AdamConfig adam{
    .beta1 = 0.9, .beta2 = 0.99, .eps = 1e-6, .decoupled_decay = 0.1, .l2_decay = 0.05, .decayed = 30000};

}  // namespace

TEST_CASE("adam: the kernel agrees with the reference loops, with and without bf16 copies") {
  Arrays fast, loops, plain;
  adam_inplace(fast.values, fast.gradients, fast.mean, fast.square, fast.copies, adam, state_with(third));
  adam_inplace(plain.values, plain.gradients, plain.mean, plain.square, {}, adam, state_with(third));
  {
    const ReferenceScope reference;
    adam_inplace(loops.values, loops.gradients, loops.mean, loops.square, loops.copies, adam, state_with(third));
  }
  // fma rounds once where the loops round twice.
  for (const auto& [x, y] :
       {std::pair{fast.values, loops.values}, {fast.mean, loops.mean}, {fast.square, loops.square}})
    CHECK(distance(x, y) < 1e-6);
  CHECK((fast.values.to_vector<float>() == plain.values.to_vector<float>()));
  for (const Arrays& arrays : {fast, loops})
    CHECK((arrays.copies.to_vector<float>() == arrays.values.to(DType::bf16).to_vector<float>()));
}

TEST_CASE("adam: copies are rounded to nearest even, NaN stays NaN") {
  // Neighbours of bf16 1: 1 + 2^-7. Halfway goes to the even one; a learning rate of 0 leaves the values alone.
  const std::vector<float> values{1.00390625f, 1.01171875f, 1.00390637f, -1.00390625f, 3.4e38f, NAN, 0};
  const auto n = static_cast<int64_t>(values.size());
  const Tensor p = Tensor::from({n}, values), copies = Tensor::empty({n}, DType::bf16);
  const auto zeros = [&] { return Tensor::zeros({n}); };
  for (const bool reference : {false, true}) {
    const auto run = [&] { adam_inplace(p, zeros(), zeros(), zeros(), copies, {}, state_with({})); };
    if (reference) {
      const ReferenceScope scope;
      run();
    } else {
      run();
    }
    const std::vector<float> got = copies.to_vector<float>();
    const std::vector<float> want = p.to(DType::bf16).to_vector<float>();
    for (size_t i = 0; i < values.size(); ++i) {
      CAPTURE(i, reference);
      if (std::isnan(values[i])) CHECK(std::isnan(got[i]));
      else CHECK(got[i] == want[i]);
    }
    CHECK(got[0] == 1.0f);
    CHECK(got[1] == 1.015625f);
    CHECK(got[2] == 1.0078125f);
  }
}

TEST_CASE("optimizers write nothing where the step is not finite") {
  StepState values = third;
  values.is_finite = 0;
  Arrays arrays;
  const Tensor before = arrays.values.clone(), mean = arrays.mean.clone();
  adam_inplace(arrays.values, arrays.gradients, arrays.mean, arrays.square, {}, adam, state_with(values));
  sgd_inplace(arrays.values, arrays.gradients, arrays.mean, {}, {.momentum = 0.5}, state_with(values));
  CHECK((arrays.values.to_vector<float>() == before.to_vector<float>()));
  CHECK((arrays.mean.to_vector<float>() == mean.to_vector<float>()));
}

TEST_CASE("a step's state: rates, loss, norm, factor, and what the next step begins with") {
  const Tensor state = make_step_state(), rates = Tensor::from<double>({2}, {0.5, 0.25});
  StepState s;
  s.random_count = 8;
  write_step_state(state, s);
  for (int step = 0; step < 3; ++step) {
    step_begin_inplace(state, rates);
    step_loss_inplace(state, Tensor::full({1}, 1.5));
    step_loss_inplace(state, Tensor::full({}, 2, DType::f64));
    step_norm_inplace(state, Tensor::from<float>({2}, {3, 4}), 2);
    s = read_step_state(state);
    CHECK(s.step == step);
    CHECK(s.learning_rate == (step == 1 ? 0.25 : 0.5));
    CHECK(s.loss == 3.5);
    CHECK(s.gradient_norm == 5);
    CHECK(s.gradient_factor == 0.4);
    CHECK(s.random_offset == static_cast<uint64_t>(8 * step));
    step_end_inplace(state);
  }
  step_begin_inplace(state, rates);
  step_norm_inplace(state, Tensor::from<float>({2}, {3, 4}), 0);
  CHECK(read_step_state(state).gradient_factor == 1);
  step_norm_inplace(state, Tensor::from<float>({2}, {3, NAN}), 2);
  step_end_inplace(state);
  s = read_step_state(state);
  CHECK(s.is_finite == 0);
  CHECK(s.gradient_factor == 1);
  CHECK(s.step == 4);
  CHECK(s.updates == 3);
  CHECK_THROWS_WITH(read_step_state(rates), contains("the step's state is u8 (72), got f64 (2)"));
  CHECK_THROWS_WITH(step_begin_inplace(state, Tensor::zeros({0}, DType::f64)), contains("step_begin"));
}

TEST_CASE("keys relative to a step's state: the same values, and the next ones when the step is run again") {
  Rng plain(5), based(5);
  plain.take("dropout", 12);
  based.take("dropout", 12);
  StepState values;
  values.random_offset = based.next("dropout");
  const Tensor state = state_with(values), x = normal("x");
  based.set_base("dropout", random_base(state), values.random_offset);
  const RngKey key = plain.take("dropout", size), relative = based.take("dropout", size);
  CHECK(relative.offset == 0);
  CHECK(relative.first() == key.first());
  CHECK(based.offsets() == plain.offsets());
  const auto dropped = [&](const RngKey& k) { return dropout(x, 0.5, k).to_vector<float>(); };
  CHECK((dropped(relative) == dropped(key)));
  CHECK(random_bits(relative, 7) == random_bits(key, 7));
  CHECK((random_uniform({9}, 0, 1, relative).to_vector<float>() == random_uniform({9}, 0, 1, key).to_vector<float>()));
  values.random_count = plain.next("dropout") - values.random_offset;
  write_step_state(state, values);
  step_end_inplace(state);
  CHECK((dropped(relative) == dropped(plain.take("dropout", size))));
}

namespace {

/// A matrix (rows, columns) that lies flat, its gradient and its running mean.
struct Matrix {
  Tensor values, gradients, momentum, copies;
  Matrix(int64_t n, DType dtype)
      : values(normal("values").slice(0, 0, n).contiguous().to(dtype)),
        gradients(normal("gradients").slice(0, 0, n).contiguous().to(dtype)),
        momentum(normal("mean", 0.1).slice(0, 0, n).contiguous().to(dtype)),
        copies(dtype == DType::f32 ? Tensor::empty({n}, DType::bf16) : Tensor()) {}
};

}  // namespace

TEST_CASE("muon: one step is the formula, in f64 and nearly so in f32, for wide and tall matrices") {
  for (const int64_t rows : {12, 40}) {
    const int64_t n = 480, columns = n / rows;
    const MuonConfig config{.rows = rows, .momentum = 0.9, .nesterov = true, .decoupled_decay = 0.1};
    Matrix exact(n, DType::f64), single(n, DType::f32);
    const auto p = exact.values.to_vector<double>(), g = exact.gradients.to_vector<double>();
    const auto b = exact.momentum.to_vector<double>();
    muon_inplace(exact.values, exact.gradients, exact.momentum, {}, config, state_with(third));
    muon_inplace(single.values, single.gradients, single.momentum, single.copies, config, state_with(third));
    std::vector<double> mean, direction;
    for (size_t i = 0; i < p.size(); ++i) {
      const double grad = third.gradient_factor * g[i];
      mean.push_back(0.9 * b[i] + 0.1 * grad);
      direction.push_back(0.9 * mean[i] + 0.1 * grad);
    }
    const auto turned = linalg::newton_schulz(Tensor::from<double>({rows, columns}, direction)).to_vector<double>();
    const double rate =
        third.learning_rate * std::sqrt(std::max(1.0, static_cast<double>(rows) / static_cast<double>(columns)));
    std::vector<double> want;
    for (size_t i = 0; i < p.size(); ++i) want.push_back((1 - third.learning_rate * 0.1) * p[i] - rate * turned[i]);
    CHECK(distance(exact.values, Tensor::from<double>({n}, want)) < 1e-13);
    CHECK(distance(exact.momentum, Tensor::from<double>({n}, mean)) < 1e-13);
    CHECK(distance(single.values, exact.values) < 2e-6);
    CHECK((single.copies.to_vector<float>() == single.values.to(DType::bf16).to_vector<float>()));
  }
}

TEST_CASE("muon: a step that is not finite writes nothing, and what does not fit is an error") {
  Matrix matrix(480, DType::f32);
  const auto before = matrix.values.to_vector<float>(), mean = matrix.momentum.to_vector<float>();
  const auto step = [&](const MuonConfig& config, const StepState& state) {
    muon_inplace(matrix.values, matrix.gradients, matrix.momentum, {}, config, state_with(state));
  };
  step({.rows = 12}, {.updates = 2, .learning_rate = 0.01, .is_finite = 0});
  CHECK(matrix.values.to_vector<float>() == before);
  CHECK(matrix.momentum.to_vector<float>() == mean);
  CHECK_THROWS_WITH(step({.rows = 7}, third), contains("muon: 480 numbers are no matrix of 7 rows"));
  CHECK_THROWS_WITH(step({.rows = 12, .momentum = 1}, third), contains("a momentum of 1 is not in [0, 1)"));
  CHECK_THROWS_WITH(muon_inplace(matrix.values, matrix.values, matrix.momentum, {}, {.rows = 12}, state_with(third)),
                    contains("muon: values and gradients lie in the same memory"));
}
