#pragma once
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "engine/device.h"
#include "engine/dtype.h"
#include "engine/exception.h"
#include "engine/shape.h"
#include "engine/storage.h"

namespace headroom::engine {

/// A cheap value handle on a strided view of shared storage. Tensors are immutable once filled: only functions named
/// `*_inplace` write to shared ones. Views (reshape, transpose, permute, slice, expand) copy nothing. Functions that
/// need a value throw Error on an undefined tensor.
///
/// Threads: several may read one storage, and copy, view and drop handles to it, at once. A write (`*_inplace`,
/// mutable_data()) allows no other reader or writer. Never assign to a handle that another thread reads.
class Tensor {
 public:
  Tensor() = default;  ///< undefined: "no gradient", "no bias"
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = cpu);
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = cpu);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32, Device device = cpu);
  static Tensor ones(const Shape& shape, DType dtype = DType::f32, Device device = cpu);
  /// Zeros with the shape, dtype and device of `other`.
  static Tensor zeros_like(const Tensor& other) { return zeros(other.shape(), other.dtype(), other.device()); }
  /// begin, begin + step, … before end: (n), on the CPU. Throws Error for a step of 0.
  static Tensor arange(int64_t begin, int64_t end, int64_t step = 1, DType dtype = DType::i64);
  /// The identity matrix (n, n), on the CPU.
  static Tensor eye(int64_t n, DType dtype = DType::f32);
  /// From nested lists of numbers: of({{1, 2, 3}, {4, 5, 6}}) is (2, 3). Throws Error where lists differ in shape.
  struct Nested;
  static Tensor of(const Nested& values, DType dtype = DType::f32);
  /// From elements in row-major order. Throws Error if their number does not match the shape.
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values);

  /// A read-only contiguous tensor over someone else's memory (a mapped file), kept alive by `owner`: mutable_data()
  /// and all `*_inplace` functions throw. Throws Error if `address` is not aligned for the dtype.
  static Tensor over(const void* address, std::shared_ptr<const void> owner, const Shape& shape, DType dtype);

  bool defined() const { return storage_ != nullptr; }
  const Shape& shape() const { return shape_; }
  const Shape& strides() const { return strides_; }
  int rank() const { return shape_.rank(); }
  int64_t dim(int axis) const { return shape_[axis]; }
  int64_t numel() const { return shape_.numel(); }
  DType dtype() const { return dtype_; }
  Device device() const { return storage_ ? storage_->device() : cpu; }
  bool is_contiguous() const;
  /// The number of writes since the storage was made: see Storage.
  uint32_t version() const { return storage_ ? storage_->version() : 0; }
  /// True if no other tensor shares the storage, so that its owner may write to it.
  bool is_unique() const { return storage_ && storage_.use_count() == 1; }
  bool shares_storage(const Tensor& other) const { return storage_ && storage_ == other.storage_; }
  /// True if its byte range, first to last element, intersects the other's.
  bool overlaps(const Tensor& other) const;

  /// The first element's address. Throws Error unless the dtype is T's. For a strided tensor use strides() too.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(checked(dtype_of<T>()));
  }
  /// A writable address, for `*_inplace` functions and for tensors just made with empty(). Counts as a write: it
  /// invalidates values the tape saved from this storage.
  template <class T>
  T* mutable_data() const {
    return static_cast<T*>(writable(checked(dtype_of<T>())));
  }
  /// The same, or null for an undefined tensor.
  template <class T>
  const T* data_or_null() const {
    return defined() ? data<T>() : nullptr;
  }
  template <class T>
  T* mutable_data_or_null() const {
    return defined() ? mutable_data<T>() : nullptr;
  }
  const void* raw() const { return address(); }
  void* mutable_raw() const { return writable(address()); }
  /// Declares a write by means other than mutable_data().
  void bump_version() const;
  /// Declares that work on the context's stream uses it: its memory then outlives that work. Ops, copies and views do
  /// this themselves.
  void use_on_stream() const;

  /// Declares elements [begin, end) of the storage, repeated every `period` elements (0: once), as padding: see
  /// Padding. Only for the storage's maker.
  void declare_padding(int64_t begin, int64_t end, int64_t period, bool is_zero) const;
  /// A matrix (R, C) with rows of stride 1, extended into its padding to (rows, columns): a view, or itself if already
  /// large enough. Undefined if no such padding was declared, or if `needs_zero` and the padding may be non-zero.
  Tensor with_padding(int64_t rows, int64_t columns, bool needs_zero) const;

  /// One axis may be -1: inferred. Copies only if no view can do it.
  Tensor reshape(Shape shape) const;
  /// The stride between rows along the last axis, if each row is contiguous and they are equally spaced; else 0.
  int64_t row_stride() const;
  /// (…, C) as (rows, C): a view if row_stride() is not 0, else a row-major copy.
  Tensor as_rows() const;
  Tensor transpose(int axis_a, int axis_b) const;
  Tensor permute(const std::vector<int>& axes) const;
  /// Every `step`th element of [begin, end) of one axis; bounds below 0 count from its end. Throws Error unless 0 ≤
  /// begin ≤ end ≤ size and step ≥ 1.
  Tensor slice(int axis, int64_t begin, int64_t end = to_end, int64_t step = 1) const;
  static constexpr int64_t to_end = INT64_MAX;
  /// Element i of one axis, which vanishes; i below 0 counts from its end.
  Tensor select(int axis, int64_t i) const;
  /// Element i of the first axis: x[2][-1].
  Tensor operator[](int64_t i) const { return select(0, i); }
  /// Broadcasts axes of size 1 (and missing leading ones) with stride 0.
  Tensor expand(const Shape& shape) const;
  /// Itself, or a row-major copy: the only place where strided tensors become contiguous.
  Tensor contiguous() const;
  /// A copy with its own storage.
  Tensor clone() const;
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;

  /// The single element as a double. Throws Error unless there is exactly one.
  double item() const;
  /// All elements in row-major order, converted.
  template <class T>
  std::vector<T> to_vector() const;
  /// "f32 (2, 3)".
  std::string str() const;

 private:
  void* address() const;
  void require_defined(const char* op) const;
  void* checked(DType wanted) const;
  void* writable(void* address) const;

  std::shared_ptr<Storage> storage_;
  Shape shape_, strides_;
  int64_t offset_ = 0;
  DType dtype_ = DType::f32;
};

/// A number, or a list of them: what Tensor::of() takes.
struct Tensor::Nested {
  template <class T>
  requires std::is_arithmetic_v<T> Nested(T value) : values{static_cast<double>(value)} {}  // NOLINT: a number is one
  Nested(std::initializer_list<Nested> parts);

  Shape shape;                 ///< () of a number
  std::vector<double> values;  ///< row-major
};

/// "f32 (2, 3) [[1, 2, 3], [4, 5, 6]]": at most three elements from each end of an axis.
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

/// destination[...] = source[...] (same shape, dtype and device; either may be strided). If they overlap, the source's
/// old values count. Bumps the version. Throws Error if several destination elements share one address, as in an
/// expanded view.
void copy_inplace(const Tensor& destination, const Tensor& source);

/// The same from any dtype: converts each element, as Tensor::to() does.
void convert_inplace(const Tensor& destination, const Tensor& source);

/// A `source` that is safe to read while writing to `destination`: itself, or a copy if they overlap without being the
/// same view.
Tensor apart_from(const Tensor& destination, const Tensor& source);

}  // namespace headroom::engine
