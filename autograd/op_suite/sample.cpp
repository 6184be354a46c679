#include "autograd/op_suite/sample.h"

#include <algorithm>
#include <utility>

namespace headroom::autograd {

Input normal(std::string name, Shape shape) { return {std::move(name), shape, Input::Fill::normal, 0, 1}; }
Input uniform(std::string name, Shape shape, double low, double high) {
  return {std::move(name), shape, Input::Fill::uniform, low, high};
}
Input integers(std::string name, Shape shape, int64_t low, int64_t high) {
  return {std::move(name), shape, Input::Fill::integers, static_cast<double>(low), static_cast<double>(high)};
}
Input booleans(std::string name, Shape shape, double probability) {
  return {std::move(name), shape, Input::Fill::booleans, probability, 1};
}
Input fixed(Input input) {
  input.is_fixed = true;
  return input;
}

Tolerances elementwise(double ulps, double slope_ulps, double near_zero) {
  Tolerances out;
  out.value = {ulps, 0};
  out.gradient = {slope_ulps + 1, near_zero};  // dy is multiplied in
  out.reference = {std::max(ulps, slope_ulps + 1), near_zero};
  return out;
}

}  // namespace headroom::autograd
