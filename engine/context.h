#pragma once
#include <atomic>
#include <cstdint>

#include "engine/device.h"

namespace headroom::engine {

class MemoryPool;

/// The precision that f32 operands of matrix products are rounded to before they are multiplied in f32. Weights, sums
/// and everything else keep their dtype.
enum class Precision : uint8_t { f32, bf16 };

/// The code that multiplies tiles of an f32 product. `best` is whichever measured faster: see engine/cpu/gemm.h.
enum class ProductPath : uint8_t { best, own, onednn };

/// The precision of activations in products with block-quantized matrices: f32, or rounded to 8 bits in blocks of 32
/// (engine/quantized/activations.h), which is faster. f64 is always exact.
enum class Activations : uint8_t { exact, int8 };

/// How a thread's work runs. Workers of a parallel loop inherit it whole. Change it through the scopes below. Threads:
/// each has its own context, and must leave the scopes it entered.
struct Context {
  int threads = 0;         ///< of parallel loops; 0: HEADROOM_THREADS, else the machine's cores
  bool reference = false;  ///< run the plain reference loops, which define every op, instead of the fast kernels
  bool records = true;     ///< true if differentiable ops join the tape
  ProductPath product_path = ProductPath::best;
  Precision precision = Precision::f32;
  Activations activations = Activations::exact;
  bool tf32 = false;           ///< f32 products on a GPU by tensor cores, which read 10 bits of mantissa
  Device device = cpu;         ///< where random fills and new models are put
  void* stream = nullptr;      ///< queue of the device's work (a cudaStream_t); null: the device's default one
  MemoryPool* pool = nullptr;  ///< where storages of the pool's device come from; null: the device's own pool
  const std::atomic<bool>* stop = nullptr;  ///< raised: ops and parallel loops throw Stopped; null: never
};

/// The calling thread's context.
const Context& context();

/// Replaces the calling thread's context for the scope's lifetime.
class ContextScope {
 public:
  explicit ContextScope(const Context& next);
  ~ContextScope();
  ContextScope(const ContextScope&) = delete;
  ContextScope& operator=(const ContextScope&) = delete;

 protected:
  /// Changes one field of the current context.
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

/// Runs this thread's ops on the reference loops: the truth that tests and gradcheck compare with.
class ReferenceScope : ContextScope {
 public:
  ReferenceScope() : ContextScope(with(&Context::reference, true)) {}
};

/// Forces one way to multiply f32 tiles, for tests and benchmarks. If oneDNN refuses, our own kernel multiplies.
class ProductPathScope : ContextScope {
 public:
  explicit ProductPathScope(ProductPath path) : ContextScope(with(&Context::product_path, path)) {}
};

/// Rounds f32 operands of `linear`, `matmul` and `attention`, and of backward passes run inside, to `precision`. This
/// costs time. For speed, keep the operands themselves in bf16 (TrainerConfig::bf16_weights).
class PrecisionScope : ContextScope {
 public:
  explicit PrecisionScope(Precision precision) : ContextScope(with(&Context::precision, precision)) {}
};

/// Sets the activations' precision in block-quantized products. Ops that join the tape stay exact.
class ActivationsScope : ContextScope {
 public:
  explicit ActivationsScope(Activations activations) : ContextScope(with(&Context::activations, activations)) {}
};

/// Runs f32 products on a GPU in TF32: several times faster, with a thousand times the error. The CPU stays f32.
class Tf32Scope : ContextScope {
 public:
  Tf32Scope() : ContextScope(with(&Context::tf32, true)) {}
};

/// Random fills go to this device, and so do the weights and tables of models that are made meanwhile.
class DeviceScope : ContextScope {
 public:
  explicit DeviceScope(Device device) : ContextScope(with(&Context::device, device)) {}
};

/// Queues device work on this stream (a cudaStream_t) instead of the default one.
class StreamScope : ContextScope {
 public:
  explicit StreamScope(void* stream) : ContextScope(with(&Context::stream, stream)) {}
};

/// Thrown under a StopScope whose flag is raised. Not an Error: nothing is wrong.
struct Stopped {};

/// Lets a flag stop this thread's work: once raised, the next op, parallel task or check_stopped() throws Stopped.
/// Null: never. The flag must outlive the scope.
class StopScope : ContextScope {
 public:
  explicit StopScope(const std::atomic<bool>* stop) : ContextScope(with(&Context::stop, stop)) {}
};

/// Throws Stopped if the context's flag is raised. For loops that take seconds and call no op.
void check_stopped();

/// Takes new storages from this pool. The pool must outlive the scope, but not the storages.
class PoolScope : ContextScope {
 public:
  explicit PoolScope(MemoryPool& pool) : ContextScope(with(&Context::pool, &pool)) {}
};

}  // namespace headroom::engine
