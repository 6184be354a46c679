#pragma once
#include <functional>
#include <string>
#include <vector>

#include "autograd/var.h"

namespace headroom::autograd {

/// One named operand of a sample: its shape and contents.
struct Input {
  enum class Fill { normal, uniform, integers, booleans };
  std::string name;
  Shape shape;
  Fill fill = Fill::normal;
  double low = 0, high = 1;  ///< uniform and integers: [low, high); booleans: P(true) = low
  bool is_fixed = false;     ///< floating, but for an op that has no gradient
  bool floating() const { return fill == Fill::normal || fill == Fill::uniform; }
  bool differentiable() const { return floating() && !is_fixed; }
};
Input normal(std::string name, Shape shape);
Input uniform(std::string name, Shape shape, double low, double high);
Input integers(std::string name, Shape shape, int64_t low, int64_t high);
Input booleans(std::string name, Shape shape, double probability);
/// The same operand, without a gradient.
Input fixed(Input input);

/// The largest difference a check allows: |got - want| ≤ ulps · ulp(want) + scale · S, where ulp(want) is the distance
/// of neighbouring numbers of got's dtype and S the largest |want| of the tensor, at least `least`. `ulps` alone bounds
/// small results like large ones; `scale` is for sums of terms of both signs, which round like the terms. If one is
/// loosened, a comment next to the sample says why. Fewer than 0 ulps: not stated.
struct Tolerance {
  double ulps = 0, scale = 0;
  double least = 0;  ///< the size of terms that cancel by the formula
};

struct Tolerances {
  double gradcheck = 1e-6;       ///< f64, analytic against central differences
  Tolerance value{-1};           ///< f32 kernels against f64 reference loops: the value,
  Tolerance gradient{-1};        ///< and gradients; not stated: the op's
  Tolerance reference{4, 1e-4};  ///< f32 reference loops, which add one element after the other, against f64
  Tolerance twin{8, 8e-6};       ///< f32 fused against f32 composed
  /// bf16 against f64 on the same rounded inputs, in units of bf16: gradients of broadcast operands add rounded terms.
  Tolerance reduced{2, 1.0 / 64};
  Tolerance strided{};  ///< f32, strided operands against contiguous ones; 0 = the same bits
};
/// One bound in ulps for all f32 checks of an elementwise op. `near_zero`: gradients may also differ by this share of
/// the largest, for derivatives that pass through 0.
Tolerances elementwise(double ulps, double slope_ulps, double near_zero = 0);

/// One call of an op with given shapes and options, as data. `run` gets Vars for non-differentiable inputs too.
struct Sample {
  std::string label;  ///< unique within the op: "typical", "size-1", "empty", "broadcast rows", …
  std::vector<Input> inputs;
  std::function<Var(const std::vector<Var>&)> run;
  std::function<Var(const std::vector<Var>&)> twin{};  ///< the same value from simpler ops; optional
  Tolerances tolerances{};
  bool is_loss = false;  ///< its value is in statistic_dtype() of the operands: f32 for the halves
};

/// A call that must throw Error, and the words (op, shapes) its message must contain.
struct Refusal {
  std::string label;
  std::vector<Input> inputs;
  std::function<Var(const std::vector<Var>&)> run;
  std::vector<std::string> mentions;
  bool by_value = false;  ///< about an operand's values: CPU only, because kernels cannot throw
};

/// The driver's knowledge of an op: the result of `OpSamples NAME_samples()`.
struct OpSamples {
  std::vector<Sample> samples;    ///< including one with an empty and one with a size-1 input
  std::vector<Refusal> refusals;  ///< at least one
  /// The largest errors of every sample that does not state its own, measured: see Tolerances.
  Tolerance value{-1}, gradient{-1};
};

struct OpEntry {
  std::string name;
  OpSamples (*samples)();
};

}  // namespace headroom::autograd
