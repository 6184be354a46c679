#pragma once
#include <string>
#include <vector>

#include "autograd/op_suite/registry.h"

namespace headroom::autograd {

/// The outcome of one check of one sample. A failure's message names the element, what came and what was wanted.
struct Check {
  enum class Status { pass, fail, skip };
  std::string op, sample, name;
  Status status = Status::pass;
  std::string message;
  /// "attention[size-1] gradcheck: input 0 (0, 0): analytic 0.5, numeric 0.25".
  std::string str() const;
};

/// Everything that the op suite demands of an op, from its samples alone, on the CPU. Per sample:
///   gradcheck   f64, reference loops, random cotangent
///   fast        f32 fast path against f64 reference loops: value and every gradient
///   reference   the same of the f32 reference loops
///   strided     transposed, sliced and unaligned inputs and cotangent give what contiguous ones do (see Tolerances)
///   repeated    gradcheck with one variable passed as two inputs, where shapes and domains allow
///   needs       a gradient for each input alone has the bits of the full run; nothing is computed for the others;
///               nothing is recorded when none requires one
///   threads     1, 2 and 3 threads give the same bits
///   unwritten   inputs and cotangent keep their bits and versions
///   twin        f32 against the composed twin, value and gradients, where there is one
/// Then `refusal` per refusal (throws Error holding the op's name and every mention) and `coverage`: labels unique, an
/// empty and a size-1 sample, a refusal.
/// Data is a pure function of the names of op, sample and input. Needs no test framework: an op outside the tree uses
/// it as it is.
std::vector<Check> check_op(const OpEntry& op);

/// `cuda` per sample: f32 on the device against f64 reference loops, value and gradients; `skip` where there is no
/// device. Nothing for an op without a CUDA kernel.
std::vector<Check> check_op_on_cuda(const OpEntry& op);

}  // namespace headroom::autograd
