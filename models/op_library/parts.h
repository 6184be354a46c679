#pragma once
#include "engine/elementwise/unary.h"
#include "engine/op_library.h"
#include "models/op_library/op_library.h"

namespace headroom::models {

/// What a library gave for one op.
struct LibraryKernels {
  engine::Kernel<void(const float*, float*, int64_t)> forward{};
  engine::Kernel<void(const float*, const float*, const float*, float*, int64_t)> backward{};
  engine::OpLibraryOp given{};
};

/// The calls of every elementwise op, with the functions to run.
struct LibraryCall : engine::UnaryCall {
  const LibraryKernels* kernels = nullptr;
};
struct LibraryGradCall : engine::UnaryGradCall {
  const LibraryKernels* kernels = nullptr;
};

struct LibraryOp::Parts {
  Parts(const std::string& op, const LibraryKernels& from);
  std::string name, grad_name;  ///< which the ops below point to
  LibraryKernels kernels;
  engine::Op<LibraryCall> forward;
  engine::Op<LibraryGradCall> grad;
};

}  // namespace headroom::models
