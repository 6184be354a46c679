// Libraries that must be refused: WRONG says what is wrong with each.
#include <string_view>

#include "engine/op_library.h"
#include "engine/ops/elementwise/activations.h"

namespace {

using namespace headroom::engine;

constexpr std::string_view wrong = WRONG;

void forward(const float* x, float* y, int64_t n) { unary_forward_loop<Relu, float>(x, y, n); }
void backward(const float* dy, const float* x, const float* y, float* dx, int64_t n) {
  unary_grad_loop<Relu, float>(dy, x, y, dx, n);
}

constexpr OpLibraryOp named(const char* name) { return library_op<Relu>(name, {forward}, {backward}); }

constexpr OpLibraryOp first() {
  OpLibraryOp op = named(wrong == "name" ? "Own-Relu" : wrong == "built-in" ? "gelu" : "own_relu");
  if (wrong == "levels") op.levels[0].isa = "avx2";
  if (wrong == "unknown-level") op.levels[0].isa = "sse9";
  if (wrong == "loops") op.forward_f64 = nullptr;
  return op;
}

constexpr OpLibraryOp ops[] = {first(), named(wrong == "twice" ? "own_relu" : "other_relu")};
constexpr OpLibrary library{wrong == "abi" ? op_library_abi + 1 : op_library_abi, wrong == "empty" ? 0u : 2u,
                            wrong == "version" ? "7.3.1" : HEADROOM_VERSION, ops};

}  // namespace

#ifdef NO_SYMBOL
extern "C" __attribute__((visibility("default"))) const OpLibrary* another_symbol() { return &library; }
#else
extern "C" __attribute__((visibility("default"))) const OpLibrary* headroom_op_library() { return &library; }
#endif
