#include "tests/op_suite/row_samples.h"

namespace headroom::autograd {

OpSamples row_samples(const std::string& op, const std::function<Var(const std::vector<Var>&)>& run,
                      const std::function<Var(const std::vector<Var>&)>& twin) {
  OpSamples out;
  out.samples = {{"typical", {normal("x", {3, 5, 7})}, run, twin},
                 {"one vector", {normal("x", {3, 8})}, run, twin},
                 {"long rows", {normal("x", {3, 1031})}, run, twin},
                 {"many rows", {normal("x", {1031, 19})}, run, twin},
                 {"large values", {uniform("x", {4, 9}, -1e3, 1e3)}, run},
                 {"one axis", {normal("x", {33})}, run, twin},
                 {"size-1", {normal("x", {1, 1})}, run, twin},
                 {"empty", {normal("x", {0, 4})}, run},
                 {"empty rows", {normal("x", {4, 0})}, run}};
  // One y is 1 and the others nearly 0: all of dy cancels.
  Tolerances& large = out.samples[4].tolerances;
  large.gradient.least = large.reference.least = large.reduced.least = 1;
  out.samples[6].tolerances.twin.least = 1;  // 1 - e^x / e^x, which a GPU rounds
  out.refusals = {{"scalar", {normal("x", {})}, run, {op, "()"}},
                  {"integers", {integers("x", {3}, 0, 5)}, run, {op, "i64"}}};
  return out;
}

}  // namespace headroom::autograd
