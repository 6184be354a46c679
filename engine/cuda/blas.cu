#include "engine/cuda/blas.h"

#include <cublasLt.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <type_traits>
#include <utility>

#include "engine/allocator.h"
#include "engine/context.h"
#include "engine/cuda/check.h"

/// Runs a call of cuBLASLt and throws Error unless it returns success.
#define HEADROOM_CUBLAS(call)                                                   \
  do {                                                                          \
    if (const cublasStatus_t code = (call); code != CUBLAS_STATUS_SUCCESS)      \
      device_failure(#call, __FILE__, __LINE__, cublasLtGetStatusString(code)); \
  } while (false)

namespace headroom::engine::cuda {
namespace {

/// A vendor handle that destroys itself.
template <class Handle, cublasStatus_t (*destroy)(Handle)>
struct Destroy {
  void operator()(Handle handle) const { destroy(handle); }
};
template <class Handle, cublasStatus_t (*destroy)(Handle)>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy<Handle, destroy>>;

using Library = Owned<cublasLtHandle_t, cublasLtDestroy>;
using Operation = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

/// The most scratch memory that a plan may ask for: what NVIDIA advises for the largest of these GPUs.
constexpr size_t most_workspace = size_t{32} << 20;
/// Plans that are kept; a training run needs some dozens. When there are more, all are made anew.
constexpr size_t most_plans = 1024;

struct Types {
  cudaDataType_t element, scale;
  cublasComputeType_t compute;
};
Types types_of(DType dtype, bool tf32) {
  if (dtype == DType::f64) return {CUDA_R_64F, CUDA_R_64F, CUBLAS_COMPUTE_64F};
  if (dtype == DType::bf16) return {CUDA_R_16BF, CUDA_R_32F, CUBLAS_COMPUTE_32F};
  return {CUDA_R_32F, CUDA_R_32F, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F};
}

/// A row-major (rows, columns) is to cuBLASLt a column-major (columns, rows).
Layout layout_of(const BlasProduct& p, DType dtype, int64_t rows, int64_t columns, int64_t row, int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  HEADROOM_CUBLAS(cublasLtMatrixLayoutCreate(&made, types_of(dtype, false).element, static_cast<uint64_t>(columns),
                                             static_cast<uint64_t>(rows), row));
  Layout layout(made);
  const auto batch = static_cast<int32_t>(p.batch);
  HEADROOM_CUBLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
  HEADROOM_CUBLAS(
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
  return layout;
}

template <class T>
void set(cublasLtMatmulDesc_t operation, cublasLtMatmulDescAttributes_t attribute, T value) {
  HEADROOM_CUBLAS(cublasLtMatmulDescSetAttribute(operation, attribute, &value, sizeof value));
}

/// Bytes, at most 256, that addresses are multiples of: a view into an arena need not spoil the operands that are whole
/// tensors. What an epilogue reads or writes counts with y.
struct Alignment {
  uint32_t a, b, y;
  auto operator<=>(const Alignment&) const = default;
};

/// The key of a plan.
struct Kind {
  BlasProduct product;
  Alignment alignment;
  bool tf32;
  auto operator<=>(const Kind&) const = default;
};

/// yᵀ = op(b)ᵀ · op(a)ᵀ: in column-major terms b comes first. y's columns there are our rows, so a bias of the
/// library's rows is one of our columns, and the sum over k of the library's second matrix is that of our a.
struct Plan {
  Operation operation;
  Layout a, b, y;
  std::optional<cublasLtMatmulHeuristicResult_t> choice;  ///< nothing: the library does not have it

  Plan(cublasLtHandle_t library, const Kind& kind, const BlasOperands& o) {
    const BlasProduct& p = kind.product;
    const auto operand = [&](bool transposed, int64_t rows, int64_t columns, int64_t row, int64_t step) {
      return layout_of(p, p.dtype, transposed ? columns : rows, transposed ? rows : columns, row, step);
    };
    a = operand(p.transpose_a, p.m, p.k, p.row_a, p.step_a);
    b = operand(p.transpose_b, p.k, p.n, p.row_b, p.step_b);
    y = layout_of(p, p.result, p.m, p.n, p.row_y, p.step_y);
    const Types types = types_of(p.dtype, kind.tf32);
    cublasLtMatmulDesc_t made = nullptr;
    HEADROOM_CUBLAS(cublasLtMatmulDescCreate(&made, types.compute, types.scale));
    operation.reset(made);
    set(made, CUBLASLT_MATMUL_DESC_TRANSA, p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N);
    set(made, CUBLASLT_MATMUL_DESC_TRANSB, p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N);
    if (p.epilogue != BlasEpilogue::none) {
      set(made, CUBLASLT_MATMUL_DESC_EPILOGUE,
          p.epilogue == BlasEpilogue::bias ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_BGRADB);
      set(made, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, types_of(p.result, false).element);
    }
    take_bias(p, o);
    choose(library, kind);
  }

  void take_bias(const BlasProduct& p, const BlasOperands& o) {
    if (p.epilogue == BlasEpilogue::bias) set(operation.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias);
    if (p.epilogue == BlasEpilogue::bias_grad) set(operation.get(), CUBLASLT_MATMUL_DESC_BIAS_POINTER, o.bias_grad);
  }

 private:
  void choose(cublasLtHandle_t library, const Kind& kind) {
    cublasLtMatmulPreference_t made = nullptr;
    HEADROOM_CUBLAS(cublasLtMatmulPreferenceCreate(&made));
    const Preference preference(made);
    HEADROOM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                         &most_workspace, sizeof most_workspace));
    // Partial sums of a product whose k is split are added in its arithmetic's type, not rounded to y's first.
    const uint32_t reductions = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;
    HEADROOM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(made, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, &reductions,
                                                         sizeof reductions));
    const Alignment& has = kind.alignment;
    for (const auto& [attribute, bytes] : {std::pair{CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, has.b},
                                           {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, has.a},
                                           {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, has.y},
                                           {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, has.y}})
      HEADROOM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(made, attribute, &bytes, sizeof bytes));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t answer = cublasLtMatmulAlgoGetHeuristic(library, operation.get(), b.get(), a.get(), y.get(),
                                                                 y.get(), made, 1, &best, &found);
    const bool is_refused = answer == CUBLAS_STATUS_NOT_SUPPORTED || answer == CUBLAS_STATUS_INVALID_VALUE;
    if (is_refused || (answer != CUBLAS_STATUS_SUCCESS && kind.product.epilogue != BlasEpilogue::none)) return;
    HEADROOM_CUBLAS(answer);
    if (found > 0 && best.state == CUBLAS_STATUS_SUCCESS) choice = best;
  }
};

Alignment alignment_of(const BlasOperands& o) {
  const auto of = [](std::initializer_list<const void*> addresses) {
    uintptr_t bits = 256;
    for (const void* address : addresses) bits |= reinterpret_cast<uintptr_t>(address);
    return static_cast<uint32_t>(bits & (~bits + 1));
  };
  return {of({o.a}), of({o.b}), of({o.y, o.bias, o.bias_grad, o.added})};
}

/// The library and its plans on one GPU. A call holds the lock, as the addresses of biases are part of a plan.
struct Blas {
  std::mutex mutex;
  Library library;
  std::map<Kind, Plan> plans;

  Blas() {
    cublasLtHandle_t made = nullptr;
    HEADROOM_CUBLAS(cublasLtCreate(&made));
    library.reset(made);
  }

  Plan& plan(const BlasProduct& product, const BlasOperands& o) {
    // Operands that were rounded to bf16 lose nothing in TF32.
    const bool tf32 = context().tf32 || context().precision == Precision::bf16;
    const Kind kind{product, alignment_of(o), product.dtype == DType::f32 && tf32};
    const auto found = plans.find(kind);
    if (found != plans.end()) return found->second;
    if (plans.size() >= most_plans) plans.clear();
    return plans.try_emplace(kind, library.get(), kind, o).first->second;
  }
};

int present_device() {
  int index = 0;
  HEADROOM_CUDA(cudaGetDevice(&index));
  return index;
}

/// Never destroyed: the driver may be gone when static objects are.
Blas& blas_of(int device) {
  static std::mutex mutex;
  static auto* const all = new std::map<int, Blas>;
  const std::lock_guard lock(mutex);
  return (*all)[device];
}

}  // namespace

bool blas_supports(const BlasProduct& product, const BlasOperands& operands) {
  if (!is_wanted(product.epilogue, product.dtype)) return false;
  Blas& blas = blas_of(present_device());
  const std::lock_guard lock(blas.mutex);
  return blas.plan(product, operands).choice.has_value();
}

void blas_matmul(const BlasProduct& product, const BlasOperands& o) {
  const int device = present_device();
  Blas& blas = blas_of(device);
  const std::lock_guard lock(blas.mutex);
  Plan& p = blas.plan(product, o);
  if (!p.choice) return plain_product(product, o);
  p.take_bias(product, o);
  const double scales[] = {1, 0};
  const float scales_f32[] = {1, 0};
  const bool f64 = product.dtype == DType::f64;
  const void *alpha = f64 ? static_cast<const void*>(&scales[0]) : &scales_f32[0],
             *beta = product.adds ? alpha
                     : f64        ? static_cast<const void*>(&scales[1])
                                  : &scales_f32[1];
  const size_t bytes = p.choice->workspaceSize;
  std::optional<Block> workspace;
  if (bytes > 0) workspace.emplace(Device{Device::Kind::cuda, device}, bytes);
  HEADROOM_CUBLAS(cublasLtMatmul(blas.library.get(), p.operation.get(), alpha, o.b, p.b.get(), o.a, p.a.get(), beta,
                                 product.adds ? o.added : o.y, p.y.get(), o.y, p.y.get(), &p.choice->algo,
                                 workspace ? workspace->address() : nullptr, bytes,
                                 static_cast<cudaStream_t>(context().stream)));
}

}  // namespace headroom::engine::cuda
