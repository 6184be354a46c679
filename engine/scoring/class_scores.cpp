#include "engine/scoring/class_scores.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/compute_type.h"
#include "engine/error.h"
#include "engine/ops/rows/rows.h"

namespace headroom::engine {
namespace {

template <class T>
void score_rows(ClassScoresCall& c) {
  const Tensor x = c.logits.as_rows(), targets = c.targets.contiguous();  // (rows, V), (…)
  const Rows rows = rows_of("class_scores", x);
  const auto* target = targets.data<int64_t>();
  auto* nats = c.out.nats.mutable_data<double>();
  auto* is_likeliest = c.out.is_likeliest.mutable_data<bool>();
  const auto number = [](T value) { return static_cast<Compute<T>>(value); };
  parallel_for(rows.count, rows.grain(), [&](int64_t r) {
    nats[r] = std::numeric_limits<double>::quiet_NaN();
    is_likeliest[r] = false;
    if (target[r] < 0 || target[r] >= rows.width) return;
    const T* row = x.data<T>() + r * x.strides()[0];
    const T* largest = std::max_element(row, row + rows.width, [&](T a, T b) { return number(a) < number(b); });
    const double top = number(*largest);
    double sum = 0;
    for (int64_t v = 0; v < rows.width; ++v) sum += std::exp(double{number(row[v])} - top);
    nats[r] = std::log(sum) + top - double{number(row[target[r]])};
    is_likeliest[r] = largest - row == target[r];
  });
}

}  // namespace

Op<ClassScoresCall> class_scores_op{
    "class_scores",
    {{.name = "loops", .dtypes = DType::f32, .run = score_rows<float>, .is_reference = true, .takes_strided = true},
     {.name = "loops", .dtypes = DType::f64, .run = score_rows<double>, .is_reference = true, .takes_strided = true},
     {.name = "loops", .dtypes = DType::bf16, .run = score_rows<bf16>, .is_reference = true, .takes_strided = true}}};

ClassScores class_scores(const Tensor& logits, const Tensor& targets) {
  ClassScoresCall call{logits, targets};
  class_scores_op.check(call);
  const Rows rows = rows_of("class_scores", logits);
  require(rows.count == 0 || rows.width > 0, "class_scores: no classes: logits {}", logits.shape());
  const Shape shape = logits.shape().without(-1);
  require(targets.shape() == shape, "class_scores: logits {} need targets {}, not {}", logits.shape(), shape,
          targets.shape());
  call.out = {Tensor::empty(shape, DType::f64, logits.device()), Tensor::empty(shape, DType::boolean, logits.device())};
  if (rows.count > 0) class_scores_op.run(call);
  return call.out;
}

}  // namespace headroom::engine
