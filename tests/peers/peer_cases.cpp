// peer-cases FILE SEED CASES TRANSFORMERS: writes random calls of every op, and small Transformers, with their results
// and gradients, as a safetensors file that compare.py reads: see README.md.
#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#include "engine/error.h"
#include "engine/rng.h"
#include "tests/op_suite/registry.h"
#include "tests/peers/transformers.h"

namespace {

using namespace headroom;
using namespace headroom::peers;

/// Runs a case and writes inputs, result, cotangent and gradients under the case's number.
Json write_case(const Case& c, Random& random, const std::string& prefix, NamedTensors& tensors) {
  std::vector<Var> variables;
  Json inputs = Json::array();
  for (const Operand& operand : c.inputs) {
    variables.emplace_back(operand.value, operand.differentiable);
    tensors.emplace_back(prefix + "input." + operand.name, operand.value);
    inputs.push_back({{"name", operand.name}, {"differentiable", operand.differentiable}});
  }
  const Var y = c.run(variables);
  tensors.emplace_back(prefix + "y", y.value());
  Json out = {{"op", c.op}, {"options", c.options}, {"inputs", inputs}, {"differentiable", y.requires_grad()}};
  if (!y.requires_grad()) return out;
  const Tensor dy = drawn(random, "dy", y.shape(), y.value().dtype(), {-2, 2}).value;
  tensors.emplace_back(prefix + "dy", dy);
  y.backward(dy);
  for (size_t i = 0; i < variables.size(); ++i)
    if (variables[i].grad().defined())
      tensors.emplace_back(prefix + "gradient." + c.inputs[i].name, variables[i].grad());
  return out;
}

void write(const std::string& path, uint64_t seed, int64_t count, int64_t transformers) {
  const std::vector<autograd::OpEntry>& ops = autograd::op_registry();
  NamedTensors tensors;
  Json cases = Json::array(), models = Json::array();
  for (int64_t i = 0; i < count; ++i) {
    const std::string& op = ops[static_cast<size_t>(i) % ops.size()].name;
    const DType dtype = i / static_cast<int64_t>(ops.size()) % 2 == 0 ? DType::f32 : DType::f64;
    Random random(seed * 1000003 + static_cast<uint64_t>(i));
    try {
      cases.push_back(write_case(random_case(op, random, dtype), random, std::to_string(i) + ".", tensors));
    } catch (const Error& error) {
      fail("case {} of {}: {}", i, op, error.what());
    }
  }
  for (int64_t i = 0; i < transformers; ++i) {
    Random random(seed * 1000003 + 500000 + static_cast<uint64_t>(i));
    models.push_back(
        write_transformer(random, i % 2 == 0 ? DType::f32 : DType::f64, "model" + std::to_string(i) + ".", tensors));
  }
  models::write_safetensors(path, tensors, {{"cases", cases.dump()}, {"models", models.dump()}});
  std::printf("%lld cases of %zu ops and %lld Transformers from seed %llu\n", static_cast<long long>(count), ops.size(),
              static_cast<long long>(transformers), static_cast<unsigned long long>(seed));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: peer-cases FILE SEED CASES TRANSFORMERS\n", stderr);
    return 2;
  }
  try {
    write(argv[1], std::stoull(argv[2]), std::stoll(argv[3]), std::stoll(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "peer-cases: %s\n", error.what());
    return 1;
  }
  return 0;
}
