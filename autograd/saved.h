#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/tensor.h"

namespace headroom::autograd {

/// A tensor that an op keeps for its gradient, and the version that its storage had then. The only form in which
/// record() takes a tensor to keep, so that none can be overwritten unnoticed.
class Saved {
 public:
  Saved(const char* name, engine::Tensor tensor)
      : name_(name), tensor_(std::move(tensor)), version_(tensor_.version()) {}
  /// The tensor, undefined where an optional one was absent. Throws Error naming `op` and this when its storage was
  /// written to since.
  const engine::Tensor& checked(const char* op) const {
    if (tensor_.version() != version_) refuse(op);
    return tensor_;
  }

 private:
  [[noreturn]] void refuse(const char* op) const;

  const char* name_;
  engine::Tensor tensor_;
  uint32_t version_;
};

namespace detail {

template <class T>
struct IsListOfNumbers : std::false_type {};
template <class T>
struct IsListOfNumbers<std::vector<T>> : std::is_arithmetic<T> {};

/// What a vjp may be given besides tensors: numbers, shapes, options, lists of numbers. Nothing that owns or points to
/// memory, behind which a tensor could hide from the check.
template <class T>
constexpr bool may_keep = std::is_same_v<T, Saved> || IsListOfNumbers<T>::value ||
                          (std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);

/// What the vjp receives for what was kept.
inline const engine::Tensor& given(const char* op, const Saved& saved) { return saved.checked(op); }
template <class T>
const T& given(const char*, const T& kept) {
  return kept;
}

}  // namespace detail
}  // namespace headroom::autograd
