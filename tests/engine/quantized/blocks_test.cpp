// Quantised blocks against the numbers that the gguf package makes of them; make_blocks.py wrote the fixture.
#include <bit>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/quantized/quantize.h"
#include "engine/quantized/quantized_matrix.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"

namespace headroom::engine {
namespace {

using testing::error_of;

std::vector<uint8_t> bytes_of(const std::string& hex) {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < hex.size(); i += 2)
    bytes.push_back(static_cast<uint8_t>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

/// Big-endian words.
std::vector<float> floats_of(const std::string& hex) {
  std::vector<float> values;
  for (size_t i = 0; i < hex.size(); i += 8)
    values.push_back(std::bit_cast<float>(static_cast<uint32_t>(std::stoul(hex.substr(i, 8), nullptr, 16))));
  return values;
}

Tensor bytes(int64_t count) { return Tensor::zeros({count}, DType::u8); }

}  // namespace

TEST_CASE("blocks of every format have the gguf package's numbers, bit for bit") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const BlockFormat format : block_formats) {
    if (traits_of(format).elements == 1) continue;
    const std::string name = traits_of(format).name;
    INFO(name);
    std::ifstream file(testing::source_root() + "/tests/engine/quantized/blocks/" + name + ".json");
    REQUIRE(file);
    const nlohmann::json row = nlohmann::json::parse(file);
    const std::vector<uint8_t> blocks = bytes_of(row["blocks"]);
    const std::vector<float> want = floats_of(row["values"]);
    REQUIRE(want.size() == 512);
    CHECK(block_format_named(name) == format);
    const QuantizedMatrix matrix(format, 2, 256, Tensor::from({static_cast<int64_t>(blocks.size())}, blocks));
    const Tensor found = matrix.dequantize();  // (2, 256)
    size_t equal = 0;
    for (size_t i = 0; i < want.size(); ++i)
      equal += std::bit_cast<uint32_t>(found.data<float>()[i]) == std::bit_cast<uint32_t>(want[i]) ? 1 : 0;
    CHECK(equal == want.size());
    CHECK(matrix.bytes() == static_cast<int64_t>(blocks.size()));
    const Tensor rows = quantized_rows(matrix, Tensor::from<int64_t>({3}, {1, 0, 1}), DType::f64);  // (3, 256)
    CHECK(rows.to_vector<float>()[256 + 17] == want[17]);
    CHECK(rows.to_vector<float>()[17] == want[256 + 17]);
  }
}

TEST_CASE("blocks are unpacked in any dtype, each number rounded once") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  std::vector<uint8_t> raw(5 * 2 * 20);
  for (size_t i = 0; i < raw.size(); ++i)
    raw[i] = static_cast<uint8_t>(i % 20 == 1 || i % 20 == 3 ? 0x2c : 37 * i + 11);
  const QuantizedMatrix matrix(BlockFormat::q4_1, 5, 64, Tensor::from({200}, raw));
  const Tensor numbers = matrix.dequantize();
  for (const DType dtype : {DType::bf16, DType::f16, DType::f64})
    CHECK(matrix.dequantize(dtype).to_vector<double>() == numbers.to(dtype).to_vector<double>());
  CHECK(error_of([&] { matrix.dequantize(DType::i32); }) ==
        "quantized matrix: q4_1 (5, 64) in i32; expected real numbers");
}

TEST_CASE("numbers too small for a scale of 16 bits are quantised to 0") {
  if (!testing::isa_available()) return testing::skip("this CPU lacks the level that HEADROOM_ISA asks for");
  for (const float tiny : {1e-45F, 1e-38F, 1e-9F}) {
    const Tensor matrix = Tensor::from({1, 32}, std::vector<float>(32, tiny));
    CHECK(quantize(matrix, BlockFormat::q8_0).dequantize().to_vector<float>() == std::vector<float>(32, 0.0F));
  }
}

TEST_CASE("a quantised matrix is as many whole blocks as its shape says") {
  const auto refusal = [](BlockFormat format, int64_t rows, int64_t cols, const Tensor& blocks) {
    return error_of([&] { QuantizedMatrix(format, rows, cols, blocks); });
  };
  CHECK(refusal(BlockFormat::q8_0, 2, 64, bytes(136)).empty());
  CHECK(refusal(BlockFormat::q8_0, 0, 64, bytes(0)).empty());
  CHECK(refusal(BlockFormat::q8_0, 2, 0, bytes(0)).empty());
  CHECK(refusal(BlockFormat::q8_0, 2, 48, bytes(136)) ==
        "quantized matrix: q8_0 (2, 48): rows are not whole blocks of 32");
  CHECK(refusal(BlockFormat::q4_k, 2, 256, bytes(287)) == "quantized matrix: q4_k (2, 256): 287 bytes do not hold it");
  CHECK(refusal(BlockFormat::q4_0, 3, 32, bytes(36)) == "quantized matrix: q4_0 (3, 32): 36 bytes do not hold it");
  const int64_t huge = int64_t(1) << 60;
  CHECK(refusal(BlockFormat::q4_0, huge, huge, bytes(18)).find("18 bytes do not hold it") != std::string::npos);
  CHECK(refusal(BlockFormat::q4_0, -1, 32, bytes(0)).find("(-1, 32)") != std::string::npos);
  CHECK(refusal(BlockFormat::q4_0, 1, 32, Tensor::zeros({18}, DType::i8)).find("expected contiguous u8") !=
        std::string::npos);
  CHECK(error_of([] {
          block_format_named("q1_k");
        }).starts_with("unknown block format 'q1_k'; known: q8_0, q4_0, q4_1, q5_0, q5_1, q2_k, q3_k, q4_k, "));
  const QuantizedMatrix matrix(BlockFormat::q8_0, 2, 32, bytes(68));
  CHECK(error_of([&] { quantized_rows(matrix, Tensor::from<int64_t>({1}, {2}), DType::f32); }) ==
        "quantized rows: index 2 is no row of q8_0 (2, 32)");
  CHECK(error_of([&] { matrix.dequantize(1, 3); }) == "quantized matrix: rows [1, 3) of q8_0 (2, 32)");
}

}  // namespace headroom::engine
