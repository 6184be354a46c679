#pragma once

namespace headroom::autograd {

/// What a loss is over its terms.
enum class Reduction { mean, sum };

}  // namespace headroom::autograd
