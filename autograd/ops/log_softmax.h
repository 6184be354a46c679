#pragma once
#include "autograd/var.h"

namespace headroom::autograd {

/// log softmax(x) along the last axis: x (…, C) → (…, C).
Var log_softmax(const Var& x);

}  // namespace headroom::autograd
