// The only file that sees oneDNN's headers. Everything used here is the same in its versions 2 and 3.
#include "engine/cpu/onednn.h"

#ifdef HEADROOM_ONEDNN
#include <dlfcn.h>
#include <dnnl.h>
#include <fmt/core.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <mutex>
#include <new>

#include "engine/isa.h"
#endif

namespace headroom::engine {

#ifdef HEADROOM_ONEDNN
namespace {

/// oneDNN's limit can be set once, before its first kernel is made.
bool limit_isa() {
#ifdef __x86_64__
  switch (active_isa()) {
    case Isa::portable:
      return dnnl_set_max_cpu_isa(dnnl_cpu_isa_sse41) == dnnl_success;
    case Isa::avx2:
      return dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx2) == dnnl_success;
    case Isa::avx512:
      return dnnl_set_max_cpu_isa(dnnl_cpu_isa_avx512_core) == dnnl_success;
    case Isa::amx:
      return true;
  }
#endif
  return true;
}

/// The OpenMP runtime that oneDNN runs on, if any: found by name, since we ourselves may be built without OpenMP.
struct OpenMp {
  int (*max_threads)() = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "omp_get_max_threads"));
  void (*set_threads)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "omp_set_num_threads"));
};

/// While it lives, parallel regions of the calling thread have so many threads. With one, oneDNN neither starts others
/// nor lets its sums depend on their number.
class Threads {
 public:
  explicit Threads(int count) {
    if (openmp().set_threads) openmp().set_threads(count);
  }
  ~Threads() {
    if (openmp().set_threads) openmp().set_threads(previous_);
  }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

 private:
  static const OpenMp& openmp() {
    static const OpenMp functions;
    return functions;
  }
  int previous_ = openmp().max_threads ? openmp().max_threads() : 1;
};

template <class T>
using Gemm = dnnl_status_t (*)(char, char, dnnl_dim_t, dnnl_dim_t, dnnl_dim_t, float, const T*, dnnl_dim_t, const T*,
                               dnnl_dim_t, float, float*, dnnl_dim_t);

bool is_limited() {
  static const bool limited = limit_isa();
  return limited;
}

/// oneDNN makes its kernels when they are first needed, and crashes where no memory is left for them. Throws bad_alloc
/// in time, where the address space is limited at all (ulimit -v).
void require_room() {
  static const bool is_limited = [] {
    struct rlimit space {};
    return getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY;
  }();
  if (!is_limited) return;
  constexpr size_t bytes = size_t{16} << 20;
  static std::mutex one_at_a_time;  // two looks at once would find half of it each
  const std::lock_guard lock(one_at_a_time);
  void* const room = mmap(nullptr, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) throw std::bad_alloc();
  munmap(room, bytes);
}

template <class T>
bool run(Gemm<T> gemm, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const T* a, int64_t lda,
         const T* b, int64_t ldb, float* c, int64_t ldc, int threads) {
  if (!is_limited() || !gemm) return false;
  require_room();
  const Threads scope(threads);
  return gemm(transpose_a ? 'T' : 'N', transpose_b ? 'T' : 'N', m, n, k, 1.0f, a, lda, b, ldb, 0.0f, c, ldc) ==
         dnnl_success;
}

}  // namespace

std::string onednn_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

bool onednn_sgemm(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const float* a, int64_t lda,
                  const float* b, int64_t ldb, float* c, int64_t ldc, int threads) {
  return run<float>(dnnl_sgemm, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc, threads);
}

bool onednn_gemm_bf16(bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t k, const bf16* a, int64_t lda,
                      const bf16* b, int64_t ldb, float* c, int64_t ldc, int threads) {
  // Exported by oneDNN for its own tests, and in no header.
  static const auto gemm = reinterpret_cast<Gemm<bf16>>(dlsym(RTLD_DEFAULT, "dnnl_gemm_bf16bf16f32"));
  return run(gemm, transpose_a, transpose_b, m, n, k, a, lda, b, ldb, c, ldc, threads);
}

#else

std::string onednn_version() { return ""; }
bool onednn_sgemm(bool, bool, int64_t, int64_t, int64_t, const float*, int64_t, const float*, int64_t, float*, int64_t,
                  int) {
  return false;
}
bool onednn_gemm_bf16(bool, bool, int64_t, int64_t, int64_t, const bf16*, int64_t, const bf16*, int64_t, float*,
                      int64_t, int) {
  return false;
}

#endif

}  // namespace headroom::engine
