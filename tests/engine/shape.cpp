#include "engine/shape.h"

#include "engine/error.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

TEST_CASE("shape: sizes, strides, negative axes") {
  const Shape shape{2, 3, 4};
  CHECK(shape.numel() == 24);
  CHECK(shape[-1] == 4);
  CHECK(shape.contiguous_strides() == Shape{12, 4, 1});
  CHECK(Shape{0, 3}.contiguous_strides() == Shape{3, 1});
  CHECK(shape.numel(1, 3) == 12);
  CHECK(shape.with(-2, 9) == Shape{2, 9, 4});
  CHECK(shape.without(0) == Shape{3, 4});
  CHECK(Shape{}.numel() == 1);
  CHECK(shape.str() == "(2, 3, 4)");
}

TEST_CASE("shape: from a vector, and back") {
  const std::vector<int64_t> sizes{2, 0, 5};
  const Shape shape(sizes);
  CHECK(shape == Shape{2, 0, 5});
  CHECK(std::vector<int64_t>(shape.begin(), shape.end()) == sizes);
  int64_t total = 0;
  for (int64_t n : shape) total += n;
  CHECK(total == 7);
  CHECK(Shape(std::vector<int64_t>{}).rank() == 0);
  CHECK_THROWS_WITH(Shape(std::vector<int64_t>(9, 1)), "shape (1, 1, 1, 1, 1, 1, 1, 1): more than 8 axes");
}

TEST_CASE("shape: errors name the shape") {
  CHECK_THROWS_WITH((Shape{2, 3}[2]), "shape: axis 2 is out of range for shape (2, 3)");
  CHECK_THROWS_WITH((Shape{2, 3}.index(-3, "sum")), "sum: axis -3 is out of range for shape (2, 3)");
  CHECK_THROWS_AS(Shape::of_rank(Shape::max_rank + 1), Error);
  CHECK_THROWS_AS((Shape{int64_t{1} << 40, int64_t{1} << 40}.numel()), Error);
  CHECK_THROWS_WITH(Shape::of_rank(-1), "shape: rank -1 is not in [0, 8]");
  CHECK_THROWS_WITH((Shape{2, int64_t{1} << 40, int64_t{1} << 40}.contiguous_strides()), testing::contains("too many"));
  CHECK_THROWS_WITH((Shape{2, 3}.numel(0, 3)), "shape (2, 3): axes [0, 3) are not all there");
  CHECK_THROWS_AS((Shape{2, 3}.numel(-1, 2)), Error);
}

TEST_CASE("shape: broadcasting") {
  CHECK(engine::broadcast("add", {4, 1, 5}, {3, 1}) == Shape{4, 3, 5});
  CHECK(engine::broadcast("add", {0, 1}, {1, 3}) == Shape{0, 3});
  CHECK(engine::broadcast("add", {}, {2}) == Shape{2});
  CHECK_THROWS_WITH((broadcast("add", Shape{2, 3}, Shape{4})), "add: shapes do not broadcast: a (2, 3), b (4)");
  CHECK(engine::broadcasts_to({3, 1}, {2, 3, 5}));
  CHECK_FALSE(engine::broadcasts_to({3, 5}, {3, 1}));
  CHECK_FALSE(engine::broadcasts_to({2, 3}, {3}));
}
