#pragma once
#include <string>
#include <vector>

#include "autograd/op_suite/sample.h"

namespace headroom::autograd {

/// The outcome of one check of one sample. A failure's message names the element, the actual and the expected value.
struct Check {
  enum class Status { pass, fail, skip };
  std::string op, sample, name;
  Status status = Status::pass;
  std::string message;
  /// "attention[size-1] gradcheck: input 0 (0, 0): analytic 0.5, numeric 0.25".
  std::string str() const;
};

/// Runs all checks of an op on one device, from its samples alone. Per sample:
///   gradcheck   (CPU) f64, reference loops, random cotangent
///   fast        f32 against f64 reference loops: value and every gradient, within the sample's bounds
///   reference   (CPU) the same for the f32 reference loops
///   bf16        if the op's table has it: against f64 on the same rounded inputs
///   strided     transposed, sliced and unaligned inputs and cotangent give what contiguous ones do (see Tolerances)
///   Tolerances) repeated    one variable passed as two inputs, where shapes and domains allow: gradcheck on the CPU,
///   elsewhere f32
///               against f64
///   needs       a gradient for each input alone has the bits of the full run; nothing is computed for the others;
///               nothing is recorded if none requires one
///   threads     1, 2 and 3 threads give the same bits
///   unwritten   inputs and cotangent keep their bits and versions
///   overwritten an operand written to between forward and backward, floating, integer or bool: the same gradients or
///               an error that says so
///   twin        f32 against the composed twin, value and gradients, if there is one
///   bound       the sample states its error bounds, in ulp alone if each element depends on its own operands only
/// Then `refusal` per refusal (throws Error with the op's name and every mention); `no kernel`: a dtype that the table
/// lacks is refused, naming op, dtype and device; `undefined`: a missing operand is refused, naming op and operand, or
/// is optional; and `coverage`: labels unique, an empty and a size-1 sample, a refusal.
/// Data is a pure function of the names of op, sample and input. Needs no test framework, so that ops outside the tree
/// can use it unchanged.
std::vector<Check> check_op(const OpEntry& op, engine::Device device = engine::cpu);

/// True if the op has f32 kernels there, forward and backward (a logical op: kernels for bool); for an op made of
/// others, true if its samples find theirs.
bool runs_on(const OpEntry& op, engine::Device::Kind device);

}  // namespace headroom::autograd
