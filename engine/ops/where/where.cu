#include "engine/ops/where/where.h"

#include "engine/cuda/elementwise.cuh"

namespace headroom::engine::cuda {
namespace {

struct Choose {
  template <class C>
  __device__ C operator()(bool condition, C a, C b) const {
    return condition ? a : b;
  }
};

template <class T>
void run(WhereCall& c) {
  map<T, bool, T, T>("where", Choose(), c.y, c.condition, c.a, c.b);
}

}  // namespace

void register_where() { add_strided_kernels(where_op, "packs", run<float>, run<double>, run<bf16>); }

}  // namespace headroom::engine::cuda
