#pragma once
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// Consecutive views of `sizes[0]`, `sizes[1]`, … elements along `axis`: the inverse of concat(). Throws Error unless
/// the sizes add up to the axis.
std::vector<Var> split(const Var& x, const std::vector<int64_t>& sizes, int axis);

/// n views of equal size along `axis`. Throws Error unless n divides the axis.
std::vector<Var> chunk(const Var& x, int64_t n, int axis);

}  // namespace headroom::autograd
