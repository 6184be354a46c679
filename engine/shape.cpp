#include "engine/shape.h"

#include <algorithm>

#include "engine/error.h"

namespace headroom::engine {

Shape::Shape(std::initializer_list<int64_t> dims) {
  for (int64_t dim : dims) push_back(dim);
}

Shape::Shape(std::span<const int64_t> dims) {
  for (int64_t dim : dims) push_back(dim);
}

Shape Shape::of_rank(int rank, int64_t fill) {
  require(rank >= 0 && rank <= max_rank, "shape: rank {} is not in [0, {}]", rank, max_rank);
  Shape shape;
  for (int axis = 0; axis < rank; ++axis) shape.push_back(fill);
  return shape;
}

int Shape::index(int axis, const char* op) const {
  const int i = axis < 0 ? axis + rank_ : axis;
  if (i < 0 || i >= rank_) fail("{}: axis {} is out of range for shape {}", op, axis, str());
  return i;
}

int64_t Shape::numel() const { return numel(0, rank_); }

int64_t Shape::numel(int begin, int end) const {
  if (begin < 0 || end > rank_) fail("shape {}: axes [{}, {}) are not all there", str(), begin, end);
  int64_t n = 1;
  for (int axis = begin; axis < end; ++axis)
    if (__builtin_mul_overflow(n, dims_[static_cast<size_t>(axis)], &n)) fail("shape {}: too many elements", str());
  return n;
}

Shape Shape::contiguous_strides() const {
  Shape strides = of_rank(rank_);
  int64_t step = 1;
  for (int axis = rank_ - 1; axis >= 0; --axis) {
    strides[axis] = step;
    if (axis > 0 && __builtin_mul_overflow(step, std::max<int64_t>(1, (*this)[axis]), &step))
      fail("shape {}: too many elements", str());
  }
  return strides;
}

void Shape::push_back(int64_t dim) {
  if (rank_ == max_rank) fail("shape {}: more than {} axes", str(), max_rank);
  dims_[static_cast<size_t>(rank_++)] = dim;
}

Shape Shape::with(int axis, int64_t dim) const {
  Shape shape = *this;
  shape[axis] = dim;
  return shape;
}

Shape Shape::without(int axis) const {
  Shape shape;
  for (int i = 0; i < rank_; ++i)
    if (i != index(axis)) shape.push_back((*this)[i]);
  return shape;
}

bool Shape::operator==(const Shape& other) const {
  return rank_ == other.rank_ && std::equal(begin(), end(), other.begin());
}

std::string Shape::str() const {
  std::string text = "(";
  for (int i = 0; i < rank_; ++i) text += fmt::format("{}{}", i ? ", " : "", dims_[static_cast<size_t>(i)]);
  return text + ")";
}

Shape broadcast(const char* op, const Shape& a, const Shape& b) {
  Shape out = Shape::of_rank(std::max(a.rank(), b.rank()));
  for (int axis = 1; axis <= out.rank(); ++axis) {
    const int64_t x = axis <= a.rank() ? a[-axis] : 1, y = axis <= b.rank() ? b[-axis] : 1;
    if (x != y && x != 1 && y != 1) fail("{}: shapes do not broadcast: a {}, b {}", op, a.str(), b.str());
    out[-axis] = x == 1 ? y : x;
  }
  return out;
}

bool broadcasts_to(const Shape& from, const Shape& to) {
  if (from.rank() > to.rank()) return false;
  for (int axis = 1; axis <= from.rank(); ++axis)
    if (from[-axis] != to[-axis] && from[-axis] != 1) return false;
  return true;
}

}  // namespace headroom::engine
