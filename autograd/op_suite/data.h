#pragma once
#include <functional>
#include <string>
#include <vector>

#include "autograd/op_suite/sample.h"
#include "engine/rng.h"

/// Data for the op suite's samples, and the runs it compares.
namespace headroom::autograd::op_suite {

/// Random values addressed by name: "matmul/typical/a".
engine::RngKey key_of(const std::string& name);

/// Makes one tensor per input: floating ones in `dtype`, from the same f32 values; integers i64; booleans bool.
std::vector<Tensor> make_data(const std::string& name, const std::vector<Input>& inputs, engine::DType dtype);

/// A tensor's memory layout; its values stay.
enum class Layout {
  transposed,  ///< axes reversed in storage
  sliced,      ///< a window of the last axis of a larger tensor
  unaligned,   ///< contiguous, but one element into its storage
};
Tensor laid_out(const Tensor& x, Layout layout);

/// A forward and a backward pass.
struct Run {
  Tensor value;
  std::vector<Tensor> gradients;  ///< undefined if not wanted
  bool recorded = false;          ///< the result requires a gradient
};
using Function = std::function<Var(const std::vector<Var>&)>;

/// Runs f with inputs[i] requiring a gradient if wanted[i]; the cotangent is random, or `cotangent` if defined.
/// `between` runs after the forward pass.
Run run(const std::string& name, const Function& f, const std::vector<Tensor>& inputs, const std::vector<bool>& wanted,
        const Tensor& cotangent = {}, const std::function<void()>& between = {});
/// Values that differ from x's everywhere: integers far outside any range, bools negated.
Tensor other_than(const Tensor& x);
/// The cotangent that run() uses for a result like `value`.
Tensor cotangent_for(const std::string& name, const Tensor& value);

/// An empty string, or the difference: "element (1, 2): got 0.5, expected 0.25 (tolerance 2e-05)".
std::string compare_close(const Tensor& got, const Tensor& want, Tolerance tolerance);
/// NaN equals NaN, whatever its bits.
std::string compare_bits(const Tensor& got, const Tensor& want);
/// The same over value and gradients, with "value: " or "gradient of x: " before the message.
std::string compare_close(const Run& got, const Run& want, const std::vector<Input>& inputs, Tolerance value,
                          Tolerance gradient);
std::string compare_bits(const Run& got, const Run& want, const std::vector<Input>& inputs);

}  // namespace headroom::autograd::op_suite
