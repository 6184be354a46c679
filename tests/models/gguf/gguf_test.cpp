// GGUF files: what is written is read back, and wrong files are refused by name.
#include "models/gguf/gguf.h"

#include <cstring>
#include <random>

#include "engine/error.h"
#include "engine/quantized/quantize.h"
#include "tests/op_suite/quantized_data.h"
#include "tests/support/catch.h"
#include "tests/support/error_of.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

using engine::BlockFormat;
using engine::DType;
using engine::QuantizedMatrix;
using engine::Tensor;
using testing::contains;
using testing::error_of;

GgufValue number(GgufValueType type, int64_t value) {
  return {.type = type, .is_array = false, .items = std::vector<int64_t>{value}};
}
GgufValue text(const std::string& value) {
  return {.type = GgufValueType::string, .is_array = false, .items = std::vector<std::string>{value}};
}

GgufPairs pairs() {
  return {{"general.architecture", text("llama")},
          {"a.u8", number(GgufValueType::u8, 255)},
          {"a.i8", number(GgufValueType::i8, -128)},
          {"a.u64", number(GgufValueType::u64, int64_t{1} << 62)},
          {"a.bool", number(GgufValueType::boolean, 1)},
          {"a.f32", {.type = GgufValueType::f32, .is_array = false, .items = std::vector<double>{0.5}}},
          {"a.f64", {.type = GgufValueType::f64, .is_array = true, .items = std::vector<double>{0.1, -2}}},
          {"a.texts", {.type = GgufValueType::string, .is_array = true, .items = std::vector<std::string>{"", "Ġa"}}},
          {"a.empty", {.type = GgufValueType::i32, .is_array = true, .items = std::vector<int64_t>{}}}};
}

StoredTensors tensors() {
  const Tensor x = Tensor::from<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  return {{"vector", Tensor::from<float>({3}, {1, -2, 3})},
          {"turned", x.transpose(0, 1)},  // (3, 2), strided
          {"half", x.to(DType::f16)},
          {"brain", x.to(DType::bf16)},
          {"blocks", autograd::op_suite::random_blocks("gguf", BlockFormat::q4_1, 3, 64)}};
}

std::string file_bytes() {
  const testing::TemporaryFolder folder;
  write_gguf(folder / "m.gguf", pairs(), tensors());
  return testing::read_bytes(folder / "m.gguf");
}

/// The message about a file of these bytes; "" when it is read.
std::string refusal(const std::string& bytes) {
  return error_of([&] { parse_gguf(bytes, "m.gguf"); });
}

/// The bytes with `from` replaced by `to` of the same length, at its first occurrence.
std::string with(std::string bytes, const std::string& from, const std::string& to) {
  REQUIRE(from.size() == to.size());
  const size_t at = bytes.find(from);
  REQUIRE(at != std::string::npos);
  return bytes.replace(at, from.size(), to);
}

GgufValue u16(int64_t value) { return number(GgufValueType::u16, value); }

template <class T>
std::string raw(T value) {
  std::string bytes(sizeof value, '\0');
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

}  // namespace

TEST_CASE("what is written to a GGUF file is read back", "[gguf]") {
  const testing::TemporaryFolder folder;
  write_gguf(folder / "m.gguf", pairs(), tensors());
  const GgufFile file(folder / "m.gguf");
  const GgufMetadata& metadata = file.metadata();
  CHECK(metadata.text("general.architecture") == "llama");
  CHECK(metadata.integer("a.u8") == 255);
  CHECK(metadata.integer("a.i8") == -128);
  CHECK(metadata.integer("a.u64") == int64_t{1} << 62);
  CHECK(metadata.flag("a.bool", false));
  CHECK(metadata.positive("a.f32") == 0.5);
  CHECK(metadata.numbers("a.f64") == std::vector<double>{0.1, -2});
  CHECK(metadata.texts("a.texts") == std::vector<std::string>{"", "Ġa"});
  CHECK(metadata.integers("a.empty").empty());
  CHECK(metadata.integer("absent") == std::nullopt);

  CHECK(file.names() == std::vector<std::string>{"vector", "turned", "half", "brain", "blocks"});
  CHECK(file.shape("turned") == engine::Shape{3, 2});
  CHECK(std::get<Tensor>(file.read("turned")).to_vector<double>() == std::vector<double>{1, 4, 2, 5, 3, 6});
  CHECK(std::get<Tensor>(file.read("half")).dtype() == DType::f16);
  CHECK(std::get<Tensor>(file.read("brain")).to_vector<double>() == std::vector<double>{1, 2, 3, 4, 5, 6});
  const auto blocks = std::get<QuantizedMatrix>(file.read("blocks"));
  CHECK(blocks.str() == "q4_1 (3, 64)");
  CHECK(blocks.blocks().to_vector<int>() == std::get<QuantizedMatrix>(tensors()[4].second).blocks().to_vector<int>());
  CHECK(file.type("blocks") == "Q4_1");
  CHECK_THROWS_WITH(file.read("absent"), contains("m.gguf: has no tensor 'absent'"));
}

TEST_CASE("a model in parts is read from any of them, and a missing part is named", "[gguf]") {
  const testing::TemporaryFolder folder;
  const auto part = [&](int64_t number) { return folder / fmt::format("m-0000{}-of-00003.gguf", number); };
  const auto write = [&](int64_t number, const GgufPairs& own, const StoredTensors& held) {
    GgufPairs keys = own;
    keys.emplace_back("split.no", u16(number - 1));
    keys.emplace_back("split.count", u16(3));
    write_gguf(part(number), keys, held);
  };
  const StoredTensors all = tensors();
  write(1, pairs(), {all[0], all[1]});
  write(2, {}, {all[2]});
  write(3, {}, {all[3], all[4]});
  for (int64_t number = 1; number <= 3; ++number) {
    const GgufFile file(part(number));
    CHECK(file.names() == std::vector<std::string>{"vector", "turned", "half", "brain", "blocks"});
    CHECK(file.metadata().text("general.architecture") == "llama");
    CHECK(std::get<Tensor>(file.read("turned")).to_vector<double>() == std::vector<double>{1, 4, 2, 5, 3, 6});
    CHECK(std::get<Tensor>(file.read("brain")).to_vector<double>() == std::vector<double>{1, 2, 3, 4, 5, 6});
    CHECK(file.place("brain") == part(3).string());
  }
  write(2, {}, {all[0]});
  CHECK_THROWS_WITH(GgufFile(part(1)), contains("tensor 'vector' is in two parts"));
  std::filesystem::copy_file(part(3), part(2), std::filesystem::copy_options::overwrite_existing);
  CHECK_THROWS_WITH(GgufFile(part(1)), contains("m-00002-of-00003.gguf: is part 3 of 3 by its metadata, not 2 of 3"));
  std::filesystem::remove(part(2));
  CHECK_THROWS_WITH(GgufFile(part(3)), contains("m-00002-of-00003.gguf is missing"));
  write_gguf(part(2), {{"split.no", u16(1)}, {"split.count", u16(2)}}, {all[2]});
  CHECK_THROWS_WITH(GgufFile(part(1)), contains("is part 2 of 2 by its metadata, not 2 of 3"));
  write(2, {}, {all[2]});
  write(1, {{"split.tensors.count", u16(6)}}, {all[0], all[1]});
  CHECK_THROWS_WITH(GgufFile(part(1)), contains("has 5 tensors in its 3 parts, and names 6"));
  for (const char* name :
       {"m.gguf", "-0001x-of-00003.gguf", "-00000-of-00003.gguf", "-00004-of-00003.gguf", "-00001-of-0003x.gguf"})
    CHECK(gguf_parts(name) == std::vector<std::filesystem::path>{name});
  std::filesystem::rename(part(3), folder / "last.gguf");
  CHECK_THROWS_WITH(GgufFile(folder / "last.gguf"), contains("is one of 3 parts, and is not called so"));
}

TEST_CASE("a GGUF file that is cut at any byte is refused by name", "[gguf]") {
  const std::string bytes = file_bytes();
  size_t accepted = 0, unnamed = 0;
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::string message = refusal(bytes.substr(0, size));
    if (message.empty()) ++accepted;
    else if (!message.starts_with("m.gguf: ")) ++unnamed;
  }
  // The last tensor's padding may be missing: ggml's own files lack it at times.
  const size_t padding = 32 - 3 * 2 * 20 % 32;
  CHECK(accepted == padding);
  CHECK(unnamed == 0);
  CHECK(refusal(bytes).empty());
}

TEST_CASE("GGUF headers that lie are refused", "[gguf]") {
  const std::string bytes = file_bytes();
  CHECK(refusal("GGML" + bytes.substr(4)) == "m.gguf: does not start with 'GGUF': no GGUF file");
  CHECK(refusal(with(bytes, "GGUF" + raw(uint32_t{3}), "GGUF" + raw(uint32_t{1}))) ==
        "m.gguf: has version 1; 2 and 3 are read: fetch or convert the model anew");
  const auto counts = [&](uint64_t tensor_count, uint64_t keys) {
    return with(bytes, raw(uint64_t{5}) + raw(uint64_t{9}), raw(tensor_count) + raw(keys));
  };
  CHECK_THAT(refusal(counts(UINT64_MAX, 9)), contains("tensors: 18446744073709551615 are more than 1048576"));
  CHECK_THAT(refusal(counts(1 << 20, 9)), contains("(truncated?)"));
  CHECK_THAT(refusal(counts(5, 1 << 24)), contains("keys: 16777216 do not fit"));
  CHECK_THAT(refusal(with(bytes, "a.u8", "a.i8")), contains("'a.i8': given twice"));
  CHECK_THAT(refusal(with(bytes, "turned", "vector")), contains("tensor 'vector' is given twice"));
  CHECK_THAT(refusal(with(bytes, "GGUF" + raw(uint32_t{3}), "GGUF" + raw(uint32_t{0}))), contains("has version 0"));
  for (const int32_t size : {4, 12, 1 << 21})
    CHECK_THAT(refusal("GGUF" + raw(uint32_t{3}) + raw(uint64_t{0}) + raw(uint64_t{1}) + raw(uint64_t{17}) +
                       "general.alignment" + raw(uint32_t{4}) + raw(size)),
               contains(fmt::format("general.alignment is {}, expected a power of two", size)));
  CHECK_THAT(refusal(with(bytes, "a.bool" + raw(uint32_t{7}) + '\1', "a.bool" + raw(uint32_t{7}) + '\2')),
             contains("'a.bool': a bool is 2"));
  CHECK_THAT(refusal(with(bytes, "a.bool" + raw(uint32_t{7}), "a.bool" + raw(uint32_t{13}))),
             contains("type 13, which does not exist"));
  CHECK_THAT(refusal(with(bytes, raw(uint32_t{9}) + raw(uint32_t{12}), raw(uint32_t{9}) + raw(uint32_t{9}))),
             contains("'a.f64': an array of arrays is not read"));

  // name, one axis of 3, F32, offset 0
  const std::string vector = "vector" + raw(uint32_t{1});
  const auto entry = [&](uint32_t axes, uint64_t size, uint32_t type, uint64_t offset) {
    return with(bytes, vector + raw(uint64_t{3}) + raw(uint32_t{0}) + raw(uint64_t{0}),
                "vector" + raw(axes) + raw(size) + raw(type) + raw(offset));
  };
  CHECK(refusal(entry(1, 3, 0, 0)).empty());
  CHECK_THAT(refusal(entry(5, 3, 0, 0)), contains("tensor 'vector': has 5 axes, at most 4 are read"));
  CHECK_THAT(refusal(entry(1, 0, 0, 0)), contains("tensor 'vector': axis 0 has size 0"));
  CHECK_THAT(refusal(entry(1, UINT64_MAX, 0, 0)), contains("axis 0 has size 18446744073709551615"));
  CHECK_THAT(refusal(entry(1, uint64_t{1} << 62, 0, 0)), contains("is too large"));
  CHECK_THAT(refusal(entry(1, 3, 16, 0)), contains("type 16 (IQ2_XXS) is not read (read are F32, F16, BF16, Q8_0"));
  CHECK_THAT(refusal(entry(1, 3, 99, 0)), contains("type 99 is not read"));
  CHECK_THAT(refusal(entry(1, 3, 2, 0)), contains("rows of 3 are not whole blocks of 32"));
  CHECK_THAT(refusal(entry(1, 3, 0, 4)), contains("offset 4 is no multiple of the alignment 32"));
  CHECK_THAT(refusal(entry(1, 3, 0, 32)), contains("bytes [0, 32) before tensor"));
  CHECK_THAT(refusal(entry(1, 3, 0, uint64_t{1} << 40)), contains("belong to no tensor"));
  CHECK_THAT(refusal(entry(1, 3, 0, UINT64_MAX - 31)), contains("belong to no tensor"));
  CHECK_THAT(refusal(entry(1, 256, 0, UINT64_MAX - 31)), contains("offset 18446744073709551584 is too large"));
  CHECK_THAT(refusal(entry(1, 64, 0, 0)), contains("overlap those of 'vector'"));
  CHECK(refusal(bytes + std::string(64, '\0')).empty());
  CHECK_THAT(refusal(with(bytes, "GGUF" + raw(uint32_t{3}), "GGUF" + std::string("\0\0\0\3", 4))),
             contains("is a big-endian GGUF file"));
  CHECK_THAT(refusal(entry(1, uint64_t{1} << 40, 0, 0)), contains("end beyond the"));
  CHECK(parse_gguf(bytes + std::string(64, '\0'), "m.gguf").trailing == parse_gguf(bytes, "m.gguf").trailing + 64);
}

TEST_CASE("no change of single bytes of a GGUF header crashes its reader", "[gguf]") {
  const std::string bytes = file_bytes();
  std::mt19937 random(11);
  size_t read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string changed = bytes;
    for (auto n = random() % 4 + 1; n-- > 0;) changed[random() % 640] = static_cast<char>(random());
    const std::string message = refusal(changed);
    if (message.empty()) ++read;
    else REQUIRE(message.starts_with("m.gguf: "));
  }
  CHECK(read > 0);  // a changed letter of a name is no error
}

TEST_CASE("GGUF values that do not fit, and names that ggml does not take, are not written", "[gguf]") {
  const testing::TemporaryFolder folder;
  const auto written = [&](const GgufPairs& metadata, const StoredTensors& some) {
    return error_of([&] { write_gguf(folder / "m.gguf", metadata, some); });
  };
  CHECK_THAT(written({{"k", number(GgufValueType::u8, 256)}}, {}), contains("key 'k': 256 does not fit a u8"));
  CHECK_THAT(written({{"k", text("")}, {"k", text("")}}, {}), contains("key 'k' is given twice"));
  CHECK_THAT(written({}, {{std::string(64, 'x'), Tensor::zeros({1})}}), contains("UTF-8 of 1 to 63 bytes"));
  CHECK_THAT(written({}, {{"x", Tensor::zeros({1}, DType::f64)}}), contains("f32, f16 and bf16 are written"));
  CHECK_THAT(written({}, {{"x", Tensor::zeros({0})}}), contains("holds no numbers"));
  CHECK(!std::filesystem::exists(folder / "m.gguf"));
}

TEST_CASE("q8_0 rounds by the largest of each 32 numbers", "[gguf]") {
  std::vector<float> x(64);
  for (size_t i = 0; i < 64; ++i) x[i] = static_cast<float>(i < 32 ? static_cast<double>(i) - 16 : 0);
  const QuantizedMatrix q = engine::quantize(Tensor::from<float>({1, 64}, x), engine::BlockFormat::q8_0);
  CHECK(q.str() == "q8_0 (1, 64)");
  const std::vector<double> back = q.dequantize().to_vector<double>();
  for (size_t i = 0; i < 64; ++i) CHECK(std::abs(back[i] - x[i]) <= 16.0 / 127 / 2 + 1e-2);
  CHECK(back[0] == Approx(-16).margin(0.01));
  CHECK(back[40] == 0);
  CHECK_THROWS_WITH(engine::quantize(Tensor::full({1, 32}, 1e30), engine::BlockFormat::q8_0),
                    contains("too large for a scale of 16 bits"));
  CHECK_THROWS_WITH(engine::quantize(Tensor::full({1, 32}, std::nan("")), engine::BlockFormat::q8_0),
                    contains("element (0, 0)"));
  CHECK_THROWS_WITH(engine::quantize(Tensor::zeros({1, 33}), engine::BlockFormat::q8_0),
                    contains("whole blocks of 32"));
}

}  // namespace headroom::models
