#pragma once
#include <type_traits>

#include "engine/dispatch/op.h"

// The GPU's rows of the ops' tables.
namespace headroom::engine::cuda {

namespace detail {

/// A function of a call, which is deduced from the op alone.
template <class Result, class Call>
using OnCall = Result (*)(std::type_identity_t<Call>&);

}  // namespace detail

/// Adds a kernel to an op's table: for some dtypes and, unless `supports` is null, for the calls that it accepts.
template <class Call>
void add_kernel(Op<Call>& op, const char* name, DTypeSet dtypes, detail::OnCall<void, Call> run,
                detail::OnCall<bool, const Call> supports = nullptr) {
  op.add({.name = name, .dtypes = dtypes, .run = run, .supports = supports, .device = Device::Kind::cuda});
}
/// The same for a kernel that reads operands as they lie.
template <class Call>
void add_strided_kernel(Op<Call>& op, const char* name, DTypeSet dtypes, detail::OnCall<void, Call> run,
                        detail::OnCall<bool, const Call> supports = nullptr) {
  op.add({.name = name,
          .dtypes = dtypes,
          .run = run,
          .takes_strided = true,
          .supports = supports,
          .device = Device::Kind::cuda});
}

/// Adds a kernel for each of f32, f64 and bf16.
template <class Call>
void add_kernels(Op<Call>& op, const char* name, detail::OnCall<void, Call> f32, detail::OnCall<void, Call> f64,
                 detail::OnCall<void, Call> halves) {
  add_kernel(op, name, DType::f32, f32);
  add_kernel(op, name, DType::f64, f64);
  add_kernel(op, name, DType::bf16, halves);
}
template <class Call>
void add_strided_kernels(Op<Call>& op, const char* name, detail::OnCall<void, Call> f32, detail::OnCall<void, Call> f64,
                         detail::OnCall<void, Call> halves) {
  add_strided_kernel(op, name, DType::f32, f32);
  add_strided_kernel(op, name, DType::f64, f64);
  add_strided_kernel(op, name, DType::bf16, halves);
}

}  // namespace headroom::engine::cuda
