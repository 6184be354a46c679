// Scores of classes: on the CPU the bits of a plain loop, on the GPU the CPU's numbers to f64 rounding.
#include "engine/scoring/class_scores.h"

#include <algorithm>
#include <cmath>

#include "engine/ops/rows/padded_rows.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/engine/cuda/gpu.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace {

using namespace headroom;
using namespace headroom::engine;

using testing::gpu;
using testing::has_gpu;

/// Rounded to eighths, so that long rows have several largest ones.
Tensor drawn(const Shape& shape, DType dtype) {
  std::vector<double> values = random_normal(shape, 0, 4, {7, 0, 0}, DType::f64).to_vector<double>();
  for (double& value : values) value = std::round(8 * value) / 8;
  return Tensor::from(shape, values).to(dtype);
}

/// The class of the largest logit, every third time another one, the last, none, none again.
Tensor targets_of(const Tensor& logits) {
  const std::vector<double> x = logits.to_vector<double>();
  const int64_t classes = logits.dim(-1);
  std::vector<int64_t> targets;
  for (auto row = x.begin(); row != x.end(); row += classes) {
    const auto i = static_cast<int64_t>(targets.size());
    const int64_t largest = std::max_element(row, row + classes) - row;
    targets.push_back(i % 8 == 5 ? -100 : i % 8 == 6 ? classes : i % 8 == 7 ? classes - 1 : largest);
    if (i % 3 == 2 && targets.back() >= 0) targets.back() = (targets.back() + 1) % classes;
  }
  return Tensor::from(logits.shape().without(-1), targets);
}

/// NaN equals NaN; numbers to 1e-12 of what is subtracted to get them.
void check_equal(const ClassScores& got, const ClassScores& want, double within = 1e-12) {
  CHECK((got.is_likeliest.to_vector<uint8_t>() == want.is_likeliest.to_vector<uint8_t>()));
  const auto a = got.nats.to_vector<double>(), b = want.nats.to_vector<double>();
  REQUIRE(a.size() == b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    CAPTURE(i, a[i], b[i]);
    CHECK(std::fabs(a[i] - b[i]) <= within * (20 + std::fabs(b[i])));
  }
}

}  // namespace

TEST_CASE("scores of classes are those of a plain loop in f64, bit for bit") {
  for (const int64_t classes : {1, 2, 7, 64, 1500})
    for (const int64_t rows : {1, 37}) {
      CAPTURE(classes, rows);
      const Tensor logits = drawn({rows, classes}, DType::f32), targets = targets_of(logits);
      const ClassScores scores = class_scores(logits, targets);
      const auto x = logits.to_vector<float>();
      const auto target = targets.to_vector<int64_t>();
      const auto nats = scores.nats.to_vector<double>();
      const auto is_likeliest = scores.is_likeliest.to_vector<uint8_t>();
      for (int64_t r = 0; r < rows; ++r) {
        const auto i = static_cast<size_t>(r);
        if (target[i] < 0 || target[i] >= classes) {
          CHECK(std::isnan(nats[i]));
          CHECK(is_likeliest[i] == 0);
          continue;
        }
        const float* row = x.data() + r * classes;
        const float* largest = std::max_element(row, row + classes);
        double sum = 0;
        for (int64_t v = 0; v < classes; ++v) sum += std::exp(double{row[v]} - double{*largest});
        CHECK(nats[i] == std::log(sum) + double{*largest} - double{row[target[i]]});
        CHECK((is_likeliest[i] != 0) == (largest - row == target[i]));
      }
      // A view of wider rows, columns as rows, and other dtypes of the same numbers.
      const Tensor wide = Tensor::zeros({rows, classes + 3});
      copy_inplace(wide.slice(1, 1, classes + 1), logits);
      check_equal(class_scores(wide.slice(1, 1, classes + 1), targets), scores, 0);
      check_equal(class_scores(logits.transpose(0, 1).contiguous().transpose(0, 1), targets), scores, 0);
      check_equal(class_scores(logits.to(DType::f64), targets), scores, 0);
      const Tensor halves = logits.to(DType::bf16);
      check_equal(class_scores(halves, targets), class_scores(halves.to(DType::f32), targets), 0);
    }
  CHECK(class_scores(Tensor::zeros({0, 3}), Tensor::zeros({0}, DType::i64)).nats.numel() == 0);
  const auto refused = [](const Shape& logits, const Shape& targets) {
    return testing::error_of([&] { class_scores(Tensor::zeros(logits), Tensor::zeros(targets, DType::i64)); });
  };
  CHECK(refused({2, 3}, {3}) == "class_scores: logits (2, 3) need targets (2), not (3)");
  CHECK(refused({2, 0}, {2}) == "class_scores: no classes: logits (2, 0)");
}

TEST_CASE("scores of classes on the GPU are the CPU's, from one class to a quarter of a million") {
  if (!has_gpu()) return;
  for (const auto& [classes, rows] : {std::pair<int64_t, int64_t>{1, 300},
                                      {2, 1},
                                      {3, 70},
                                      {32, 9},
                                      {63, 17},
                                      {64, 9},
                                      {1024, 9},
                                      {1025, 9},
                                      {4096, 9},
                                      {50257, 3},
                                      {262144, 2}})
    for (const DType dtype : {DType::f32, DType::f64, DType::bf16}) {
      CAPTURE(classes, rows, name_of(dtype));
      const Tensor logits = drawn({rows, classes}, dtype), targets = targets_of(logits), there = targets.to(gpu);
      const ClassScores got = class_scores(logits.to(gpu), there);
      CHECK(got.nats.device() == gpu);
      check_equal(got, class_scores(logits, targets));
      const Tensor shifted = Tensor::zeros({rows * classes + 1}, dtype, gpu).slice(0, 1, rows * classes + 1);
      copy_inplace(shifted, logits.to(gpu).reshape({rows * classes}));
      check_equal(class_scores(shifted.reshape(logits.shape()), there), got, 0);  // the same bits
    }
}

TEST_CASE("scores on the GPU of rows that are views: padded ones, some of them, and columns") {
  if (!has_gpu()) return;
  for (const int64_t classes : {67, 1021, 4099})
    for (const DType dtype : {DType::f32, DType::bf16}) {
      CAPTURE(classes, name_of(dtype));
      const Tensor logits = drawn({4, 3, classes}, dtype), targets = targets_of(logits), there = targets.to(gpu);
      const Tensor padded = padded_rows(logits.shape(), dtype, gpu);
      copy_inplace(padded, logits.to(gpu));
      const ClassScores want = class_scores(logits, targets);
      check_equal(class_scores(padded, there), want);
      check_equal(class_scores(padded.slice(0, 1, 3), there.slice(0, 1, 3)),
                  {want.nats.slice(0, 1, 3), want.is_likeliest.slice(0, 1, 3)});
      check_equal(class_scores(padded.slice(1, 1, 3), there.slice(1, 1, 3)),
                  {want.nats.slice(1, 1, 3), want.is_likeliest.slice(1, 1, 3)});
      check_equal(class_scores(padded.transpose(0, 1), there.transpose(0, 1)),
                  {want.nats.transpose(0, 1), want.is_likeliest.transpose(0, 1)});
    }
}

TEST_CASE("scores of rows with NaN and infinities are the same on both devices") {
  constexpr float inf = HUGE_VALF;
  const std::vector<std::vector<float>> cases{{NAN, 1, 2, 0},           {1, NAN, 3, 0},        {1, inf, inf, 0},
                                              {-inf, -inf, -inf, -inf}, {-inf, NAN, NAN, NAN}, {-inf, 2, -inf, 1},
                                              {-1e30F, 90, 1e30F, 89}};
  for (const std::vector<float>& values : cases)
    for (int64_t target = 0; target < 4; ++target) {
      CAPTURE(values, target);
      const Tensor row = Tensor::from<float>({1, 4}, values), targets = Tensor::from<int64_t>({1}, {target});
      const ClassScores want = class_scores(row, targets);
      CHECK(std::isnan(want.nats.item()) == (&values - cases.data() < 5));
      if (has_device(gpu.kind)) check_equal(class_scores(row.to(gpu), targets.to(gpu)), want);
    }
  const Tensor last = Tensor::from<float>({1, 4}, cases.back());
  CHECK(class_scores(last, Tensor::from<int64_t>({1}, {2})).nats.item() == 0);
  CHECK(class_scores(last, Tensor::from<int64_t>({1}, {0})).nats.item() == 2 * double{1e30F});
  CHECK(class_scores(Tensor::from<float>({1, 4}, cases[5]), Tensor::from<int64_t>({1}, {0})).nats.item() == HUGE_VAL);
}
