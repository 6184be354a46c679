#include "engine/ops/matmul/matmul.h"
#include "autograd/op_suite/sample.h"
#include "autograd/ops.h"

namespace headroom::autograd {

OpSamples matmul_samples() {
  const auto product = [](bool transpose_a, bool transpose_b) {
    return [=](const std::vector<Var>& in) { return matmul(in[0], in[1], transpose_a, transpose_b); };
  };
  const auto pair = [](Shape a, Shape b) { return std::vector<Input>{normal("a", a), normal("b", b)}; };
  OpSamples out;
  out.samples = {{"typical", pair({5, 7}, {7, 3}), product(false, false)},
                 {"a transposed", pair({7, 5}, {7, 3}), product(true, false)},
                 {"b transposed", pair({5, 7}, {3, 7}), product(false, true)},
                 {"both transposed", pair({7, 5}, {3, 7}), product(true, true)},
                 {"odd sizes", pair({13, 19}, {19, 37}), product(false, false)},
                 {"one row", pair({1, 17}, {17, 9}), product(false, false)},
                 {"one column", pair({9, 17}, {17, 1}), product(false, false)},
                 {"outer product", pair({6, 1}, {1, 17}), product(false, false)},
                 {"batch", pair({2, 3, 5, 7}, {2, 3, 7, 4}), product(false, false)},
                 {"batch, both transposed", pair({2, 3, 7, 5}, {2, 3, 4, 7}), product(true, true)},
                 {"batch of a", pair({2, 3, 5, 7}, {7, 4}), product(false, false)},
                 {"batch of a, b transposed", pair({2, 3, 5, 7}, {1, 4, 7}), product(false, true)},
                 {"batch of a transposed", pair({3, 7, 5}, {7, 4}), product(true, false)},
                 {"batch of b", pair({5, 7}, {3, 7, 4}), product(false, false)},
                 {"batches broadcast", pair({2, 1, 5, 7}, {3, 7, 4}), product(false, false)},
                 {"deep: k in chunks", pair({3, 2111}, {2111, 2}), product(false, false)},
                 {"deep, transposed", pair({1301, 3}, {2, 1301}), product(true, true)},
                 {"wide: columns in tiles", pair({2, 3}, {3, 523}), product(false, false)},
                 {"size-1", pair({1, 1}, {1, 1}), product(false, false)},
                 {"empty rows", pair({0, 4}, {4, 3}), product(false, false)},
                 {"empty columns", pair({3, 4}, {4, 0}), product(false, false)},
                 {"empty sum", pair({3, 0}, {0, 2}), product(false, false)},
                 {"empty batch", pair({0, 3, 4}, {4, 2}), product(false, false)}};
  // A strided matrix is multiplied where it lies, which may sum in another order than its contiguous copy.
  for (Sample& sample : out.samples) sample.tolerances.strided = {4, 4e-6};
  out.refusals = {
      {"inner dims", pair({4, 7}, {8, 3}), product(false, false), {"matmul: inner dims differ: a (4, 7), b (8, 3)"}},
      {"inner dims, transposed", pair({7, 4}, {8, 3}), product(true, false), {"matmul", "(7, 4) transposed", "(8, 3)"}},
      {"one axis", pair({4}, {4, 3}), product(false, false), {"matmul", "(4)", "(4, 3)"}},
      {"batch", pair({2, 4, 7}, {3, 7, 5}), product(false, false), {"matmul", "(2, 4, 7)", "(3, 7, 5)"}},
      {"integers", {integers("a", {2, 3}, 0, 5), normal("b", {3, 2})}, product(false, false), {"matmul", "i64"}}};
  out.value = out.gradient = {4, 1e-6};
  return out;
}

}  // namespace headroom::autograd
