// Matrix products at sizes that the samples of matmul cannot have: several tiles of every kind, on both fast paths.
#include "engine/cpu/gemm.h"

#include <algorithm>
#include <cmath>
#include <thread>
#include <vector>

#include "engine/context.h"
#include "engine/cpu/kernel_level.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/rng.h"
#include "tests/support/catch.h"
#include "tests/support/distance.h"

namespace headroom::engine {
namespace {

struct Size {
  int64_t m, n, k;
  bool transpose_a, transpose_b;
};

/// Rows, columns and k in tiles; none a multiple of anything.
const std::vector<Size> sizes{{1037, 531, 67, false, true},  {1037, 67, 531, false, false},
                              {131, 307, 2309, true, false}, {7, 1031, 515, false, true},
                              {1, 700, 300, false, false},   {67, 9, 4099, true, true}};

Tensor random(const Shape& shape, uint64_t seed) { return random_uniform(shape, -1, 1, RngKey{.seed = seed}); }

struct Operands {
  Tensor a, b, bias;
  explicit Operands(const Size& s)
      : a(random(s.transpose_a ? Shape{s.k, s.m} : Shape{s.m, s.k}, 1)),
        b(random(s.transpose_b ? Shape{s.n, s.k} : Shape{s.k, s.n}, 2)),
        bias(random({s.n}, 3)) {}
};

template <class T>
std::vector<T> product(const Size& s, const Operands& in) {
  const Tensor a = in.a.to(dtype_of<T>()), b = in.b.to(dtype_of<T>()), bias = in.bias.to(dtype_of<T>());
  const Tensor c = Tensor::empty({s.m, s.n}, dtype_of<T>());
  gemm(MatrixProduct<T>{s.m,
                        s.n,
                        s.k,
                        {a.data<T>(), a.dim(1), s.transpose_a},
                        {b.data<T>(), b.dim(1), s.transpose_b},
                        c.mutable_data<T>(),
                        s.n,
                        bias.data<T>()});
  return c.to_vector<T>();
}

TEST_CASE("a product of many tiles is that of the plain loops, through our kernel and through oneDNN") {
  for (const Size& size : sizes) {
    const Operands in(size);
    const std::vector<double> want = product<double>(size, in);
    for (const ProductPath path : {ProductPath::own, ProductPath::onednn, ProductPath::best}) {
      const ProductPathScope scope(path);
      const std::vector<float> got = product<float>(size, in);
      double worst = 0;
      for (size_t i = 0; i < want.size(); ++i) worst = std::max(worst, testing::apart(got[i], want[i]));
      INFO(size.m << " x " << size.n << " x " << size.k << ", path " << static_cast<int>(path));
      CHECK(worst < 1e-6 * std::sqrt(static_cast<double>(size.k)) * 4);  // each term is rounded to 2^-24 of about 1
    }
  }
}

TEST_CASE("a product has the same bits on any number of threads, and beside other products") {
  for (const Size& size : sizes) {
    const Operands in(size);
    for (const ProductPath path : {ProductPath::own, ProductPath::onednn}) {
      const auto on_threads = [&](int threads) {
        const ThreadScope scope(threads);
        const ProductPathScope path_scope(path);
        return product<float>(size, in);
      };
      const std::vector<float> want = on_threads(1);
      for (const int threads : {2, 3, 5}) CHECK(on_threads(threads) == want);
      std::vector<std::vector<float>> beside(3);
      std::vector<std::thread> trials;
      for (auto& out : beside) trials.emplace_back([&] { out = on_threads(1); });
      for (std::thread& trial : trials) trial.join();
      for (const auto& out : beside) CHECK(out == want);
    }
  }
}

}  // namespace

TEST_CASE("the level of kernels names instruction set, what multiplies, and the bits of that") {
  const std::string level = kernel_level(), isa = name_of(active_isa());
  CHECK(level == isa + ", " + products());
  const size_t bits = level.find(", bits ");
  REQUIRE(bits == level.size() - 15);
  CHECK(level.find_first_not_of("0123456789abcdef", bits + 7) == std::string::npos);
  std::string other = level;
  other.back() = other.back() == '0' ? '1' : '0';
  CHECK((may_be_alike(level, level) && may_be_alike(isa, level) && may_be_alike("", level)));
  CHECK_FALSE((may_be_alike(other, level) || may_be_alike("avx", level) || may_be_alike(level, isa)));
}

}  // namespace headroom::engine
