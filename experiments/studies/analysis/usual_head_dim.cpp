#include "experiments/studies/analysis/usual_head_dim.h"

#include <fmt/format.h>

#include <algorithm>

namespace headroom::experiments {
namespace {

constexpr int64_t of_narrow = 64, of_wide = 128, widest_narrow = 2048;

}  // namespace

int64_t usual_head_dim(int64_t width) {
  const int64_t usual = width <= widest_narrow ? of_narrow : of_wide;
  int64_t nearest = width;
  for (int64_t dim = 1; dim <= std::min(width, 4 * usual); ++dim)
    if (width % dim == 0 && factor_between(dim, usual) < factor_between(nearest, usual)) nearest = dim;
  return nearest;
}

std::string usual_head_dims_text() {
  return fmt::format("{} up to a model width of {} and {} above", of_narrow, widest_narrow, of_wide);
}

double factor_between(int64_t a, int64_t b) {
  const double ratio = static_cast<double>(a) / static_cast<double>(b);
  return std::max(ratio, 1 / ratio);
}

}  // namespace headroom::experiments
