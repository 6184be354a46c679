#include "tests/peers/case.h"

#include <cmath>
#include <limits>

#include "autograd/op_suite/data.h"

namespace headroom::peers {

double Random::normal() { return std::sqrt(-2 * std::log(1 - uniform())) * std::cos(6.283185307179586 * uniform()); }

int64_t Random::size(bool may_be_empty) {
  if (may_be_empty && chance(0.04)) return 0;
  if (chance(0.15)) return 1;
  return chance(0.1) ? integer(10, 70) : integer(2, 9);
}

Shape Random::shape(int least, int most, bool may_be_empty) {
  Shape out;
  const auto rank = static_cast<int>(integer(least, most));
  for (int axis = 0; axis < rank; ++axis) out.push_back(size(may_be_empty));
  return out;
}

std::vector<int> Random::axes(int rank) {
  std::vector<int> out;
  for (int axis = 0; axis < rank; ++axis)
    if (chance(0.5)) out.push_back(chance(0.3) ? axis - rank : axis);
  return out;
}

namespace {

double special(Random& random, DType dtype) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double tiny = dtype == DType::f64 ? 1e-310 : 1e-40, huge = dtype == DType::f64 ? 1e308 : 3e38;
  const double values[] = {0, infinity, std::nan(""), tiny, huge, 1, 1e-30, 5.65, 12.9, 17, 88.8, 104};
  const double value = values[random.integer(0, std::size(values) - 1)];
  return random.chance(0.5) ? -value : value;
}

Tensor in_random_layout(Random& random, const Tensor& x) {
  using autograd::op_suite::Layout;
  switch (random.integer(0, 5)) {
    case 0:
      return laid_out(x, Layout::transposed);
    case 1:
      return laid_out(x, Layout::sliced);
    case 2:
      return laid_out(x, Layout::unaligned);
    case 3: {  // one row along some axis, seen many times
      if (x.rank() == 0 || x.numel() == 0) return x;
      const auto axis = static_cast<int>(random.integer(0, x.rank() - 1));
      return x.slice(axis, 0, 1).clone().expand(x.shape());
    }
    default:
      return x;
  }
}

}  // namespace

Operand drawn(Random& random, const std::string& name, const Shape& shape, DType dtype, const Fill& fill) {
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  const bool is_normal = fill.low == fill.high, has_specials = fill.specials && random.chance(0.25);
  const double size = random.chance(0.5) ? 1 : std::pow(10, 4.5 * random.uniform() - 3);
  for (double& value : values) {
    value = is_normal ? size * random.normal() : fill.low + (fill.high - fill.low) * random.uniform();
    if (has_specials && random.chance(0.3)) value = special(random, dtype);
  }
  return {name, in_random_layout(random, Tensor::from<double>(shape, values).to(dtype))};
}

Operand drawn_integers(Random& random, const std::string& name, const Shape& shape, int64_t low, int64_t high) {
  std::vector<int64_t> values(static_cast<size_t>(shape.numel()));
  for (int64_t& value : values) value = random.integer(low, high);
  return {name, in_random_layout(random, Tensor::from<int64_t>(shape, values)), false};
}

Operand drawn_mask(Random& random, const std::string& name, const Shape& shape, double probability) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  for (float& value : values) value = random.chance(probability) ? 1.0f : 0.0f;
  return {name, in_random_layout(random, Tensor::from<float>(shape, values).to(DType::boolean)), false};
}

Shape broadcast_partner(Random& random, const Shape& shape) {
  Shape out;
  const auto first = static_cast<int>(random.chance(0.4) ? random.integer(0, shape.rank()) : 0);
  for (int axis = first; axis < shape.rank(); ++axis) out.push_back(random.chance(0.3) ? 1 : shape[axis]);
  return out;
}

}  // namespace headroom::peers
