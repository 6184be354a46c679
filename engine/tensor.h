#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/device.h"
#include "engine/dtype.h"
#include "engine/exception.h"
#include "engine/shape.h"
#include "engine/storage.h"

namespace headroom::engine {

/// A cheap value handle on a strided view of shared storage. Tensors are immutable once filled: only functions named
/// `*_inplace` write to one that others may see. Views (reshape, transpose, permute, slice, expand) copy nothing. What
/// needs a value throws Error on an undefined one.
///
/// Threads: several may read one storage and copy, view and drop handles of it at once. A write to it (`*_inplace`,
/// mutable_data()) must have no other reader or writer. One handle object is not assigned to while another thread
/// reads it.
class Tensor {
 public:
  Tensor() = default;  ///< undefined: "no gradient", "no bias"
  static Tensor empty(const Shape& shape, DType dtype = DType::f32, Device device = cpu);
  static Tensor zeros(const Shape& shape, DType dtype = DType::f32, Device device = cpu);
  static Tensor full(const Shape& shape, double value, DType dtype = DType::f32, Device device = cpu);
  /// Elements in row-major order. Throws Error when their number is not the shape's.
  template <class T>
  static Tensor from(const Shape& shape, const std::vector<T>& values);

  /// A contiguous tensor over memory of someone else (a mapped file), which lives as long as `owner`. It may be read
  /// but not written to: mutable_data() and everything `*_inplace` throw. Throws Error when `address` is not aligned
  /// for the dtype.
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
  /// Writes since the storage was made: see Storage.
  uint32_t version() const { return storage_ ? storage_->version() : 0; }
  /// Whether no other tensor sees the storage, so that its owner may write to it.
  bool is_unique() const { return storage_ && storage_.use_count() == 1; }
  bool shares_storage(const Tensor& other) const { return storage_ && storage_ == other.storage_; }
  /// Whether a byte between its first and its last element lies between other's first and last.
  bool overlaps(const Tensor& other) const;

  /// The first element. Throws Error unless the dtype is T's. For a strided tensor strides() is needed, too.
  template <class T>
  const T* data() const {
    return static_cast<const T*>(checked(dtype_of<T>()));
  }
  /// For the one who has just made the tensor with empty(), and for `*_inplace` functions. Counts as a write: what the
  /// tape has saved of this storage is no longer what it was.
  template <class T>
  T* mutable_data() const {
    return static_cast<T*>(writable(checked(dtype_of<T>())));
  }
  const void* raw() const { return address(); }
  void* mutable_raw() const { return writable(address()); }
  /// Says that the storage was written to by other means than mutable_data().
  void bump_version() const;
  /// Says that work on it is queued on the context's stream: its memory then outlives that work. Ops, copies and views
  /// do so by themselves.
  void use_on_stream() const;

  /// Says that elements [begin, end) of the storage, and the same of each `period` (0: these alone), are padding: see
  /// Padding. For the one who has just made the storage.
  void declare_padding(int64_t begin, int64_t end, int64_t period, bool is_zero) const;
  /// A matrix (R, C), rows of stride 1, with the padding behind its rows, or behind its last row, that makes it (rows,
  /// columns): a view, itself where it is as large. Undefined where no such padding was declared, or where `needs_zero`
  /// and it may hold something else.
  Tensor with_padding(int64_t rows, int64_t columns, bool needs_zero) const;

  /// One axis may be -1: inferred. A copy only where no view can do it.
  Tensor reshape(Shape shape) const;
  /// From each row along the last axis to the next, where all are in one piece each and equally far apart; else 0.
  int64_t row_stride() const;
  /// (…, C) as (rows, C): a view where there is a row_stride(), else a row-major copy.
  Tensor as_rows() const;
  Tensor transpose(int axis_a, int axis_b) const;
  Tensor permute(const std::vector<int>& axes) const;
  /// Elements [begin, end) of one axis.
  Tensor slice(int axis, int64_t begin, int64_t end) const;
  /// Broadcasts axes of size 1 (and missing leading ones) with stride 0.
  Tensor expand(const Shape& shape) const;
  /// Itself, or a row-major copy: the one place where strided becomes contiguous.
  Tensor contiguous() const;
  /// A copy with a storage of its own.
  Tensor clone() const;
  Tensor to(DType dtype) const;
  Tensor to(Device device) const;

  /// The single element as a double. Throws Error when there is not exactly one.
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

/// destination[...] = source[...] (same shape, dtype and device; either may be strided). Where the two overlap, the
/// source's values from before count. Bumps the version. Throws Error when several elements of the destination lie in
/// one place, as in an expanded view.
void copy_inplace(const Tensor& destination, const Tensor& source);

/// The same, from any dtype: each element is converted, as Tensor::to() does it.
void convert_inplace(const Tensor& destination, const Tensor& source);

/// What an elementwise `*_inplace` function may read as `source` while it writes to `destination`: source itself, or a
/// copy where they overlap without being the same view.
Tensor apart_from(const Tensor& destination, const Tensor& source);

}  // namespace headroom::engine
