#pragma once
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "autograd/var.h"

/// Random calls of the ops, for a comparison with another framework: see README.md.
namespace headroom::peers {

using Json = nlohmann::ordered_json;
using autograd::Var;
using engine::DType;
using engine::Shape;
using engine::Tensor;

/// Everything that is drawn; equal seeds give equal cases on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : bits_(seed) {}
  /// In [low, high].
  int64_t integer(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(bits_() % static_cast<uint64_t>(high - low + 1));
  }
  double uniform() { return static_cast<double>(bits_() >> 11) * 0x1p-53; }
  bool chance(double probability) { return uniform() < probability; }
  double normal();
  /// A size: mostly small, sometimes 1, with `may_be_empty` sometimes 0, rarely several vectors long.
  int64_t size(bool may_be_empty = false);
  /// Up to `most` axes of such sizes, at least `least`.
  Shape shape(int least, int most, bool may_be_empty = true);
  /// A subset of the axes, in order; sometimes none.
  std::vector<int> axes(int rank);

 private:
  std::mt19937_64 bits_;
};

struct Operand {
  std::string name;
  Tensor value;  ///< any strides
  bool differentiable = true;
};

/// One call: its operands, what else it takes, and how it is made.
struct Case {
  std::string op;
  std::vector<Operand> inputs;
  std::function<Var(const std::vector<Var>&)> run;
  Json options = Json::object();
};

/// How values of an operand are drawn.
struct Fill {
  double low = 0, high = 0;  ///< uniform; both 0: normal, times a power of ten from 10^-3 to 10^1.5
  bool specials = false;     ///< some infinite, NaN, subnormal and huge ones among them, sometimes
};

/// An operand in a random layout: contiguous, transposed, a window of a larger tensor, unaligned, or expanded.
Operand drawn(Random& random, const std::string& name, const Shape& shape, DType dtype, const Fill& fill = {});
Operand drawn_integers(Random& random, const std::string& name, const Shape& shape, int64_t low, int64_t high);
Operand drawn_mask(Random& random, const std::string& name, const Shape& shape, double probability);
/// A shape that broadcasts with `shape`: leading axes missing, some others 1.
Shape broadcast_partner(Random& random, const Shape& shape);

/// A random call of an op in engine/ops.txt: from a generator of generators.cpp, else one of the op suite's samples
/// with new values.
Case random_case(const std::string& op, Random& random, DType dtype);

}  // namespace headroom::peers
