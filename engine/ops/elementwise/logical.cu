#include "engine/ops/elementwise/logical.h"

#include "engine/cuda/elementwise.cuh"

namespace headroom::engine::cuda {
namespace {

struct And {
  __device__ bool operator()(bool a, bool b) const { return a && b; }
};
struct Or {
  __device__ bool operator()(bool a, bool b) const { return a || b; }
};
struct Xor {
  __device__ bool operator()(bool a, bool b) const { return a != b; }
};
struct Not {
  __device__ bool operator()(bool x) const { return !x; }
};

template <class F>
void run(BinaryCall& c) {
  map<bool, bool, bool>("logical", F(), c.y, c.a, c.b);
}
void run_not(UnaryCall& c) { map<bool, bool>("logical_not", Not(), c.y, c.x); }

}  // namespace

void register_logical() {
  add_strided_kernel(logical_and_op, "packs", DType::boolean, run<And>);
  add_strided_kernel(logical_or_op, "packs", DType::boolean, run<Or>);
  add_strided_kernel(logical_xor_op, "packs", DType::boolean, run<Xor>);
  add_strided_kernel(logical_not_op, "packs", DType::boolean, run_not);
}

}  // namespace headroom::engine::cuda
