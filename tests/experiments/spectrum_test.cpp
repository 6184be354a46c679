// `headroom spectrum` as its users meet it.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "engine/linalg/svd.h"
#include "models/safetensors/safetensors.h"
#include "tests/experiments/program.h"
#include "tests/support/folder.h"

using headroom::engine::DType;
using headroom::engine::Tensor;
using namespace headroom::testing;

namespace {

nlohmann::json spectrum_of(const TemporaryFolder& folder, const std::string& tensor) {
  return nlohmann::json::parse(output_of(folder.path(), "spectrum w.safetensors --json --tensor " + tensor));
}

void write_file(const TemporaryFolder& folder) {
  const Tensor a = Tensor::from<double>({2, 2}, {3, 0, 4, 5}), b = Tensor::from<double>({2, 3}, {1, 0, 0, 0, 2, 0});
  headroom::models::write_safetensors(folder / "w.safetensors", {{"a", a},
                                                                 {"a_half", a.to(DType::bf16)},
                                                                 {"b", b},
                                                                 {"ids", Tensor::zeros({2, 2}, DType::i64)},
                                                                 {"stack", Tensor::zeros({2, 2, 2})},
                                                                 {"tall", Tensor::zeros({3, 2})},
                                                                 {"bad", Tensor::from<float>({1, 2}, {1, NAN})}});
}

}  // namespace

TEST_CASE("spectrum prints singular values with the energy and error of each rank") {
  const TemporaryFolder folder;
  write_file(folder);
  for (const char* name : {"a", "a_half"}) {
    const auto json = spectrum_of(folder, name);
    CHECK(json["singular_values"][0].get<double>() == Approx(std::sqrt(45)).epsilon(1e-14));
    CHECK(json["singular_values"][1].get<double>() == Approx(std::sqrt(5)).epsilon(1e-14));
    CHECK(json["energy"][0].get<double>() == Approx(0.9).epsilon(1e-14));
    CHECK(json["energy"][1].get<double>() == 1);
    CHECK(json["error"][0].get<double>() == Approx(std::sqrt(5)).epsilon(1e-14));
    CHECK(json["spectral_error"][1].get<double>() == 0);
  }
  // aᵀ·b = [[3, 8, 0], [0, 10, 0]]: σ² are the roots of x² - 173 x + 900.
  const auto product = spectrum_of(folder, "a --times b");
  REQUIRE(product["singular_values"].size() == 2);
  CHECK(product["singular_values"][0].get<double>() ==
        Approx(std::sqrt((173 + std::sqrt(173.0 * 173 - 3600)) / 2)).epsilon(1e-14));
  CHECK(product["singular_values"][0].get<double>() * product["singular_values"][1].get<double>() ==
        Approx(30).epsilon(1e-14));
  CHECK(spectrum_of(folder, "a --rank 1")["singular_values"].size() == 1);
  CHECK_THAT(output_of(folder.path(), "spectrum w.safetensors --tensor a"), contains("6.70820393"));
}

TEST_CASE("spectrum keeps small values, and --rank changes none of them") {
  const TemporaryFolder folder;
  // Columns of 12 by 12 integers times 10⁰, 10⁻¹, …, 10⁻¹¹; `first` has its first three columns as they are.
  std::vector<double> graded(144), first(144);
  for (size_t i = 0; i < 144; ++i) {
    const double number = static_cast<double>((i * i * 7 + i * 13) % 31) - 15;
    graded[i] = number / std::pow(10, static_cast<double>(i % 12));
    first[i] = i % 12 < 3 ? number : graded[i];
  }
  const Tensor a = Tensor::from<double>({12, 12}, graded), b = Tensor::from<double>({12, 12}, first);
  headroom::models::write_safetensors(folder / "w.safetensors", {{"graded", a}, {"first", b}});
  for (const auto& [name, x] : {std::pair("graded", &a), std::pair("first", &b)}) {
    const std::vector<double> wanted = headroom::engine::linalg::singular_values(*x).to_vector<double>();
    CHECK(wanted[11] < 1e-9 * wanted[0]);
    for (size_t rank = 1; rank <= 12; ++rank) {
      const auto json = spectrum_of(folder, fmt::format("{} --rank {}", name, rank));
      REQUIRE(json["singular_values"].size() == rank);
      double rest = 0;
      for (size_t i = 12; i-- > rank;) rest = std::hypot(rest, wanted[i]);
      for (size_t i = 0; i < rank; ++i)
        CHECK(json["singular_values"][i].get<double>() == Approx(wanted[i]).epsilon(1e-10));
      CHECK(json["spectral_error"][rank - 1].get<double>() == Approx(rank < 12 ? wanted[rank] : 0).epsilon(1e-10));
      CHECK(json["error"][rank - 1].get<double>() == Approx(rest).epsilon(1e-10));
    }
  }
}

TEST_CASE("shares of energy do not depend on the magnitude") {
  const TemporaryFolder folder;
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, size] : {std::pair("large", 1.7e308), std::pair("one", 1.0), std::pair("small", 1e-300)})
    tensors[name] = Tensor::from<double>({2, 2}, {size, 0, 0, size});
  headroom::models::write_safetensors(folder / "w.safetensors", {tensors.begin(), tensors.end()});
  for (const auto& [name, tensor] : tensors) {
    const auto json = spectrum_of(folder, name);
    CHECK(json["energy"][0].get<double>() == Approx(0.5).epsilon(1e-14));
    CHECK(json["energy"][1] == 1.0);
    CHECK(json["error"][0] == json["singular_values"][1]);
  }
}

TEST_CASE("spectrum names what is wrong with its arguments") {
  const TemporaryFolder folder;
  write_file(folder);
  const auto error = [&](const std::string& arguments) { return complaint(folder.path(), "spectrum " + arguments, 1); };
  CHECK_THAT(error("w.safetensors --tensor c"), contains("c"));
  CHECK_THAT(error("none.safetensors --tensor a"), contains("none.safetensors"));
  CHECK_THAT(error("w.safetensors --tensor ids"), contains("tensor ids is i64 (2, 2): expected real numbers"));
  CHECK_THAT(error("w.safetensors --tensor stack"), contains("tensor stack is f32 (2, 2, 2), not a matrix"));
  CHECK_THAT(error("w.safetensors --tensor a --times tall"), contains("AᵀB does not exist"));
  CHECK_THAT(error("w.safetensors --tensor a --rank 3"), contains("--rank 3: expected 1 to 2"));
  CHECK_THAT(error("w.safetensors --tensor bad"), contains("tensor bad holds nan at (0, 1)"));
}
