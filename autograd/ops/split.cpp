#include "autograd/ops.h"
#include "engine/error.h"

namespace headroom::autograd {

std::vector<Var> split(const Var& x, const std::vector<int64_t>& sizes, int axis) {
  require(x.defined(), "split: operand x is undefined");
  const int along = x.shape().index(axis, "split");
  int64_t rest = x.dim(along);
  bool fits = true;
  for (const int64_t size : sizes) {
    fits = fits && size >= 0 && size <= rest;
    if (fits) rest -= size;
  }
  if (!fits || rest != 0)
    fail("split: {} sizes do not add up to axis {} of x {}, which has {}", sizes.size(), axis, x.shape().str(),
         x.dim(along));
  std::vector<Var> parts;
  int64_t begin = 0;
  for (const int64_t size : sizes) {
    parts.push_back(slice(x, along, begin, begin + size));
    begin += size;
  }
  return parts;
}

std::vector<Var> chunk(const Var& x, int64_t n, int axis) {
  require(x.defined(), "chunk: operand x is undefined");
  const int along = x.shape().index(axis, "chunk");
  if (n < 1 || x.dim(along) % n != 0) fail("chunk: axis {} of x {} is not cut in {}", axis, x.shape().str(), n);
  return split(x, std::vector<int64_t>(static_cast<size_t>(n), x.dim(along) / n), along);
}

}  // namespace headroom::autograd
