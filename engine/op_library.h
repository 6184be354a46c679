#pragma once
#include <cstdint>

#include "engine/elementwise/reference.h"
#include "engine/kernel.h"

/// The version of these headers, which a library of ops is built with.
#define HEADROOM_VERSION "0.1.0"

// What a shared library with ops of its own tells the program that loads it: plain structs and function pointers. It
// links nothing of headroom, and so cannot clash with the engine in the program. See docs/adding.md.
namespace headroom::engine {

/// Changes whenever a struct below does. It is the first field, so that every program can read it.
inline constexpr uint32_t op_library_abi = 1;

template <class T>
using LibraryForward = void (*)(const T* x, T* y, int64_t n);
/// x and y are null where the op does not read them.
template <class T>
using LibraryBackward = void (*)(const T* dy, const T* x, const T* y, T* dx, int64_t n);

/// The kernels of one instruction set, "portable", "avx2" or "avx512".
struct OpLibraryLevel {
  const char* isa;
  LibraryForward<float> forward;
  LibraryBackward<float> backward;
};

/// An elementwise op y = f(x), with dx = dy · f'(x): the loops that define it, and kernels in f32.
struct OpLibraryOp {
  static constexpr uint32_t most_levels = 4;
  const char* name;
  uint32_t reads_x, reads_y;  ///< 0 or 1: whether dx needs x, y
  LibraryForward<float> forward_f32;
  LibraryBackward<float> backward_f32;
  LibraryForward<double> forward_f64;
  LibraryBackward<double> backward_f64;
  uint32_t level_count;  ///< of `levels`; "portable" is always among them
  OpLibraryLevel levels[most_levels];
};

struct OpLibrary {
  uint32_t abi;
  uint32_t op_count;
  const char* version;  ///< HEADROOM_VERSION
  const OpLibraryOp* ops;
};

/// The only symbol that a library must export, as extern "C".
inline constexpr const char* op_library_symbol = "headroom_op_library";
using OpLibraryFunction = const OpLibrary* (*)();

/// An op from its functor, whose loops define it, and its kernels: library_op<Softplus>("softplus",
/// kernel::softplus_forward, kernel::softplus_backward).
template <class F>
constexpr OpLibraryOp library_op(const char* name, const Kernel<void(const float*, float*, int64_t)>& forward,
                                 const Kernel<void(const float*, const float*, const float*, float*, int64_t)>& back) {
  OpLibraryOp op{};
  op.name = name;
  op.reads_x = F::reads_x, op.reads_y = F::reads_y;
  op.forward_f32 = unary_forward_loop<F, float>, op.backward_f32 = unary_grad_loop<F, float>;
  op.forward_f64 = unary_forward_loop<F, double>, op.backward_f64 = unary_grad_loop<F, double>;
  op.levels[op.level_count++] = {"portable", forward.portable, back.portable};
  if (forward.avx2 && back.avx2) op.levels[op.level_count++] = {"avx2", forward.avx2, back.avx2};
  if (forward.avx512 && back.avx512) op.levels[op.level_count++] = {"avx512", forward.avx512, back.avx512};
  return op;
}

}  // namespace headroom::engine

/// HEADROOM_OP_LIBRARY(library_op<F>(…), …), once in a library and outside of any namespace: its ops. Not constexpr:
/// under the undefined-behaviour sanitizer GCC takes the address of a function for no constant.
#define HEADROOM_OP_LIBRARY(...)                                                                               \
  extern "C" __attribute__((visibility("default"))) const headroom::engine::OpLibrary* headroom_op_library() { \
    using namespace headroom::engine;                                                                          \
    static const OpLibraryOp ops[] = {__VA_ARGS__};                                                            \
    static const OpLibrary library{op_library_abi, sizeof(ops) / sizeof(ops[0]), HEADROOM_VERSION, ops};       \
    return &library;                                                                                           \
  }
