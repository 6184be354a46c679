#pragma once
#include <atomic>
#include <cstdint>

#include "engine/device.h"

namespace headroom::engine {

class MemoryPool;

/// What the f32 operands of matrix products are rounded to before they are multiplied in f32. Weights, sums and
/// everything else keep their dtype.
enum class Precision : uint8_t { f32, bf16 };

/// What multiplies a tile of an f32 product. `best` is what was measured to be faster: see engine/cpu/gemm.h.
enum class ProductPath : uint8_t { best, own, onednn };

/// What products with matrices in blocks of few bits take the activations as: in f32, or rounded to 8 bits in blocks of
/// 32 (engine/quantized/activations.h), which is faster. f64 is always exact.
enum class Activations : uint8_t { exact, int8 };

/// How the work of a thread runs. One value, which the workers of a parallel loop inherit whole. Change it through the
/// scopes below. Threads: each has a context of its own, and a scope is left by the thread that entered it.
struct Context {
  int threads = 0;         ///< of parallel loops; 0: HEADROOM_THREADS, else the machine's cores
  bool reference = false;  ///< the plain reference loops, which define every op, instead of the fast kernels
  bool records = true;     ///< whether differentiable ops join the tape
  ProductPath product_path = ProductPath::best;
  Precision precision = Precision::f32;
  Activations activations = Activations::exact;
  bool tf32 = false;           ///< f32 products on a GPU by tensor cores, which read 10 bits of mantissa
  Device device = cpu;         ///< where random fills and new models are put
  void* stream = nullptr;      ///< queue of the device's work (a cudaStream_t); null: the device's default one
  MemoryPool* pool = nullptr;  ///< where storages of the pool's device come from; null: the device's own pool
  const std::atomic<bool>* stop = nullptr;  ///< raised: ops and parallel loops throw Stopped; null: never
};

/// The calling thread's.
const Context& context();

/// Puts a context in force for the calling thread while it lives.
class ContextScope {
 public:
  explicit ContextScope(const Context& next);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 protected:
  /// The present context with one field changed.
  template <class T>
  static Context with(T Context::*field, T value) {
    Context next = context();
    next.*field = value;
    return next;
  }

 private:
  Context previous_;
};

/// Limits the threads of parallel loops. Throws Error when `threads` < 1.
class ThreadScope : ContextScope {
 public:
  explicit ThreadScope(int threads);
};

/// Reference loops for everything that this thread runs: the truth that tests and gradcheck compare with.
class ReferenceScope : ContextScope {
 public:
  ReferenceScope() : ContextScope(with(&Context::reference, true)) {}
};

/// One way to multiply f32 tiles, for tests and benchmarks. What oneDNN refuses, our own kernel multiplies.
class ProductPathScope : ContextScope {
 public:
  explicit ProductPathScope(ProductPath path) : ContextScope(with(&Context::product_path, path)) {}
};

/// Rounds f32 operands of `linear`, `matmul` and `attention`, and of the backward passes that run inside, to
/// `precision`, which costs time instead of saving it. What is fast is operands that are bf16: a training whose weights
/// are (TrainerConfig::bf16_weights).
class PrecisionScope : ContextScope {
 public:
  explicit PrecisionScope(Precision precision) : ContextScope(with(&Context::precision, precision)) {}
};

/// How products with matrices in blocks take the activations. Whatever joins the tape stays exact.
class ActivationsScope : ContextScope {
 public:
  explicit ActivationsScope(Activations activations) : ContextScope(with(&Context::activations, activations)) {}
};

/// f32 products on a GPU in TF32: several times faster, and with an error a thousand times larger. The CPU's stay f32.
class Tf32Scope : ContextScope {
 public:
  Tf32Scope() : ContextScope(with(&Context::tf32, true)) {}
};

/// Random fills go to this device, and so do the weights and tables of models that are made meanwhile.
class DeviceScope : ContextScope {
 public:
  explicit DeviceScope(Device device) : ContextScope(with(&Context::device, device)) {}
};

/// Work on the device is queued here (a cudaStream_t) instead of on its default stream.
class StreamScope : ContextScope {
 public:
  explicit StreamScope(void* stream) : ContextScope(with(&Context::stream, stream)) {}
};

/// Thrown under a StopScope whose flag is raised. No Error: nothing is wrong.
struct Stopped {};

/// Work of this thread ends soon after the flag is raised, by Stopped from the next op, task of a parallel loop or
/// check_stopped(). Null: it does not. The flag must outlive the scope.
class StopScope : ContextScope {
 public:
  explicit StopScope(const std::atomic<bool>* stop) : ContextScope(with(&Context::stop, stop)) {}
};

/// Throws Stopped where it is time to: for loops of seconds that call no op.
void check_stopped();

/// New storages come from this pool, which must outlive the scope; it may go before they do.
class PoolScope : ContextScope {
 public:
  explicit PoolScope(MemoryPool& pool) : ContextScope(with(&Context::pool, &pool)) {}
};

}  // namespace headroom::engine
