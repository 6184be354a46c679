#include "autograd/precision.h"

namespace headroom::autograd {
namespace {

Precision& thread_precision() {
  thread_local Precision precision = Precision::f32;
  return precision;
}

}  // namespace

PrecisionScope::PrecisionScope(Precision precision) : previous_(thread_precision()) { thread_precision() = precision; }

PrecisionScope::~PrecisionScope() { thread_precision() = previous_; }

engine::Tensor product_operand(const engine::Tensor& x) {
  const bool rounds = thread_precision() == Precision::bf16 && x.defined() && x.dtype() == engine::DType::f32;
  return rounds ? x.to(engine::DType::bf16).to(engine::DType::f32) : x;
}

}  // namespace headroom::autograd
