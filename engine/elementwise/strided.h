#pragma once
#include <algorithm>
#include <numeric>
#include <vector>

#include "engine/dispatch/operand.h"
#include "engine/parallel.h"

namespace headroom::engine::detail {

/// If an operand is strided, runs an elementwise call in blocks of its result, so that what is copied to make a block's
/// operands contiguous is still in cache when `run` reads it. Operands that all lie alike, as two transposed matrices
/// do, are read as they lie, and the result is turned around. Returns false if all operands are contiguous.
template <class Call>
bool run_in_blocks(const Call& whole, Tensor Call::*result, void (*run)(Call&)) {
  constexpr int64_t block = 1 << 15, tile = 16;  // elements; rows that share the cache lines of a transposed matrix
  Call call = whole;
  const auto operands = call.operands();
  const Tensor lead = *operands[0].tensor;
  bool is_strided = false, are_alike = operands.size() > 1;  // one copy each way costs the same for one operand
  for (const Operand& operand : operands) {
    const Tensor& x = *operand.tensor;
    if (!x.defined()) continue;
    is_strided = is_strided || !x.is_contiguous();
    are_alike = are_alike && x.shape() == (call.*result).shape() && x.strides() == lead.strides();
  }
  if (!is_strided) return false;

  std::vector<int> order(static_cast<size_t>((call.*result).rank())), back(order);
  std::iota(order.begin(), order.end(), 0);
  if (are_alike)
    std::stable_sort(order.begin(), order.end(), [&](int i, int j) { return lead.strides()[i] > lead.strides()[j]; });
  for (size_t i = 0; i < order.size(); ++i) back[static_cast<size_t>(order[i])] = static_cast<int>(i);
  call.*result = (call.*result).permute(order);
  const Shape shape = (call.*result).shape();
  int axis = 0;  // cut into blocks, as are the axes before it
  while (axis + 1 < shape.rank() && shape.numel(axis + 1, shape.rank()) > block / tile) ++axis;
  const auto keep_whole = [&](const Tensor& x) {  // the axis along which x's elements are neighbours
    for (int i = 0; i < axis && i < x.rank(); ++i)
      if (x.strides()[i] == 1 && x.dim(i) > 1 && !x.is_contiguous()) axis = i;
  };
  keep_whole(call.*result);
  for (const Operand& operand : operands) {
    Tensor& x = *operand.tensor;
    if (!x.defined()) continue;
    if (are_alike) x = x.permute(order);
    if (x.shape() != shape) x = x.contiguous();  // every block reads it
    keep_whole(x);
  }

  const int64_t inner = shape.numel(axis + 1, shape.rank()), rows = std::max(tile, block / inner / tile * tile),
                blocks = (shape[axis] + rows - 1) / rows;
  parallel_for(shape.numel(0, axis) * blocks, [&](int64_t task) {
    const auto part_of = [&](const Tensor& x) {
      int64_t rest = task / blocks;
      const int64_t first = task % blocks * rows;
      Tensor part = x.expand(shape).slice(axis, first, std::min(first + rows, shape[axis]));
      for (int i = axis - 1; i >= 0; rest /= shape[i--]) part = part.slice(i, rest % shape[i], rest % shape[i] + 1);
      return part;
    };
    Call part = call;
    const Tensor y = part_of(call.*result);
    part.*result = y.is_contiguous() ? y : Tensor::empty(y.shape(), y.dtype());
    for (const Operand& operand : part.operands()) {
      Tensor& x = *operand.tensor;
      if (!x.defined()) continue;
      if (x.is_contiguous()) {
        x = part_of(x);
      } else if (operands.size() == 1 && x.dtype() == y.dtype() && y.is_contiguous()) {
        copy_inplace(y, part_of(x));  // and runs in place: one buffer less in the cache
        x = y;
      } else {
        x = part_of(x).contiguous();
      }
    }
    run(part);
    if (!y.is_contiguous()) copy_inplace(y.permute(back), (part.*result).permute(back));
  });
  return true;
}

}  // namespace headroom::engine::detail
