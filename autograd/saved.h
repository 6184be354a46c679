#pragma once
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "engine/tensor.h"

namespace headroom::autograd {

/// A tensor that an op keeps for its gradient, with its storage's version at that time. record() keeps tensors only in
/// this form, so that none can be overwritten unnoticed.
class Saved {
 public:
  Saved(const char* name, engine::Tensor tensor)
      : name_(name), tensor_(std::move(tensor)), version_(tensor_.version()) {}
  /// The tensor; undefined if an optional one was absent. Throws Error naming `op` and this tensor if its storage was
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

/// Accepts a vjp's arguments besides tensors: numbers, shapes, options, lists of numbers. Rejects anything that owns or
/// points to memory, where a tensor could hide from the check.
template <class T>
constexpr bool may_keep = std::is_same_v<T, Saved> || IsListOfNumbers<T>::value ||
                          (std::is_trivially_copyable_v<T> && !std::is_pointer_v<T>);

/// The vjp's argument for a kept value.
inline const engine::Tensor& given(const char* op, const Saved& saved) { return saved.checked(op); }
template <class T>
const T& given(const char*, const T& kept) {
  return kept;
}

}  // namespace detail
}  // namespace headroom::autograd
