#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>

namespace headroom::engine {

/// Sizes (or strides) of a tensor's axes, outermost first, as in PyTorch. Holds at most `max_rank` axes in place, so it
/// never allocates.
class Shape {
 public:
  static constexpr int max_rank = 8;

  Shape() = default;
  Shape(std::initializer_list<int64_t> dims);
  /// From a std::vector, for example. Throws Error if there are more than `max_rank` sizes.
  explicit Shape(std::span<const int64_t> dims);
  /// Throws Error unless 0 ≤ rank ≤ max_rank.
  static Shape of_rank(int rank, int64_t fill = 1);

  int rank() const { return rank_; }
  /// Size of one axis; a negative axis counts from the last (-1). Throws Error when out of range.
  int64_t operator[](int axis) const { return dims_[static_cast<size_t>(index(axis))]; }
  int64_t& operator[](int axis) { return dims_[static_cast<size_t>(index(axis))]; }
  /// Converts an axis that may be negative to 0..rank-1. Throws Error naming `op` if out of range.
  int index(int axis, const char* op = "shape") const;

  /// Number of elements; 1 for rank 0. Throws Error on overflow.
  int64_t numel() const;
  /// Product of the sizes of axes [begin, end); 1 if none. Throws Error on overflow and for axes out of range.
  int64_t numel(int begin, int end) const;
  /// Row-major strides, in elements; an axis of size 0 counts as one of 1. Throws Error on overflow.
  Shape contiguous_strides() const;

  void push_back(int64_t dim);
  Shape with(int axis, int64_t dim) const;
  Shape without(int axis) const;

  /// The sizes in order: `for (int64_t n : shape)`, `std::vector<int64_t>(s.begin(), s.end())`.
  const int64_t* begin() const { return dims_.data(); }
  const int64_t* end() const { return dims_.data() + rank_; }
  bool operator==(const Shape& other) const;

  /// "(2, 3, 8)".
  std::string str() const;

 private:
  std::array<int64_t, max_rank> dims_{};
  int rank_ = 0;
};

/// NumPy broadcasting of two shapes. Throws Error naming `op` and both shapes when they do not fit.
Shape broadcast(const char* op, const Shape& a, const Shape& b);
/// True if `from` broadcasts to exactly `to`.
bool broadcasts_to(const Shape& from, const Shape& to);

}  // namespace headroom::engine
