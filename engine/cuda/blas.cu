#include "engine/cuda/blas.h"

#include <cublasLt.h>

#include <map>
#include <memory>
#include <mutex>
#include <type_traits>

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

/// Scratch memory that a product may use; all run on one stream, so they share it.
class Workspace {
 public:
  static constexpr size_t bytes = size_t{32} << 20;
  Workspace() { HEADROOM_CUDA(cudaMalloc(&block_, bytes)); }
  ~Workspace() { cudaFree(block_); }
  Workspace(const Workspace&) = delete;
  Workspace& operator=(const Workspace&) = delete;
  void* block() const { return block_; }

 private:
  void* block_ = nullptr;
};

struct Types {
  cudaDataType_t element;
  cublasComputeType_t compute;
};
Types types_of(DType dtype) {
  return dtype == DType::f32 ? Types{CUDA_R_32F, CUBLAS_COMPUTE_32F} : Types{CUDA_R_64F, CUBLAS_COMPUTE_64F};
}

/// A row-major (rows, columns) is to cuBLASLt a column-major (columns, rows).
Layout layout_of(const BlasProduct& p, int64_t rows, int64_t columns, int64_t step) {
  cublasLtMatrixLayout_t made = nullptr;
  HEADROOM_CUBLAS(cublasLtMatrixLayoutCreate(&made, types_of(p.dtype).element, static_cast<uint64_t>(columns),
                                             static_cast<uint64_t>(rows), columns));
  Layout layout(made);
  const auto batch = static_cast<int32_t>(p.batch);
  HEADROOM_CUBLAS(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &batch, sizeof batch));
  HEADROOM_CUBLAS(
      cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &step, sizeof step));
  return layout;
}

/// yᵀ = op(b)ᵀ · op(a)ᵀ: in column-major terms b comes first.
struct Plan {
  Operation operation;
  Layout a, b, y;
  cublasLtMatmulHeuristicResult_t choice{};

  Plan(cublasLtHandle_t library, const BlasProduct& p)
      : a(p.transpose_a ? layout_of(p, p.k, p.m, p.step_a) : layout_of(p, p.m, p.k, p.step_a)),
        b(p.transpose_b ? layout_of(p, p.n, p.k, p.step_b) : layout_of(p, p.k, p.n, p.step_b)),
        y(layout_of(p, p.m, p.n, p.m * p.n)) {
    cublasLtMatmulDesc_t made = nullptr;
    HEADROOM_CUBLAS(cublasLtMatmulDescCreate(&made, types_of(p.dtype).compute, types_of(p.dtype).element));
    operation.reset(made);
    const cublasOperation_t first = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
    const cublasOperation_t second = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
    HEADROOM_CUBLAS(cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSA, &first, sizeof first));
    HEADROOM_CUBLAS(cublasLtMatmulDescSetAttribute(made, CUBLASLT_MATMUL_DESC_TRANSB, &second, sizeof second));
    cublasLtMatmulPreference_t preferred = nullptr;
    HEADROOM_CUBLAS(cublasLtMatmulPreferenceCreate(&preferred));
    const Preference preference(preferred);
    HEADROOM_CUBLAS(cublasLtMatmulPreferenceSetAttribute(preferred, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                                         &Workspace::bytes, sizeof Workspace::bytes));
    int found = 0;
    HEADROOM_CUBLAS(cublasLtMatmulAlgoGetHeuristic(library, made, b.get(), a.get(), y.get(), y.get(), preferred, 1,
                                                   &choice, &found));
    if (found == 0)
      device_failure("cublasLtMatmulAlgoGetHeuristic", __FILE__, __LINE__, "no algorithm for this product");
  }
};

struct Blas {
  std::mutex mutex;
  Library library;
  Workspace workspace;
  std::map<BlasProduct, Plan> plans;

  Blas() {
    cublasLtHandle_t made = nullptr;
    HEADROOM_CUBLAS(cublasLtCreate(&made));
    library.reset(made);
  }
};

}  // namespace

void blas_matmul(const BlasProduct& product, const void* a, const void* b, void* y) {
  static Blas blas;
  const std::lock_guard lock(blas.mutex);
  auto plan = blas.plans.find(product);
  if (plan == blas.plans.end()) plan = blas.plans.try_emplace(product, blas.library.get(), product).first;
  const Plan& p = plan->second;
  const double one = 1, zero = 0;
  const float one_f32 = 1, zero_f32 = 0;
  const bool f32 = product.dtype == DType::f32;
  const void *alpha = f32 ? static_cast<const void*>(&one_f32) : &one,
             *beta = f32 ? static_cast<const void*>(&zero_f32) : &zero;
  HEADROOM_CUBLAS(cublasLtMatmul(blas.library.get(), p.operation.get(), alpha, b, p.b.get(), a, p.a.get(), beta, y,
                                 p.y.get(), y, p.y.get(), &p.choice.algo, blas.workspace.block(), Workspace::bytes,
                                 static_cast<cudaStream_t>(context().stream)));
}

}  // namespace headroom::engine::cuda
