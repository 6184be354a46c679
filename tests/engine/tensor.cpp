#include "engine/tensor.h"

#include <sstream>

#include "engine/error.h"
#include "engine/ops/elementwise/binary.h"
#include "tests/support/catch.h"

using namespace headroom;
using namespace headroom::engine;

namespace {

/// 0, 1, 2, … in row-major order.
Tensor counting(const Shape& shape) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  return Tensor::from<float>(shape, values);
}
using Values = std::vector<float>;

}  // namespace

TEST_CASE("tensor: ranges, ones, identities, and how they print") {
  const auto range = [](int64_t begin, int64_t end, int64_t step) {
    return Tensor::arange(begin, end, step).to_vector<int64_t>();
  };
  CHECK(range(2, 9, 3) == std::vector<int64_t>{2, 5, 8});
  CHECK(range(2, 8, 3) == std::vector<int64_t>{2, 5});
  CHECK(range(4, 0, -2) == std::vector<int64_t>{4, 2});
  CHECK(range(4, 0, 1).empty());
  CHECK(range(INT64_MIN, INT64_MAX, INT64_MAX) == std::vector<int64_t>{INT64_MIN, -1, INT64_MAX - 1});
  CHECK_THROWS_WITH(Tensor::arange(0, 4, 0), testing::contains("step is 0"));
  CHECK(Tensor::eye(2).to_vector<float>() == std::vector<float>{1, 0, 0, 1});
  CHECK(Tensor::eye(0).numel() == 0);
  CHECK_THROWS_AS(Tensor::eye(-1), Error);
  CHECK(Tensor::zeros_like(Tensor::ones({2, 1}, DType::f64)).str() == "f64 (2, 1)");
  const auto printed = [](const Tensor& x) {
    std::ostringstream out;
    out << x;
    return out.str();
  };
  CHECK(printed({}) == "undefined");
  CHECK(printed(Tensor::full({}, 0.1)) == "f32 () 0.1");
  CHECK(printed(Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6}).transpose(0, 1)) ==
        "f32 (3, 2) [[1, 4], [2, 5], [3, 6]]");
  CHECK(printed(Tensor::arange(0, 8)) == "i64 (8) [0, 1, 2, …, 5, 6, 7]");
  CHECK(printed(Tensor::empty({2, 0})) == "f32 (2, 0) [[], []]");
}

TEST_CASE("tensor: views share storage and read right") {
  const Tensor x = counting({2, 3, 4});
  const Tensor t = x.transpose(0, 2);  // (4, 3, 2)
  CHECK(t.shares_storage(x));
  CHECK_FALSE(t.is_contiguous());
  CHECK(t.slice(0, 1, 2).to_vector<float>() == Values{1, 13, 5, 17, 9, 21});
  CHECK(x.permute({2, 0, 1}).shape() == Shape{4, 2, 3});
  CHECK(x.slice(1, 1, 3).slice(2, 3, 4).to_vector<float>() == Values{7, 11, 19, 23});
  CHECK(counting({3, 1}).expand({2, 3, 2}).to_vector<float>() == Values{0, 0, 1, 1, 2, 2, 0, 0, 1, 1, 2, 2});
  CHECK(x.reshape({-1, 8}).shape() == Shape{3, 8});
  CHECK(x.reshape({24}).shares_storage(x));
  CHECK_FALSE(t.reshape({24}).shares_storage(x));
  CHECK(x.contiguous().shares_storage(x));
  CHECK(x.slice(0, 1, 2).is_contiguous());
  CHECK(x.slice(0, 1, 2).to_vector<float>()[0] == 12);
  CHECK(x.expand({2, 3, 4}).is_contiguous());
}

TEST_CASE("tensor: empty and scalar tensors") {
  const Tensor none = Tensor::zeros({0, 4});
  CHECK(none.numel() == 0);
  CHECK(none.transpose(0, 1).contiguous().shape() == Shape{4, 0});
  CHECK(none.reshape({2, 0}).shape() == Shape{2, 0});
  CHECK(none.to_vector<float>().empty());
  CHECK(Tensor::full({}, 2.5).item() == 2.5);
  CHECK(Tensor::full({3}, 7, DType::i8).to_vector<int8_t>() == std::vector<int8_t>{7, 7, 7});
  CHECK_FALSE(Tensor().defined());
  CHECK(Tensor().str() == "undefined");
}

TEST_CASE("tensor: from and to_vector know every dtype") {
  const std::vector<bool> mask{true, false, true, true};
  const Tensor x = Tensor::from({2, 2}, mask);
  CHECK(x.dtype() == DType::boolean);
  CHECK(x.transpose(0, 1).to_vector<bool>() == std::vector<bool>{true, true, false, true});
  CHECK(x.to_vector<float>() == Values{1, 0, 1, 1});
  CHECK(Tensor::from<float>({3}, {0, -0.5f, 2}).to_vector<bool>() == std::vector<bool>{false, true, true});
  CHECK_THROWS_WITH(Tensor::from({3}, mask), "tensor: 4 values for shape (3)");
  CHECK(Tensor::from<bf16>({1}, {bf16(1.5f)}).to_vector<float>() == Values{1.5f});
  CHECK(static_cast<float>(Tensor::full({1}, 0.25).to_vector<f16>()[0]) == 0.25f);
}

TEST_CASE("tensor: clone and copy_inplace") {
  const Tensor x = counting({2, 3});
  const Tensor copy = x.transpose(0, 1).clone();
  CHECK_FALSE(copy.shares_storage(x));
  CHECK(copy.to_vector<float>() == Values{0, 3, 1, 4, 2, 5});
  const Tensor target = Tensor::zeros({4, 3});
  const uint32_t before = target.version();
  copy_inplace(target.slice(0, 1, 3), x);
  CHECK(target.version() > before);
  CHECK(target.to_vector<float>() == Values{0, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0});
  copy_inplace(target.transpose(0, 1).slice(1, 0, 2), copy);
  CHECK(target.to_vector<float>() == Values{0, 1, 2, 3, 4, 5, 3, 4, 5, 0, 0, 0});
}

TEST_CASE("tensor: nested lists, elements, steps, bounds from the end") {
  const Tensor x = Tensor::of({{1, 2, 3}, {4, 5, 6}});
  CHECK(x.str() == "f32 (2, 3)");
  CHECK(x.to_vector<float>() == Values{1, 2, 3, 4, 5, 6});
  CHECK(Tensor::of({{7}}, DType::i64).str() == "i64 (1, 1)");
  CHECK(Tensor::of(2.5).item() == 2.5);
  CHECK(Tensor::of({}).shape() == Shape{0});
  CHECK_THROWS_WITH(Tensor::of({{1, 2}, {3}}), "tensor: a list of (2) and (1): all parts need one shape");
  CHECK(x[1][-1].item() == 6);
  CHECK(x[-2].shares_storage(x));
  CHECK_THROWS_WITH(x[2], "select: 2 is outside axis 0 of shape (2, 3)");
  CHECK(x.slice(1, 0, Tensor::to_end, 2).to_vector<float>() == Values{1, 3, 4, 6});
  CHECK(x.slice(1, -2, -1).to_vector<float>() == Values{2, 5});
  CHECK(x.transpose(0, 1).slice(0, 0, 3, 2).to_vector<float>() == Values{1, 4, 3, 6});
  CHECK(x.slice(1, 3).numel() == 0);
  CHECK_THROWS_AS(x.slice(1, -4), Error);
}

TEST_CASE("tensor: transposed copies go by tiles of any size") {
  for (const Shape& shape : {Shape{3, 50, 37}, Shape{2, 16, 32}, Shape{1, 1, 5}, Shape{4, 33, 1}}) {
    const Tensor x = counting(shape), y = x.transpose(1, 2).contiguous(), z = x.transpose(0, 2).to(DType::f64);
    for (int64_t i = 0; i < shape[0]; ++i)
      for (int64_t j = 0; j < shape[1]; ++j)
        for (int64_t k = 0; k < shape[2]; ++k) {
          REQUIRE(y[i][k][j].item() == x[i][j][k].item());
          REQUIRE(z[k][j][i].item() == x[i][j][k].item());
        }
  }
}

TEST_CASE("tensor: what cannot be done is an error that names the shapes") {
  const Tensor x = counting({2, 3});
  CHECK_THROWS_WITH(x.reshape({4, 2}), "reshape: 6 elements do not fit: from (2, 3) to (4, 2)");
  CHECK_THROWS_AS(x.reshape({-2, -3}), Error);
  CHECK_THROWS_AS(x.reshape({-1, -1}), Error);
  CHECK_THROWS_AS(Tensor::zeros({0, 3}).reshape({0, -1}), Error);
  CHECK_THROWS_WITH(x.slice(1, 2, 5), "slice: [2, 5) is outside axis 1 of shape (2, 3)");
  CHECK_THROWS_WITH(x.expand({2, 4}), "expand: (2, 3) does not broadcast to (2, 4)");
  CHECK_THROWS_AS(Tensor::zeros({1}).expand({-3}), Error);
  CHECK_THROWS_AS(x.permute({0}), Error);
  CHECK_THROWS_AS(x.permute({1, 1}), Error);
  CHECK_THROWS_AS(x.transpose(0, 2), Error);
  CHECK_THROWS_AS(Tensor::empty({-1}), Error);
  CHECK_THROWS_AS(Tensor::empty({int64_t{1} << 62}), Error);
  CHECK_THROWS_WITH(Tensor::empty({int64_t{1} << 40, int64_t{1} << 40}), testing::contains("too many elements"));
  CHECK_THROWS_WITH(Tensor::over(nullptr, nullptr, {-1}, DType::f32), testing::contains("negative size"));
  CHECK_THROWS_WITH(x.data<double>(), "tensor: f32 (2, 3) read as f64");
  CHECK_THROWS_AS(x.item(), Error);
  CHECK_THROWS_AS(Tensor::from<float>({2}, {1}), Error);
  CHECK_THROWS_AS(Tensor().data<float>(), Error);
  CHECK_THROWS_AS(Tensor().to_vector<float>(), Error);
  CHECK_THROWS_AS(copy_inplace(x, counting({3, 2})), Error);
  CHECK_THROWS_AS(copy_inplace(Tensor(), Tensor()), Error);
  CHECK_THROWS_AS(add_inplace(Tensor(), Tensor()), Error);
  CHECK_THROWS_AS(add_inplace(x.transpose(0, 1), counting({3, 2})), Error);
}

TEST_CASE("tensor: a copy onto itself takes the values from before") {
  const auto moved = [](int64_t from, int64_t to, int64_t n) {
    const Tensor x = counting({6});
    copy_inplace(x.slice(0, to, to + n), x.slice(0, from, from + n));
    return x.to_vector<float>();
  };
  CHECK(moved(0, 1, 5) == Values{0, 0, 1, 2, 3, 4});
  CHECK(moved(1, 0, 5) == Values{1, 2, 3, 4, 5, 5});
  CHECK(moved(2, 2, 3) == Values{0, 1, 2, 3, 4, 5});
  const Tensor square = counting({3, 3});
  copy_inplace(square, square.transpose(0, 1));
  CHECK(square.to_vector<float>() == Values{0, 3, 6, 1, 4, 7, 2, 5, 8});
  const Tensor sums = counting({20000});
  add_inplace(sums.slice(0, 1, 20000), sums.slice(0, 0, 19999));
  CHECK(sums.to_vector<float>()[19999] == 19999 + 19998);
  const Tensor twice = counting({3});
  add_inplace(twice, twice);
  CHECK(twice.to_vector<float>() == Values{0, 2, 4});
  const auto memory = std::make_shared<std::vector<float>>(4, 1.0f);
  CHECK_FALSE(Tensor::zeros({0}).overlaps(Tensor::zeros({0})));
  CHECK(Tensor::over(memory->data(), memory, {3}, DType::f32)
            .overlaps(Tensor::over(memory->data() + 2, memory, {2}, DType::f32)));
  CHECK_FALSE(counting({4}).slice(0, 0, 2).overlaps(counting({4}).slice(0, 2, 4)));
}

TEST_CASE("tensor: an expanded view is not written to") {
  const Tensor row = counting({3}), wide = row.expand({2, 3});
  CHECK_THROWS_WITH(copy_inplace(wide, Tensor::zeros({2, 3})),
                    "copy_inplace: destination f32 (2, 3) is expanded along axis 0: its elements share memory");
  CHECK_THROWS_AS(add_inplace(wide, Tensor::zeros({2, 3})), Error);
  CHECK(row.to_vector<float>() == Values{0, 1, 2});
  copy_inplace(row.expand({1, 3}), Tensor::full({1, 3}, 7));
  CHECK(row.to_vector<float>() == Values{7, 7, 7});
}

TEST_CASE("tensor: no member of an undefined one crashes") {
  const Tensor none;
  CHECK_THROWS_WITH(none.bump_version(), "bump_version: the tensor is undefined");
  CHECK_THROWS_WITH(none.reshape({1}), "reshape: the tensor is undefined");
  CHECK_THROWS_WITH(none.expand({2}), "expand: the tensor is undefined");
  CHECK_THROWS_WITH(none.permute({}), "permute: the tensor is undefined");
  CHECK_THROWS_WITH(none.transpose(0, 0), "transpose: the tensor is undefined");
  CHECK_THROWS_WITH(none.slice(0, 0, 0), "slice: the tensor is undefined");
  CHECK_THROWS_AS(none.raw(), Error);
  CHECK_THROWS_AS(none.mutable_raw(), Error);
  CHECK_THROWS_AS(none.mutable_data<float>(), Error);
  CHECK_THROWS_AS(none.clone(), Error);
  CHECK_THROWS_AS(none.item(), Error);
  CHECK_THROWS_AS(none.dim(0), Error);
  CHECK_THROWS_AS(none.to(DType::f64), Error);
  CHECK(none.version() == 0);
  CHECK(none.device() == cpu);
  CHECK_FALSE(none.is_unique());
  CHECK_FALSE(none.shares_storage(none));
  CHECK_FALSE(none.overlaps(none));
}

TEST_CASE("error: context is added line by line") {
  const Error error = Error("rms_norm: no").in("block[2]").in("decoder");
  CHECK(std::string(error.what()) == "rms_norm: no\n  in block[2]\n  in decoder");
}

TEST_CASE("tensor: a view of someone else's memory is read in place, kept alive and never written to") {
  auto bytes = std::make_shared<std::vector<float>>(std::vector<float>{1, 2, 3, 4, 5, 6});
  const std::weak_ptr<std::vector<float>> watch = bytes;
  Tensor view = Tensor::over(bytes->data(), bytes, {2, 3}, DType::f32);  // (2, 3)
  CHECK(view.data<float>() == bytes->data());
  bytes.reset();
  CHECK(view.transpose(0, 1).to_vector<float>() == std::vector<float>{1, 4, 2, 5, 3, 6});
  CHECK_THROWS_WITH(view.mutable_data<float>(),
                    testing::contains("f32 (2, 3) views memory that may not be written to"));
  CHECK_THROWS_WITH(copy_inplace(view, view.clone()), testing::contains("may not be written to"));
  CHECK(view.clone().mutable_data<float>() != nullptr);
  CHECK(!watch.expired());
  view = Tensor();
  CHECK(watch.expired());
  const std::vector<char> odd(16);
  CHECK_THROWS_WITH(Tensor::over(odd.data() + 1, nullptr, {2}, DType::f32), testing::contains("multiple of 4"));
}
