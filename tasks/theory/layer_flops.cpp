#include "tasks/theory/layer_flops.h"

namespace headroom::tasks {

double layer_flops(int64_t length, int64_t width, int64_t heads, int64_t qk_dim, int64_t v_dim, int64_t ffn_width) {
  const auto l = static_cast<double>(length), d = static_cast<double>(width), h = static_cast<double>(heads);
  const auto dims = static_cast<double>(qk_dim + v_dim);
  return 4 * l * d * h * dims + 2 * h * l * l * dims + 4 * l * d * static_cast<double>(ffn_width);
}

}  // namespace headroom::tasks
