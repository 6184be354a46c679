#include "engine/rng.h"

#include <cmath>
#include <functional>
#include <set>

#include "engine/context.h"
#include "engine/error.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/dropout/dropout.h"
#include "engine/parallel.h"
#include "engine/sampling/choose_token.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

using Words = std::array<uint32_t, 4>;

struct Moments {
  double mean = 0, variance = 0, lowest = INFINITY, highest = -INFINITY;
};
Moments moments(const Tensor& x) {
  Moments m;
  const std::vector<double> values = x.to_vector<double>();
  const auto n = static_cast<double>(values.size());
  for (const double v : values) m.mean += v / n, m.lowest = std::min(m.lowest, v), m.highest = std::max(m.highest, v);
  for (const double v : values) m.variance += (v - m.mean) * (v - m.mean) / n;
  return m;
}

}  // namespace

TEST_CASE("philox: the known answers of Random123") {
  constexpr uint32_t ones = 0xffffffffu;
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == Words{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8});
  CHECK(philox({ones, ones, ones, ones}, {ones, ones}) == Words{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd});
  CHECK(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}) ==
        Words{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1});
}

TEST_CASE("rng: streams do not move each other, and a key addresses its values") {
  Rng one(7), two(7);
  two.take("dropout", 1000);
  const RngKey a = one.take("init", 5), b = two.take("init", 5), next = one.take("init", 5);
  CHECK(random_bits(a, 3) == random_bits(b, 3));
  CHECK(next.offset == 8);
  CHECK(random_bits({.seed = 7, .stream = a.stream}, 8) == random_bits(next, 0));
  CHECK(random_bits(a, 0) != random_bits(two.take("dropout", 1), 0));
  CHECK(random_bits(a, 0) != random_bits(Rng(8).take("init", 1), 0));
  Rng restored(7);
  restored.set_offsets(one.offsets());
  CHECK(restored.take("init", 1).offset == one.take("init", 1).offset);
  CHECK_THROWS_AS(one.take("init", -1), Error);
}

TEST_CASE("rng: a key gives no value of the next one, whoever asks") {
  const auto key = [](int64_t count) { return Rng(7).take("data", count); };
  const Tensor x = Tensor::full({3, 3}, 1), q = Tensor::full({2, 3, 1, 4}, 1);  // (3, 3), (B, T, H, d)
  const auto attended = [&](const RngKey& k) { attention(q, q, q, {}, {.dropout = 0.5, .dropout_key = k}); };
  const std::vector<std::pair<int64_t, std::function<void(const RngKey&)>>> readers{
      {9,
       [](const RngKey& k) {
         random_uniform({3, 3}, 0, 1, k);
       }},
      {9,
       [](const RngKey& k) {
         random_normal({3, 3}, 0, 1, k, DType::f64);
       }},
      {9,
       [](const RngKey& k) {
         random_integers({3, 3}, 0, 9, k);
       }},
      {9, [&](const RngKey& k) { dropout(x, 0.5, k); }},
      {18, attended},
      {1, [&](const RngKey& k) { choose_token(x.slice(0, 0, 1).reshape({3}), {.temperature = 1}, k); }},
      {6, [](const RngKey& k) { random_bits(k, 5); }}};
  for (const auto& [needs, read] : readers) {
    CHECK_NOTHROW(read(key(needs)));
    CHECK_THROWS_WITH(read(key(needs - 1)), testing::contains(needs > 1 ? "key" : "no random value"));
    CHECK_NOTHROW(read(RngKey{.seed = 7}));
  }
}

TEST_CASE("rng: no value is handed out twice") {
  Rng rng(7);
  std::set<std::vector<float>> seen;
  int64_t drawn = 0;
  for (int64_t i = 0; i < 200; ++i) {
    const std::string stream = i % 3 == 0 ? "data" : i % 3 == 1 ? "init" : "dropout";
    if (stream == "dropout") rng.set_lane(stream, i % 4);
    // Four at a time: single values of 24 bits meet by chance.
    const std::vector<float> values = random_uniform({4 * (1 + i % 7) + i % 4}, rng, stream).to_vector<float>();
    for (size_t at = 0; at + 4 <= values.size(); at += 4, ++drawn)
      seen.insert({values.begin() + static_cast<int64_t>(at), values.begin() + static_cast<int64_t>(at) + 4});
  }
  CHECK(std::ssize(seen) == drawn);
  Rng other(7);
  other.take("liquid", 1);
  CHECK_THROWS_WITH(other.take("costarring", 1), testing::contains("rename one"));  // one FNV-1a hash
  other.set_lane("dropout", 1);
  other.take("dropout", 1);
  CHECK_THROWS_WITH(other.take("dropout.1", 1), testing::contains("rename one"));
  other.take("all", INT64_MAX), other.take("all", INT64_MAX - 8);
  CHECK_THROWS_AS(other.take("all", INT64_MAX), Error);
}

TEST_CASE("rng: fills from a stream are those of its keys") {
  Rng one(7), two(7);
  CHECK((random_normal({3}, one, "x", 1, 2).to_vector<float>() ==
         random_normal({3}, 1, 2, two.take("x", 3)).to_vector<float>()));
  CHECK((random_uniform({2, 3}, one, "x", -1, 1, DType::f64).to_vector<double>() ==
         random_uniform({2, 3}, -1, 1, two.take("x", 6), DType::f64).to_vector<double>()));
  CHECK((random_integers({5}, one, "x", 2, 9).to_vector<int64_t>() ==
         random_integers({5}, 2, 9, two.take("x", 5)).to_vector<int64_t>()));
  CHECK(one.offsets() == two.offsets());
}

TEST_CASE("rng: fills agree with random_bits, however they are cut") {
  const RngKey key{11, 3, 8};
  const std::vector<float> values = random_uniform({10007}, 0, 1, key).to_vector<float>();
  for (const size_t i : {size_t{0}, size_t{5}, size_t{10006}})
    CHECK(values[i] == static_cast<float>(random_bits(key, i) >> 8) * 0x1p-24f);
  const ThreadScope one(1);
  CHECK(random_uniform({10007}, 0, 1, key).to_vector<float>() == values);
  CHECK_THROWS_AS(random_uniform({4}, 0, 1, RngKey{1, 0, 2}), Error);
}

TEST_CASE("rng: moments and ranges") {
  const RngKey key{5, 1, 0};
  constexpr int64_t n = 400000;
  // Five standard errors of each estimate.
  const Moments normal = moments(random_normal({n}, 2, 3, key));
  CHECK(normal.mean == Approx(2).margin(5 * 3 / std::sqrt(n)));
  CHECK(normal.variance == Approx(9).margin(5 * 9 * std::sqrt(2.0 / n)));
  CHECK(normal.highest < 2 + 3 * 7);
  const Moments uniform = moments(random_uniform({n}, -1, 3, key));
  CHECK(uniform.mean == Approx(1).margin(5 * std::sqrt(16.0 / 12 / n)));
  CHECK(uniform.variance == Approx(16.0 / 12).epsilon(0.01));
  CHECK(uniform.lowest >= -1);
  CHECK(uniform.highest < 3);
  const Moments integers = moments(random_integers({n}, -2, 3, key));
  CHECK(integers.mean == Approx(0).margin(5 * std::sqrt(2.0 / n)));
  CHECK(integers.lowest == -2);
  CHECK(integers.highest == 2);
}

TEST_CASE("rng: a uniform value never rounds up to the end of its range") {
  const Moments m = moments(random_uniform({1 << 20}, 100, 100.0001, RngKey{1, 0, 0}));
  CHECK(m.lowest >= 100);
  CHECK(m.highest < 100.0001);
  CHECK(moments(random_uniform({8}, 3, 3, RngKey{1, 0, 0})).highest == 3);
  CHECK_THROWS_AS(random_uniform({8}, 3, 2, RngKey{}), Error);
  CHECK_THROWS_AS(random_uniform({8}, NAN, 2, RngKey{}), Error);
  CHECK_THROWS_AS(random_uniform({8}, -1.7e308, 1.7e308, RngKey{}), Error);
  CHECK_THROWS_WITH(random_normal({8}, 0, -1, RngKey{}), testing::contains("random_normal: mean 0 and std -1"));
  CHECK_THROWS_AS(random_normal({8}, NAN, 1, RngKey{}), Error);
  CHECK_THROWS_AS(random_integers({8}, 3, 3, RngKey{}), Error);
  CHECK_THROWS_AS(random_integers({8}, INT64_MIN, INT64_MAX, RngKey{}), Error);
}
