#pragma once
#include <array>
#include <atomic>
#include <span>
#include <string>
#include <vector>

#include "engine/at_work.h"
#include "engine/context.h"
#include "engine/dispatch/operand.h"
#include "engine/isa.h"
#include "engine/profile.h"

/// Decides, and nothing else does, which implementation of an op runs. An op's public function fills a *call* (its
/// operands and options), lets the op check it, works out the result's shape, allocates it, and runs the call:
///
///     struct SoftmaxCall {
///       Tensor x;
///       Tensor y{};
///       auto operands() { return std::array{real("x", x)}; }
///     };
///     Op<SoftmaxCall> softmax_op{"softmax", {{.name = "simd", .dtypes = DType::f32, .run = fast, .levels = …},
///                                            {.name = "loops", .dtypes = DType::f32 | DType::f64, …}}};
namespace headroom::engine {

/// One way to compute an op.
template <class Call>
struct Implementation {
  const char* name;                         ///< "loops", "simd", "cublasLt"
  DTypeSet dtypes;                          ///< of real operands
  void (*run)(Call&) = nullptr;             ///< fills the call's results, which are not empty
  IsaSet levels{};                          ///< of its kernels; empty: compiled once
  bool is_reference = false;                ///< the plain loops that define the op
  bool takes_strided = false;               ///< false: every operand is made contiguous first, all or in blocks
  bool (*supports)(const Call&) = nullptr;  ///< null: every problem; a later row takes those it refuses
  Device::Kind device = Device::Kind::cpu;
};

/// One row of an op's table, for people.
struct ImplementationInfo {
  std::string name, device, dtypes, levels;
  bool is_reference = false, is_partial = false;
};

/// The part of an op that does not depend on its call. Ops are static objects that register themselves in the list of
/// all ops. Threads: any number may check and run their own calls.
class OpBase {
 public:
  explicit OpBase(const char* name);
  virtual ~OpBase() = default;
  OpBase(const OpBase&) = delete;
  OpBase& operator=(const OpBase&) = delete;

  const char* name() const { return name_; }
  /// Its rows, in the order they are tried.
  virtual std::vector<ImplementationInfo> table() const = 0;
  /// True if a row takes this dtype on that kind of device.
  virtual bool has(Device::Kind device, DType dtype) const = 0;

 protected:
  static constexpr size_t most_rows = 16;
  void check_operands(std::span<const Operand> operands) const;
  void check_shapes(std::span<const Operand> operands) const;
  [[noreturn]] void refuse(const Tensor& operand, bool has_partial) const;
  static void make_contiguous(std::span<const Operand> operands);
  static void use_on_stream(std::span<const Operand> operands);
  /// The work of a call that declares none: reads every operand, writes a result like the first one.
  static Work plain_work(std::span<const Operand> operands, double exponentials);
  static ImplementationInfo info(const char* name, DTypeSet dtypes, IsaSet levels, bool is_reference, bool is_partial,
                                 Device::Kind device);

 private:
  const char* name_;
};

/// The tables of all ops and gradients that have one, by name.
std::vector<const OpBase*> all_ops();

/// The names in engine/ops.txt, in its order.
const std::vector<std::string>& op_names();

/// The tables of an op's forward pass and gradient: those of all_ops() named `op` and `op`_grad. Empty for a view, and
/// for an op made of others.
std::vector<const OpBase*> tables_of(const std::string& op);

template <class Call>
class Op final : public OpBase {
 public:
  using Rows = std::vector<Implementation<Call>>;
  /// `exponentials`: how many each element of the first operand needs. A call that needs anything else, or other bytes
  /// than its operands and a result like the first one, has a `Work work() const`; so does every product.
  Op(const char* name, const Rows& rows, double exponentials = 0) : OpBase(name), exponentials_(exponentials) {
    for (const Implementation<Call>& row : rows) add(row);
  }

  /// Adds a device backend's row, tried after the present ones. Call it before the device's first tensor is made.
  void add(const Implementation<Call>& row) {
    const size_t count = count_.load(std::memory_order_relaxed);
    rows_.at(count) = row;
    count_.store(count + 1, std::memory_order_release);
  }

  /// Throws Error naming the op unless every operand is defined, of a dtype of its kind, all on one device, the real
  /// ones of one dtype, and some row takes that dtype on that device. Call it before reading any shape.
  void check(Call& call) const {
    op_at_work = name();
    const auto operands = call.operands();
    check_operands(operands);
    const Tensor& first = *operands[0].tensor;
    if (!has(first.device().kind, first.dtype())) refuse(first, false);
  }

  /// Throws Error naming op and operands unless all defined ones have the first one's shape: for gradients.
  void check_same_shape(Call& call) const { check_shapes(call.operands()); }

  /// Runs the first row that takes the call; under a ReferenceScope, only the reference loops if it is on the CPU.
  /// Throws Stopped (context.h).
  void run(Call& call) const {
    check_stopped();
    const OpSpan span(name());
    const auto operands = call.operands();
    if (active_profile) active_profile->set_work(work_of(call, operands));
    const Tensor& first = *operands[0].tensor;
    const Device::Kind device = first.device().kind;
    if (device != Device::Kind::cpu) use_on_stream(operands);
    const bool reference = context().reference && device == Device::Kind::cpu;
    for (const Implementation<Call>& row : rows()) {
      if (row.device != device || !row.dtypes.contains(first.dtype()) || (reference && !row.is_reference)) continue;
      if (row.supports && !row.supports(call)) continue;
      if (!row.takes_strided) {
        if constexpr (requires { call.run_in_blocks(row.run); })
          if (device == Device::Kind::cpu && call.run_in_blocks(row.run)) return;
        make_contiguous(operands);
      }
      return row.run(call);
    }
    refuse(first, true);
  }

  bool has(Device::Kind device, DType dtype) const override {
    for (const Implementation<Call>& row : rows())
      if (row.device == device && row.dtypes.contains(dtype)) return true;
    return false;
  }

  std::vector<ImplementationInfo> table() const override {
    std::vector<ImplementationInfo> out;
    for (const Implementation<Call>& row : rows())
      out.push_back(info(row.name, row.dtypes, row.levels, row.is_reference, row.supports != nullptr, row.device));
    return out;
  }

 private:
  std::span<const Implementation<Call>> rows() const { return {rows_.data(), count_.load(std::memory_order_acquire)}; }

  Work work_of(const Call& call, std::span<const Operand> operands) const {
    if constexpr (requires { call.work(); }) return call.work();
    else return plain_work(operands, exponentials_);
  }

  std::array<Implementation<Call>, most_rows> rows_{};
  std::atomic<size_t> count_{0};
  double exponentials_;
};

/// The usual CPU table: f32 kernels of some levels, the reference loops in f32 and f64, and unless it is null a
/// function that computes bf16 by the same kernels.
template <class Call>
typename Op<Call>::Rows kernel_and_loops(IsaSet levels, void (*simd)(Call&), void (*loops_f32)(Call&),
                                         void (*loops_f64)(Call&), void (*widened)(Call&) = nullptr) {
  typename Op<Call>::Rows rows{{.name = "simd", .dtypes = DType::f32, .run = simd, .levels = levels},
                               {.name = "loops", .dtypes = DType::f32, .run = loops_f32, .is_reference = true},
                               {.name = "loops", .dtypes = DType::f64, .run = loops_f64, .is_reference = true}};
  if (widened) rows.push_back({.name = "simd", .dtypes = DType::bf16, .run = widened, .levels = levels});
  return rows;
}

}  // namespace headroom::engine
