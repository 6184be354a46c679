// Sums at indices on a GPU: several tiles and passes of the sort, sums over many chunks, indices out of range. The
// gradients are small whole numbers, so that every order of adding gives the same bits.
#include <cmath>

#include "engine/ops/embedding/embedding.h"
#include "engine/ops/gather/gather.h"
#include "engine/ops/scale/scale.h"
#include "engine/rng.h"
#include "engine/transfer.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
using namespace headroom::engine;

constexpr Device cuda{Device::Kind::cuda, 0};
const RngKey key{21, 4, 0};

bool no_gpu() {
  if (has_device(Device::Kind::cuda)) return false;
  testing::skip("no CUDA device");
  return true;
}

Tensor whole_numbers(const Shape& shape) { return random_integers(shape, -3, 4, key).to(DType::f32); }

/// Indices, one of which has `share` of all places.
Tensor crowded(int64_t n, int64_t rows, double share) {
  std::vector<int64_t> values = random_integers({n}, 0, rows, key).to_vector<int64_t>();
  const std::vector<float> draw = random_uniform({n}, 0, 1, key).to_vector<float>();
  for (size_t i = 0; i < values.size(); ++i)
    if (static_cast<double>(draw[i]) < share) values[i] = rows / 2;
  return Tensor::from({n}, values);
}

}  // namespace

TEST_CASE("embedding's gradient on a GPU: several tiles, passes and chunks") {
  if (no_gpu()) return;
  struct Case {
    int64_t n, rows, width;
    double share;
  };
  for (const Case& c : {Case{17, 1, 3, 0},
                        {2048, 256, 5, 0},
                        {2049, 257, 33, 0.3},
                        {5000, 70001, 2, 0.5},
                        {9000, 3, 1, 0.9},
                        {700, 1000, 130, 0},
                        {64, 64, 257, 1},
                        {128, 10, 31, 1},
                        {65, 10, 31, 1}}) {
    INFO(c.n << " indices of " << c.rows << " rows of " << c.width);
    const Tensor dy = whole_numbers({c.n, c.width}), indices = crowded(c.n, c.rows, c.share);
    const Tensor want = embedding_grad(dy, indices, c.rows);
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Tensor got = embedding_grad(dy.to(dtype).to(cuda), indices.to(cuda), c.rows);
      CHECK(got.to_vector<double>() == want.to_vector<double>());
    }
    const Tensor halves = embedding_grad(dy.to(DType::bf16).to(cuda), indices.to(cuda), c.rows);  // summed in f32
    CHECK(halves.to(cpu).to_vector<double>() == want.to(DType::bf16).to_vector<double>());
    for (const DType dtype : {DType::f32, DType::bf16}) {  // into a place, and added to what is there
      const Tensor place = Tensor::full(want.shape(), 7, DType::f32, cuda);
      const auto put = [&](bool adds) {
        const Tensor got = embedding_grad(dy.to(dtype).to(cuda), indices.to(cuda), c.rows, place, adds);
        CHECK(got.raw() == place.raw());
        return got.to_vector<double>();
      };
      CHECK(put(false) == want.to_vector<double>());
      CHECK(put(true) == scale(want, 2).to_vector<double>());
    }
  }
}

TEST_CASE("embedding's gradient on a GPU has the same bits at every run, and those of sums in order") {
  if (no_gpu()) return;
  const Tensor dy = random_normal({3000, 40}, 0, 1, key), indices = crowded(3000, 50, 0.4);
  const Tensor first = embedding_grad(dy.to(cuda), indices.to(cuda), 50);
  for (int run = 0; run < 3; ++run)
    CHECK(embedding_grad(dy.to(cuda), indices.to(cuda), 50).to_vector<float>() == first.to_vector<float>());
  // A row whose positions lie in one chunk is summed as on the CPU: one after the other.
  const Tensor few = dy.slice(0, 0, 60), where = indices.slice(0, 0, 60);
  CHECK(embedding_grad(few.to(cuda), where.to(cuda), 50).to_vector<float>() ==
        embedding_grad(few, where, 50).to_vector<float>());
}

TEST_CASE("gather's gradient on a GPU, by sorting and by columns") {
  if (no_gpu()) return;
  struct Case {
    Shape x, index;
    int axis;
  };
  for (const Case& c : {Case{{3, 50, 7}, {1, 300, 1}, 1},  // one list for all
                        {{3, 50, 7}, {3, 300, 1}, 1},      // a list for each outer slice
                        {{3, 50, 7}, {3, 300, 7}, 1},      // each element by itself
                        {{40}, {1000}, 0},
                        {{4, 9}, {4, 16}, 1},       // few of each: by columns
                        {{20, 66000}, {30, 1}, 0},  // many columns
                        {{2, 20, 33000}, {2, 18, 33000}, 1}}) {
    INFO(c.x.str() << " at " << c.index.str());
    Shape dy_shape = c.x.with(c.axis, c.index[c.axis]);
    const Tensor dy = whole_numbers(dy_shape), index = random_integers(c.index, 0, c.x[c.axis], key);
    const std::vector<float> want = gather_grad(dy, c.x, c.axis, index).to_vector<float>();
    CHECK(gather_grad(dy.to(cuda), c.x, c.axis, index.to(cuda)).to_vector<float>() == want);
    CHECK(gather_grad(dy.to(DType::bf16).to(cuda), c.x, c.axis, index.to(cuda)).to_vector<float>() == want);
  }
}

TEST_CASE("an index out of range on a GPU reads nothing and adds nothing") {
  if (no_gpu()) return;
  const Tensor table = whole_numbers({5, 8}), indices = Tensor::from<int64_t>({4}, {4, -1, 5, INT64_MAX});
  const std::vector<float> y = embedding(table.to(cuda), indices.to(cuda)).to_vector<float>();
  for (size_t i = 0; i < 32; ++i) {
    if (i < 8) CHECK(y[i] == table.to_vector<float>()[32 + i]);
    else CHECK(std::isnan(y[i]));
  }
  for (const int64_t repeats : {1, 30}) {  // by columns, by sorting
    std::vector<int64_t> many;
    for (int64_t r = 0; r < repeats; ++r) many.insert(many.end(), {4, -1, 5, INT64_MIN});
    const int64_t n = 4 * repeats;
    const Tensor dy = Tensor::full({n, 8}, 1), where = Tensor::from({n}, many);
    std::vector<float> want(40, 0);
    for (size_t j = 32; j < 40; ++j) want[j] = static_cast<float>(repeats);
    CHECK(embedding_grad(dy.to(cuda), where.to(cuda), 5).to_vector<float>() == want);
  }
  const Tensor x = Tensor::from<int64_t>({3}, {7, 8, 9});
  CHECK(gather(x.to(cuda), 0, Tensor::from<int64_t>({2}, {3, 1}).to(cuda)).to_vector<int64_t>() ==
        std::vector<int64_t>{0, 8});
}
