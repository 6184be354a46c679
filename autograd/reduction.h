#pragma once

namespace headroom::autograd {

/// How a loss combines its terms.
enum class Reduction { mean, sum };

}  // namespace headroom::autograd
