#include <fmt/core.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <random>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/temporary_name.h"
#include "models/safetensors/safetensors.h"
#include "tests/support/catch.h"
#include "tests/support/folder.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;
using engine::DType;
using engine::Shape;
using engine::Tensor;
using namespace testing;

constexpr DType all_dtypes[] = {DType::f32, DType::bf16, DType::f16, DType::f64,    DType::i64,
                                DType::i32, DType::i8,   DType::u8,  DType::boolean};

/// A file of this header text, without padding, and a buffer of that many zero bytes.
std::string file_of(const std::string& header, size_t buffer_bytes) {
  const uint64_t length = header.size();
  std::string bytes(sizeof length, '\0');
  std::memcpy(bytes.data(), &length, sizeof length);
  return bytes + header + std::string(buffer_bytes, '\0');
}

/// What opening a file of these bytes says; "" when it opens.
std::string complaint(const fs::path& path, const std::string& bytes) {
  fs::remove(path);  // ext4 syncs a file that was cut to nothing and written again: thousands of them take seconds
  write_bytes(path, bytes);
  try {
    const SafetensorsFile file(path);
    for (const std::string& name : file.names()) file.tensor(name);
    return "";
  } catch (const Error& error) {
    CHECK_THAT(error.what(), contains(path.string()));
    return error.what();
  }
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.dtype() == y.dtype() && x.shape() == y.shape() &&
         (x.numel() == 0 ||
          std::memcmp(x.raw(), y.raw(), static_cast<size_t>(x.numel() * engine::size_of(x.dtype()))) == 0);
}

}  // namespace

TEST_CASE("every dtype, rank and an empty tensor come back bit for bit", "[safetensors]") {
  const TemporaryFolder folder;
  NamedTensors tensors;
  for (const DType dtype : all_dtypes) {
    const Tensor values = Tensor::from<double>({2, 3}, {0, 1, 0, 1, 1, 0}).to(dtype);
    tensors.emplace_back(std::string("matrix ") + engine::name_of(dtype), values);
    tensors.emplace_back(std::string("strided ") + engine::name_of(dtype), values.transpose(0, 1));
    tensors.emplace_back(std::string("scalar ") + engine::name_of(dtype), Tensor::full({}, 1, dtype));
    tensors.emplace_back(std::string("empty ") + engine::name_of(dtype), Tensor::empty({3, 0, 2}, dtype));
  }
  tensors.emplace_back("not finite", Tensor::from<float>({2}, {std::numeric_limits<float>::quiet_NaN(), -INFINITY}));
  tensors.emplace_back("odd \"name\"\n\\ ü \x01", Tensor::full({1}, 2.5));
  const std::map<std::string, std::string> metadata{{"format", "pt"}, {"ключ", "line\nline"}};
  write_safetensors(folder / "all.safetensors", tensors, metadata);

  const SafetensorsFile file(folder / "all.safetensors");
  CHECK(file.metadata() == metadata);
  CHECK(file.names().size() == tensors.size());
  for (const auto& [name, tensor] : tensors) {
    INFO(name);
    REQUIRE(file.contains(name));
    CHECK(same_bits(file.tensor(name), tensor));
    CHECK(file.entry(name).begin % static_cast<uint64_t>(engine::size_of(tensor.dtype())) == 0);
  }
  uint64_t header_bytes = 0;
  std::memcpy(&header_bytes, read_bytes(folder / "all.safetensors").data(), 8);
  CHECK(header_bytes % 8 == 0);
  CHECK_THROWS_WITH(file.tensor("absent"), contains("has no tensor 'absent'"));
}

TEST_CASE("a file is what the format says, byte for byte", "[safetensors]") {
  const TemporaryFolder folder;
  write_safetensors(folder / "a", {{"b", Tensor::from<uint8_t>({2}, {7, 9})}, {"a", Tensor::from<int32_t>({1}, {258})}},
                    {{"k", "v"}});
  const std::string header = R"({"__metadata__":{"k":"v"},"a":{"dtype":"I32","shape":[1],"data_offsets":[0,4]},)"
                             R"("b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}})";
  const std::string padded = header + std::string((8 - header.size() % 8) % 8, ' ');
  CHECK(read_bytes(folder / "a") == file_of(padded, 0) + std::string("\x02\x01\x00\x00\x07\x09", 6));

  write_safetensors(folder / "none", {});
  CHECK(SafetensorsFile(folder / "none").names().empty());
  CHECK(complaint(folder / "spaces", file_of("{}   ", 0)).empty());
  // Any order of keys, spaces and ranges; extra keys of a tensor are ignored.
  CHECK(complaint(folder / "b", file_of(R"({"y" : {"data_offsets":[2,4],"shape":[],"dtype":"F16","note":[1]},)"
                                        R"("e":{"dtype":"F64","shape":[0],"data_offsets":[2,2]},)"
                                        R"("x":{"dtype":"BOOL","shape":[2,1],"data_offsets":[0,2]}} )",
                                        4))
            .empty());
}

TEST_CASE("a header that lies is refused with a clear line", "[safetensors]") {
  const TemporaryFolder folder;
  const auto tensor = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"dtype":")" + dtype + R"(","shape":)" + shape + R"(,"data_offsets":)" + offsets + "}";
  };
  const std::string good = tensor("F32", "[1]", "[0,4]");
  struct Case {
    std::string header, wanted;
    size_t buffer = 4;
  };
  std::string nested = R"({"a":{"dtype":"F32","shape":)";
  nested += std::string(200000, '[') + std::string(200000, ']') + "}}";
  const Case cases[] = {
      {"[]", "does not start with '{'"},
      {" {}", "does not start with '{'"},
      {"", "does not start with '{'"},
      {"{", "not JSON"},
      {R"({"a":)" + good + "}x", "not JSON"},
      {R"({"a":)" + good + "}" + std::string(2, '\0'), "zero byte"},
      {"{\"\xff\":" + good + "}", "not JSON"},
      {R"({"a":)" + good + R"(,"a":)" + good + "}", "key 'a' twice"},
      {R"({"a":{"dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4]}})", "key 'dtype' twice"},
      {R"({"__metadata__":{"k":"1","k":"2"},"a":)" + good + "}", "key 'k' twice"},
      {R"({"__metadata__":{"k":1},"a":)" + good + "}", "'k': is not a string"},
      {R"({"__metadata__":[],"a":)" + good + "}", "__metadata__ is not an object"},
      {R"({"a":3})", "'a': is not an object"},
      {R"({"a":{"shape":[1],"data_offsets":[0,4]}})", "has no string dtype"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "has no array shape"},
      {R"({"a":{"dtype":"F32","shape":[1]}})", "has no array data_offsets"},
      {R"({"a":)" + tensor("F8_E4M3", "[4]", "[0,4]") + "}", "dtype 'F8_E4M3' is not supported (supported: F32,"},
      {R"({"a":)" + tensor("F32", "[-1]", "[0,4]") + "}", "holds -1"},
      {R"({"a":)" + tensor("F32", "[1.0]", "[0,4]") + "}", "holds 1.0"},
      {R"({"a":)" + tensor("F32", "[99999999999999999999]", "[0,4]") + "}", "whole numbers from 0"},
      {R"({"a":)" + tensor("F32", "[4611686018427387904,4]", "[0,4]") + "}", "is too large"},
      {R"({"a":)" + tensor("F32", "[0,4611686018427387904,4]", "[0,0]") + "}", "is too large"},
      {R"({"a":)" + tensor("F32", "[1,1,1,1,1,1,1,1,1]", "[0,4]") + "}", "has 9 axes"},
      {R"({"a":)" + tensor("F32", "[1]", "[4,0]") + "}", "data_offsets is [4, 0]"},
      {R"({"a":)" + tensor("F32", "[1]", "[0]") + "}", "data_offsets is [0]"},
      {R"({"a":)" + tensor("F32", "[2]", "[0,4]") + "}", "hold 4 bytes, F32 (2) needs 8"},
      {R"({"a":)" + tensor("F32", "[2]", "[0,8]") + "}", "truncated?"},
      {R"({"a":)" + tensor("F32", "[1]", "[4,8]") + "}", "bytes [0, 4) before tensor 'a' belong to no tensor", 8},
      {R"({"a":)" + good + "}", "bytes [4, 5) at the end belong to no tensor", 5},
      {R"({"a":)" + good + R"(,"b":)" + tensor("F32", "[1]", "[2,6]") + "}",
       "tensor 'b': offsets [2, 6) overlap those of 'a' [0, 4)", 6},
      {R"({"a":)" + good + R"(,"b":)" + tensor("U8", "[0]", "[2,2]") + "}", "overlap"},
      {nested, "nested deeper than 100"},
      {R"({"a":{"dtype":3,"shape":[1],"data_offsets":[0,4]}})", "has no string dtype"},
      {R"({"a":{"dtype":"F32","shape":3,"data_offsets":[0,4]}})", "has no array shape"},
      {R"({"a":)" + tensor("F32", "[9223372036854775808]", "[0,4]") + "}", "holds 9223372036854775808"},
  };
  for (const Case& c : cases) {
    INFO(c.header.substr(0, 200));
    CHECK_THAT(complaint(folder / "x", file_of(c.header, c.buffer)), contains(c.wanted));
  }
  CHECK_THAT(complaint(folder / "x", ""), contains("is empty: fetch or write it again"));
  CHECK_THAT(complaint(folder / "x", std::string(9, '\xff')), contains("above 100000000"));
  CHECK_THAT(complaint(folder / "x", file_of("{}", 0).substr(0, 9)), contains("truncated?"));
  std::string flag = file_of(R"({"a":)" + tensor("BOOL", "[2]", "[0,2]") + "}", 2);
  flag.back() = 2;
  CHECK_THAT(complaint(folder / "x", flag), contains("element 1 of a BOOL is 2"));
  CHECK_THROWS_WITH(SafetensorsFile(folder / "missing"), contains("No such file"));
  CHECK_THROWS_WITH(SafetensorsFile(folder.path()), contains("is a folder"));
}

TEST_CASE("every truncation of a file is refused, and no mutation does worse", "[safetensors]") {
  const TemporaryFolder folder;
  write_safetensors(folder / "good",
                    {{"weight", Tensor::full({3, 4}, 0.5)},
                     {"flags", Tensor::zeros({5}, DType::boolean)},
                     {"step", Tensor::full({}, 7, DType::i64)}},
                    {{"epoch", "3"}});
  const std::string good = read_bytes(folder / "good");
  for (size_t length = 0; length < good.size(); ++length)
    CHECK_FALSE(complaint(folder / "cut", good.substr(0, length)).empty());
  CHECK_FALSE(complaint(folder / "long", good + '\0').empty());

  std::mt19937_64 random(1);
  const std::string alphabet = "{}[]\",:0192e-\\ \n\xff";
  size_t refused = 0;
  constexpr int rounds = 3000;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;
    const int changes = 1 + round % 3;
    for (int i = 0; i < changes; ++i) {
      const uint64_t draw = random();
      bytes[draw % bytes.size()] = alphabet[(draw >> 32) % alphabet.size()];
    }
    refused += complaint(folder / "mutant", bytes).empty() ? 0 : 1;
  }
  CHECK(refused > rounds / 2);
}

TEST_CASE("what cannot be written is an error, and the old file stays", "[safetensors]") {
  const TemporaryFolder folder;
  const fs::path path = folder / "x.safetensors";
  const Tensor one = Tensor::full({1}, 1);
  write_safetensors(path, {{"a", one}});
  const std::string before = read_bytes(path);
  CHECK_THROWS_WITH(write_safetensors(path, {{"a", one}, {"a", one}}), contains("'a' is given twice"));
  CHECK_THROWS_WITH(write_safetensors(path, {{"__metadata__", one}}), contains("reserved"));
  CHECK_THROWS_WITH(write_safetensors(path, {{"a", Tensor()}}), contains("undefined"));
  CHECK_THROWS_WITH(write_safetensors(path, {{"\xff", one}}), contains("not UTF-8"));
  CHECK_THROWS_WITH(write_safetensors(path, {}, {{"k", "\xff"}}), contains("not UTF-8"));
  CHECK_THROWS_WITH(write_safetensors(folder / "no" / "x", {{"a", one}}), contains("No such file"));
  CHECK_THROWS_WITH(write_safetensors("/dev/full/x", {{"a", one}}), contains("/dev/full/x"));
  CHECK(read_bytes(path) == before);
  // What killed processes left goes; what a living one is writing, other names, and other hosts' files stay.
  write_bytes(temporary_name(path, 0), "half");
  write_bytes(folder / (temporary_prefix(path) + "1-0.tmp"), "half");
  write_bytes(folder / ".x.safetensors.another-host+1-0.tmp", "half");
  write_bytes(temporary_name(folder / "y.safetensors", 0), "half");
  {
    AtomicFile other(path);
    other.write("half", 4);
    write_safetensors(path, {{"b", one}});
    CHECK(SafetensorsFile(path).names() == std::vector<std::string>{"b"});
    other.commit();
  }
  CHECK(read_bytes(path) == "half");
  CHECK(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()) == 3);
}

}  // namespace headroom::models
