#include "experiments/studies/config/tasks/measured_lags.h"

#include <fmt/core.h>

#include "tasks/attention_lags.h"

namespace headroom::experiments {

int64_t bind_attention_lags(Reader& in, int64_t length) {
  const int64_t lags = in.integer("attention_lags", {0, "0: not, but for an n-gram, up to its n"},
                                  {.low = 0, .high = tasks::most_attention_lags},
                                  "lags up to which each head's attention is measured, as metrics, on the test set");
  if (!in.has("attention_lags")) in.leave_out("attention_lags");
  if (lags >= length)
    in.complain("attention_lags", fmt::format("{} is out of range: expected < task.length = {}", lags, length));
  return lags;
}

}  // namespace headroom::experiments
