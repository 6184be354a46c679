#include "engine/tensor.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <ostream>
#include <type_traits>
#include <utility>

#include "engine/context.h"
#include "engine/convert.h"
#include "engine/error.h"
#include "engine/parallel.h"
#include "engine/side_stream.h"
#include "engine/transfer.h"

namespace headroom::engine {
namespace {

/// A piece of a pair of strided tensors, in elements: `rows` × n at (r · to_row + i · to_step) and (r + i · from_step).
struct Piece {
  int64_t to, from, n, to_step, from_step, rows, to_row;
};

/// Calls f(piece) for pieces of one row along the last axis of a pair of strided tensors of one shape. If the source is
/// contiguous along another axis, as in a transposed matrix, they are tiles, so that a cache line is read once.
template <class F>
void for_each_piece(const Shape& shape, const Shape& to, const Shape& from, F&& f) {
  if (shape.numel() == 0) return;
  if (shape.rank() == 0) return f(Piece{0, 0, 1, 1, 1, 1, 1});
  constexpr int64_t tile = 16;  // f32 in a cache line
  const int last = shape.rank() - 1;
  int deep = -1;  // the other axis of tiles
  for (int axis = 0; axis < last && from[last] != 1; ++axis)
    if (from[axis] == 1 && shape[axis] > 1) deep = axis;
  const Shape grid = deep < 0 ? shape : shape.with(deep, (shape[deep] + tile - 1) / tile);
  const int64_t runs = grid.numel(0, last), n = shape[last], wide = deep < 0 ? n : tile;
  parallel_for(runs, std::max<int64_t>(1, (int64_t{1} << 15) / n), [&](int64_t run) {
    int64_t rest = run;
    Piece piece{0, 0, 0, to[last], from[last], 1, deep < 0 ? 0 : to[deep]};
    for (int axis = last - 1; axis >= 0; --axis) {
      const int64_t i = rest % grid[axis] * (axis == deep ? tile : 1);
      rest /= grid[axis];
      piece.to += i * to[axis];
      piece.from += i * from[axis];
      if (axis == deep) piece.rows = std::min(tile, shape[deep] - i);
    }
    for (int64_t i = 0; i < n; i += wide) {
      piece.n = std::min(wide, n - i);
      f(piece);
      piece.to += wide * to[last];
      piece.from += wide * from[last];
    }
  });
}

template <class To, class From>
void convert_piece(const Piece& at, To* y, const From* x) {
  for (int64_t row = 0; row < at.rows; ++row)
    for (int64_t i = 0; i < at.n; ++i)
      y[at.to + row * at.to_row + i * at.to_step] = convert<To>(x[at.from + row + i * at.from_step]);
}

/// Copies a piece: a row, or squares of 4 × 4 transposed in registers, four times as fast as one by one.
template <class T>
void copy_piece(const Piece& at, T* y, const T* x) {
  if (at.rows == 1 && at.to_step == 1 && at.from_step == 1) {
    std::memcpy(y + at.to, x + at.from, static_cast<size_t>(at.n) * sizeof(T));
    return;
  }
  const auto square = [&](int64_t row, int64_t i) {
    typedef std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>> Bits;
    typedef Bits Four __attribute__((vector_size(4 * sizeof(Bits))));
    Four in[4], out[4];
    for (int64_t k = 0; k < 4; ++k) std::memcpy(&in[k], x + at.from + row + (i + k) * at.from_step, sizeof(Four));
    const Four a = __builtin_shufflevector(in[0], in[1], 0, 4, 1, 5),
               b = __builtin_shufflevector(in[0], in[1], 2, 6, 3, 7);
    const Four c = __builtin_shufflevector(in[2], in[3], 0, 4, 1, 5),
               d = __builtin_shufflevector(in[2], in[3], 2, 6, 3, 7);
    out[0] = __builtin_shufflevector(a, c, 0, 1, 4, 5), out[1] = __builtin_shufflevector(a, c, 2, 3, 6, 7);
    out[2] = __builtin_shufflevector(b, d, 0, 1, 4, 5), out[3] = __builtin_shufflevector(b, d, 2, 3, 6, 7);
    for (int64_t k = 0; k < 4; ++k)
      std::memcpy(static_cast<void*>(y + at.to + (row + k) * at.to_row + i), &out[k], sizeof(Four));
  };
  int64_t rows = 0, n = 0;  // what squares cover
  if constexpr (sizeof(T) > 1)
    if (at.to_step == 1) rows = at.rows / 4 * 4, n = at.n / 4 * 4;
  for (int64_t row = 0; row < rows; row += 4)
    for (int64_t i = 0; i < n; i += 4) square(row, i);
  if (rows == at.rows && n == at.n) return;
  for (int64_t row = 0; row < at.rows; ++row)
    for (int64_t i = row < rows ? n : 0; i < at.n; ++i)
      y[at.to + row * at.to_row + i * at.to_step] = x[at.from + row + i * at.from_step];
}

/// Bytes of a contiguous tensor. Throws Error for a negative size, and for more elements or bytes than int64_t counts.
int64_t byte_count(const Shape& shape, DType dtype) {
  for (int64_t dim : shape)
    if (dim < 0) fail("tensor: shape {} has a negative size", shape.str());
  int64_t bytes = 0;
  if (__builtin_mul_overflow(shape.numel(), size_of(dtype), &bytes))
    fail("tensor: shape {} has too many elements", shape.str());
  return bytes;
}

/// Bytes from the first element to the end of the last; 0 of an empty tensor.
int64_t extent_of(const Tensor& x) {
  if (x.numel() == 0) return 0;
  int64_t last = 0;
  for (int axis = 0; axis < x.rank(); ++axis) last += (x.dim(axis) - 1) * x.strides()[axis];
  return (last + 1) * size_of(x.dtype());
}

}  // namespace

Tensor Tensor::empty(const Shape& shape, DType dtype, Device device) {
  if (!device.is_cpu()) check_device(device);
  Tensor tensor;
  const int64_t bytes = byte_count(shape, dtype);
  tensor.shape_ = shape;
  tensor.strides_ = shape.contiguous_strides();
  tensor.dtype_ = dtype;
  tensor.storage_ = std::make_shared<Storage>(device, static_cast<size_t>(bytes));
  return tensor;
}

Tensor Tensor::zeros(const Shape& shape, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  fill_bytes(device, tensor.address(), 0, static_cast<size_t>(tensor.numel() * size_of(dtype)));
  return tensor;
}

Tensor Tensor::full(const Shape& shape, double value, DType dtype, Device device) {
  Tensor tensor = empty(shape, dtype, device);
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    const T element = convert<T>(value);
    if (device.is_cpu()) std::fill_n(tensor.mutable_data<T>(), tensor.numel(), element);
    else fill_elements(tensor, &element);
  });
  return tensor;
}

Tensor Tensor::ones(const Shape& shape, DType dtype, Device device) { return full(shape, 1, dtype, device); }

Tensor Tensor::arange(int64_t begin, int64_t end, int64_t step, DType dtype) {
  require(step != 0, "arange: the step is 0");
  const bool is_empty = step > 0 ? begin >= end : begin <= end;
  const uint64_t first = static_cast<uint64_t>(begin), by = static_cast<uint64_t>(step);  // wrap instead of overflowing
  const uint64_t span = step > 0 ? static_cast<uint64_t>(end) - first : first - static_cast<uint64_t>(end);
  const uint64_t count = is_empty ? 0 : (span - 1) / (step > 0 ? by : -by) + 1;
  const Tensor x = empty({static_cast<int64_t>(count)}, DType::i64);
  for (uint64_t i = 0; i < count; ++i) x.mutable_data<int64_t>()[i] = static_cast<int64_t>(first + i * by);
  return x.to(dtype);
}

Tensor Tensor::eye(int64_t n, DType dtype) {
  const Tensor x = zeros({n, n}, DType::f64);
  for (int64_t i = 0; i < n; ++i) x.mutable_data<double>()[i * n + i] = 1;
  return x.to(dtype);
}

Tensor Tensor::over(const void* address, std::shared_ptr<const void> owner, const Shape& shape, DType dtype) {
  const int64_t bytes = byte_count(shape, dtype);
  require(bytes == 0 || reinterpret_cast<uintptr_t>(address) % static_cast<uintptr_t>(size_of(dtype)) == 0,
          "tensor: memory at an address that is no multiple of {} bytes cannot be read as {} {}", size_of(dtype),
          name_of(dtype), shape);
  Tensor tensor;
  tensor.shape_ = shape;
  tensor.strides_ = shape.contiguous_strides();
  tensor.dtype_ = dtype;
  tensor.storage_ = std::make_shared<Storage>(address, std::move(owner));
  return tensor;
}

Tensor::Nested::Nested(std::initializer_list<Nested> parts) : shape{std::ssize(parts)} {
  for (const Nested& part : parts) {
    if (part.shape != parts.begin()->shape)
      fail("tensor: a list of {} and {}: all parts need one shape", parts.begin()->shape.str(), part.shape.str());
    values.insert(values.end(), part.values.begin(), part.values.end());
  }
  if (parts.size() > 0)
    for (int64_t n : parts.begin()->shape) shape.push_back(n);
}

Tensor Tensor::of(const Nested& values, DType dtype) { return from<double>(values.shape, values.values).to(dtype); }

template <class T>
Tensor Tensor::from(const Shape& shape, const std::vector<T>& values) {
  Tensor tensor = empty(shape, dtype_of<T>());
  require(static_cast<int64_t>(values.size()) == tensor.numel(), "tensor: {} values for shape {}", values.size(),
          shape);
  std::copy(values.begin(), values.end(), tensor.mutable_data<T>());
  return tensor;
}

bool Tensor::is_contiguous() const {
  int64_t step = 1;
  for (int axis = rank() - 1; axis >= 0; --axis) {
    if (shape_[axis] != 1 && strides_[axis] != step) return numel() == 0;
    step *= shape_[axis];
  }
  return true;
}

void Tensor::require_defined(const char* op) const {
  if (!storage_) fail("{}: the tensor is undefined", op);
}

void Tensor::bump_version() const {
  require_defined("bump_version");
  storage_->bump_version();
}

void Tensor::use_on_stream() const {
  if (!storage_ || storage_->device().is_cpu()) return;
  if (SideStream* side = side_stream()) side->use(storage_);
  else storage_->used_on(context().stream);
}

bool Tensor::overlaps(const Tensor& other) const {
  const int64_t bytes = extent_of(*this), other_bytes = extent_of(other);
  if (!storage_ || !other.storage_ || device() != other.device() || bytes == 0 || other_bytes == 0) return false;
  const auto *begin = static_cast<const char*>(raw()), *other_begin = static_cast<const char*>(other.raw());
  return std::less<>()(begin, other_begin + other_bytes) && std::less<>()(other_begin, begin + bytes);
}

void* Tensor::address() const {
  require(defined(), "tensor: undefined where a value was expected");
  return static_cast<char*>(storage_->address()) + offset_ * size_of(dtype_);
}

void* Tensor::checked(DType wanted) const {
  if (defined() && wanted != dtype_) fail("tensor: {} read as {}", str(), name_of(wanted));
  return address();
}

void* Tensor::writable(void* address) const {
  if (storage_->is_read_only()) fail("tensor: {} views memory that may not be written to", str());
  storage_->bump_version();
  return address;
}

void Tensor::declare_padding(int64_t begin, int64_t end, int64_t period, bool is_zero) const {
  require_defined("declare_padding");
  const int64_t size = size_of(dtype_);
  storage_->declare({begin * size, end * size, period * size, is_zero});
}

Tensor Tensor::with_padding(int64_t rows, int64_t columns, bool needs_zero) const {
  require(rank() == 2 && rows >= dim(0) && columns >= dim(1), "with_padding: {} to ({}, {})", str(), rows, columns);
  if (rows == dim(0) && columns == dim(1)) return *this;
  const bool has_more_rows = rows > dim(0), has_more_columns = columns > dim(1);
  if (numel() == 0 || strides_[1] != 1 || (has_more_rows && (has_more_columns || strides_[0] != dim(1))))
    return Tensor();
  const int64_t size = size_of(dtype_), pitch = strides_[0] * size;
  const int64_t begin = (offset_ + (has_more_rows ? numel() : dim(1))) * size;
  const int64_t bytes = (has_more_rows ? (rows - dim(0)) * columns : columns - dim(1)) * size;
  for (const Padding& padding : storage_->paddings()) {
    if (needs_zero && !padding.is_zero) continue;
    if (padding.period != (has_more_rows ? 0 : pitch)) continue;
    // Rows of which each is its own period end in the same place of it as the first.
    const int64_t from = has_more_rows ? begin : (begin - 1) % pitch + 1;
    if (from < padding.begin || from + bytes > padding.end) continue;
    Tensor view = *this;
    view.shape_ = {rows, columns};
    view.strides_ = {has_more_rows ? columns : strides_[0], 1};
    return view;
  }
  return Tensor();
}

Tensor Tensor::reshape(Shape shape) const {
  require_defined("reshape");
  int inferred = -1;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != -1) continue;
    require(inferred < 0, "reshape: more than one axis is -1: {}", shape);
    inferred = axis;
  }
  const int64_t known = inferred < 0 ? 1 : shape.with(inferred, 1).numel();
  if (inferred >= 0 && known > 0) shape[inferred] = numel() / known;
  if (shape.numel() != numel() || (inferred >= 0 && known == 0) ||
      std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; }))
    fail("reshape: {} elements do not fit: from {} to {}", numel(), shape_.str(), shape.str());
  Tensor view = contiguous();
  view.shape_ = shape;
  view.strides_ = shape.contiguous_strides();
  return view;
}

int64_t Tensor::row_stride() const {
  if (rank() == 0 || numel() == 0) return 0;
  const int64_t width = dim(-1);
  if (is_contiguous()) return width;
  if (width > 1 && strides_[rank() - 1] != 1) return 0;
  int64_t stride = 0, next = 0;
  for (int axis = rank() - 2; axis >= 0; --axis) {
    if (shape_[axis] == 1) continue;
    if (stride == 0) stride = next = strides_[axis];
    if (strides_[axis] != next) return 0;
    next *= shape_[axis];
  }
  return stride >= width ? stride : 0;
}

Tensor Tensor::as_rows() const {
  require(rank() > 0, "as_rows: {} has no last axis", shape_);
  const int64_t stride = row_stride();
  const Shape rows{shape_.numel(0, rank() - 1), dim(-1)};
  if (stride == 0) return reshape(rows);
  Tensor view = *this;
  view.shape_ = rows;
  view.strides_ = {stride, 1};
  return view;
}

Tensor Tensor::transpose(int axis_a, int axis_b) const {
  require_defined("transpose");
  const int a = shape_.index(axis_a, "transpose"), b = shape_.index(axis_b, "transpose");
  Tensor view = *this;
  std::swap(view.shape_[a], view.shape_[b]);
  std::swap(view.strides_[a], view.strides_[b]);
  return view;
}

Tensor Tensor::permute(const std::vector<int>& axes) const {
  require_defined("permute");
  require(static_cast<int>(axes.size()) == rank(), "permute: {} axes for shape {}", axes.size(), shape_);
  Tensor view = *this;
  std::vector<bool> seen(axes.size());
  for (int i = 0; i < rank(); ++i) {
    const int axis = shape_.index(axes[static_cast<size_t>(i)], "permute");
    require(!seen[static_cast<size_t>(axis)], "permute: axis {} named twice for shape {}", axis, shape_);
    seen[static_cast<size_t>(axis)] = true;
    view.shape_[i] = shape_[axis];
    view.strides_[i] = strides_[axis];
  }
  return view;
}

Tensor Tensor::slice(int axis, int64_t begin, int64_t end, int64_t step) const {
  require_defined("slice");
  axis = shape_.index(axis, "slice");
  const int64_t n = shape_[axis];
  const int64_t first = begin < 0 ? begin + n : begin, stop = end == to_end ? n : end < 0 ? end + n : end;
  if (first < 0 || first > stop || stop > n)
    fail("slice: [{}, {}) is outside axis {} of shape {}", begin, end == to_end ? n : end, axis, shape_.str());
  require(step >= 1, "slice: a step of {}", step);
  Tensor view = *this;
  view.shape_[axis] = first == stop ? 0 : (stop - first - 1) / step + 1;
  view.offset_ += first * strides_[axis];
  if (view.shape_[axis] > 1) view.strides_[axis] *= step;
  return view;
}

Tensor Tensor::select(int axis, int64_t i) const {
  require_defined("select");
  axis = shape_.index(axis, "select");
  const int64_t at = i < 0 ? i + shape_[axis] : i;
  if (at < 0 || at >= shape_[axis]) fail("select: {} is outside axis {} of shape {}", i, axis, shape_.str());
  Tensor view = *this;
  view.shape_ = shape_.without(axis);
  view.strides_ = strides_.without(axis);
  view.offset_ += at * strides_[axis];
  return view;
}

Tensor Tensor::expand(const Shape& shape) const {
  require_defined("expand");
  const bool negative = std::any_of(shape.begin(), shape.end(), [](int64_t n) { return n < 0; });
  if (negative || !broadcasts_to(shape_, shape)) fail("expand: {} does not broadcast to {}", shape_.str(), shape.str());
  Tensor view = *this;
  view.shape_ = shape;
  view.strides_ = Shape::of_rank(shape.rank(), 0);
  for (int axis = 1; axis <= rank(); ++axis)
    if (shape_[-axis] == shape[-axis]) view.strides_[-axis] = strides_[-axis];
  return view;
}

Tensor Tensor::contiguous() const { return is_contiguous() ? *this : clone(); }

Tensor Tensor::clone() const {
  Tensor copy = empty(shape_, dtype_, device());
  copy_inplace(copy, *this);
  return copy;
}

Tensor Tensor::to(DType dtype) const {
  if (dtype == dtype_) return *this;
  Tensor out = empty(shape_, dtype, device());
  if (!device().is_cpu()) {
    use_on_stream();
    convert_elements(out, *this);
    return out;
  }
  visit_dtype(dtype, [&](auto to_zero) {
    visit_dtype(dtype_, [&](auto from_zero) {
      using To = decltype(to_zero);
      using From = decltype(from_zero);
      To* y = out.mutable_data<To>();
      const From* x = data<From>();
      for_each_piece(shape_, out.strides_, strides_, [&](const Piece& piece) { convert_piece(piece, y, x); });
    });
  });
  return out;
}

Tensor Tensor::to(Device device) const {
  if (device == this->device()) return *this;
  const Tensor source = contiguous();
  source.use_on_stream();
  Tensor out = empty(shape_, dtype_, device);
  copy_bytes(device, out.address(), source.device(), source.address(), static_cast<size_t>(numel() * size_of(dtype_)));
  return out;
}

double Tensor::item() const {
  require(defined() && numel() == 1, "item: {} has not exactly one element", str());
  return to_vector<double>()[0];
}

template <class T>
std::vector<T> Tensor::to_vector() const {
  const Tensor values = to(cpu).to(dtype_of<T>()).contiguous();
  return std::vector<T>(values.data<T>(), values.data<T>() + numel());
}

std::string Tensor::str() const {
  return defined() ? fmt::format("{} {}", name_of(dtype_), shape_.str()) : std::string("undefined");
}

static void print(std::ostream& out, const Tensor& x) {
  if (x.rank() == 0) {
    out << fmt::format("{:.6g}", x.item());
    return;
  }
  const int64_t n = x.dim(0);
  out << '[';
  for (int64_t i = 0; i < n; ++i) {
    out << (i > 0 ? ", " : "");
    if (n > 6 && i == 3) out << "…, ", i = n - 3;
    print(out, x[i]);
  }
  out << ']';
}

std::ostream& operator<<(std::ostream& out, const Tensor& tensor) {
  out << tensor.str();
  if (tensor.defined()) print(out << ' ', tensor.to(cpu));
  return out;
}

Tensor apart_from(const Tensor& destination, const Tensor& source) {
  const bool is_same = destination.overlaps(source) && destination.raw() == source.raw() &&
                       destination.shape() == source.shape() && destination.strides() == source.strides() &&
                       destination.dtype() == source.dtype();
  return !is_same && destination.overlaps(source) ? source.clone() : source;
}

void copy_inplace(const Tensor& destination, const Tensor& given) {
  if (!destination.defined() || !given.defined() || destination.shape() != given.shape() ||
      destination.dtype() != given.dtype())
    fail("copy_inplace: destination {}, source {}", destination.str(), given.str());
  for (int axis = 0; axis < destination.rank(); ++axis)
    if (destination.strides()[axis] == 0 && destination.dim(axis) > 1)
      fail("copy_inplace: destination {} is expanded along axis {}: its elements share memory", destination.str(),
           axis);
  const Tensor source = apart_from(destination, given);
  const DType dtype = source.dtype();
  destination.bump_version();
  destination.use_on_stream();
  source.use_on_stream();
  if (destination.is_contiguous() && source.is_contiguous()) {
    copy_bytes(destination.device(), destination.mutable_raw(), source.device(), source.raw(),
               static_cast<size_t>(source.numel() * size_of(dtype)));
    return;
  }
  if (!source.device().is_cpu() || !destination.device().is_cpu()) {
    strided_copy(destination, source);
    return;
  }
  visit_dtype(dtype, [&](auto zero) {
    using T = decltype(zero);
    T* y = destination.mutable_data<T>();
    const T* x = source.data<T>();
    for_each_piece(source.shape(), destination.strides(), source.strides(),
                   [&](const Piece& piece) { copy_piece(piece, y, x); });
  });
}

void convert_inplace(const Tensor& destination, const Tensor& source) {
  const bool converts_there = !destination.device().is_cpu() && destination.device() == source.device() &&
                              destination.shape() == source.shape() && destination.dtype() != source.dtype() &&
                              destination.is_contiguous() && !destination.overlaps(source);
  if (!converts_there) return copy_inplace(destination, source.to(destination.dtype()));
  destination.use_on_stream();
  source.use_on_stream();
  convert_elements(destination, source);
}

#define HEADROOM_INSTANTIATE(T)                                         \
  template Tensor Tensor::from<T>(const Shape&, const std::vector<T>&); \
  template std::vector<T> Tensor::to_vector<T>() const;
HEADROOM_INSTANTIATE(float)
HEADROOM_INSTANTIATE(double)
HEADROOM_INSTANTIATE(int64_t)
HEADROOM_INSTANTIATE(int32_t)
HEADROOM_INSTANTIATE(int8_t)
HEADROOM_INSTANTIATE(uint8_t)
HEADROOM_INSTANTIATE(bool)
HEADROOM_INSTANTIATE(bf16)
HEADROOM_INSTANTIATE(f16)
#undef HEADROOM_INSTANTIATE

}  // namespace headroom::engine
