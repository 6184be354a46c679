#include "autograd/op_suite/sample.h"
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

namespace {

/// The parts joined in reverse order, so that each must be itself.
Var reversed(std::vector<Var> parts, int axis) { return concat({parts.rbegin(), parts.rend()}, axis); }

}  // namespace

OpSamples split_samples() {
  const auto into = [](const std::vector<int64_t>& sizes, int axis) {
    return [=](const std::vector<Var>& in) { return reversed(split(in[0], sizes, axis), axis); };
  };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 7, 5})}, into({2, 4, 1}, 1)},
                 {"last axis", {normal("x", {3, 9})}, into({4, 5}, -1)},
                 {"first part of it",
                  {normal("x", {3, 9})},
                  [](const std::vector<Var>& in) {
                    return split(in[0], {4, 5}, 1)[0];
                  }},
                 {"an empty part", {normal("x", {5})}, into({0, 5}, 0)},
                 {"size-1", {normal("x", {1})}, into({1}, 0)},
                 {"empty", {normal("x", {0, 4})}, into({1, 3}, 1)}};
  out.refusals = {{"sizes", {normal("x", {2, 5})}, into({2, 2}, 1), {"split", "2 sizes", "(2, 5)"}},
                  {"negative", {normal("x", {5})}, into({6, -1}, 0), {"split", "2 sizes", "(5)"}},
                  {"axis", {normal("x", {2, 5})}, into({2}, 2), {"split", "axis 2", "(2, 5)"}}};
  return out;
}

OpSamples chunk_samples() {
  const auto into = [](int64_t n, int axis) {
    return [=](const std::vector<Var>& in) { return reversed(chunk(in[0], n, axis), axis); };
  };
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 6, 5})}, into(3, 1)},
                 {"last axis", {normal("x", {3, 8})}, into(2, -1)},
                 {"size-1", {normal("x", {1})}, into(1, 0)},
                 {"empty", {normal("x", {0, 4})}, into(2, 1)}};
  out.refusals = {{"a remainder", {normal("x", {2, 5})}, into(2, 1), {"chunk", "(2, 5)", "2"}},
                  {"no part", {normal("x", {2, 5})}, into(0, 1), {"chunk", "(2, 5)", "0"}}};
  return out;
}

}  // namespace headroom::autograd
