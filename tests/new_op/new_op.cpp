#include "experiments/tools/new_op/new_op.h"

#include <unistd.h>

#include <fstream>
#include <sstream>

#include "engine/error.h"
#include "tests/support/catch.h"

namespace {

using namespace headroom;
namespace fs = std::filesystem;

/// A folder of its own, gone at the end.
struct Scratch {
  fs::path path = fs::temp_directory_path() / ("headroom-new-op-" + std::to_string(getpid()));
  Scratch() { fs::create_directories(path); }
  ~Scratch() { fs::remove_all(path); }
};

std::string text_of(const fs::path& path) {
  std::stringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::string refusal(const std::string& name, const fs::path& folder) {
  try {
    experiments::write_new_op(name, folder);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("new-op renames every file and every mention") {
  const Scratch scratch;
  const fs::path folder = scratch.path / "deep" / "leaky_relu6";
  const std::vector<std::string> files = experiments::write_new_op("leaky_relu6", folder);
  CHECK(files.size() == 10);
  for (const std::string& file : files) {
    INFO(file);
    const std::string text = text_of(folder / file);
    CHECK(text.size() > 100);
    CHECK(text.find("oftplus") == std::string::npos);
  }
  CHECK(text_of(folder / "engine/ops/leaky_relu6/leaky_relu6_functor.h").find("struct LeakyRelu6 {") !=
        std::string::npos);
  CHECK(text_of(folder / "meson.build").find("project('leaky_relu6'") != std::string::npos);
}

TEST_CASE("new-op writes the function that was named, and a place for one that it does not know") {
  const Scratch scratch;
  const auto functor = [&](const std::string& name) {
    CHECK(refusal(name, scratch.path / name).empty());
    return text_of(scratch.path / name / "engine/ops" / name / (name + "_functor.h"));
  };
  for (const experiments::NewOpFile& file : experiments::new_op_files())
    if (file.name.ends_with("softplus_functor.h")) CHECK(functor("softplus") == file.text);
  const std::string mish = functor("mish");
  CHECK(mish.find("T df(T x, T /*y*/) {\n    using std::abs;\n    using std::exp;\n    const T e = exp(select(") !=
        std::string::npos);
  CHECK(mish.find("y = x · tanh(log(1 + e^x))") != std::string::npos);
  CHECK(mish.find("log(u)") == std::string::npos);
  CHECK(text_of(scratch.path / "mish/engine/ops/mish/mish.h").find("/// y = x · tanh(log(1 + e^x)), any shape") !=
        std::string::npos);
  CHECK(text_of(scratch.path / "mish/tests/op_suite/samples/mish.cpp").find("elementwise(6, 12, 1e-6)") !=
        std::string::npos);
  CHECK(functor("softsign").find("return x / (T(1.0f) + abs(x));") != std::string::npos);
  const std::string own = functor("my_op");
  CHECK(own.find("/// y = x, in place of your function") != std::string::npos);
  CHECK(own.find(" exp(") == std::string::npos);
}

TEST_CASE("new-op --reduction: sum_squares gives the example's files, another name all of them renamed") {
  const Scratch scratch;
  experiments::write_new_op("sum_squares", scratch.path / "same", true);
  for (const experiments::NewOpFile& file : experiments::new_op_files())
    if (file.name.starts_with("sum_squares/"))
      CHECK(text_of(scratch.path / "same" / file.name.substr(12)) == file.text);
  const std::vector<std::string> files = experiments::write_new_op("row_energy", scratch.path / "row_energy", true);
  CHECK(files.size() == 11);  // an elementwise op's, and a CUDA kernel
  for (const std::string& file : files) {
    INFO(file);
    const std::string text = text_of(scratch.path / "row_energy" / file);
    CHECK(text.size() > 100);
    CHECK((text.find("oftplus") == std::string::npos && text.find("quares") == std::string::npos));
  }
  CHECK(text_of(scratch.path / "row_energy/autograd/ops/row_energy.h").find("/// Σ x² over the last axis") !=
        std::string::npos);
  CHECK(text_of(scratch.path / "row_energy/engine/ops/row_energy/row_energy.cu").find("struct RowEnergySlope") !=
        std::string::npos);
}

TEST_CASE("new-op refuses names and folders that cannot work") {
  const Scratch scratch;
  const fs::path folder = scratch.path / "op";
  for (const char* name : {"", "Mish", "2pi", "soft-plus", "../x", "a__b", "a_", "NULL"})
    CHECK(refusal(name, folder).find("is no name") != std::string::npos);
  CHECK(refusal("gelu", folder).find("there is an op 'gelu' already") != std::string::npos);
  for (const char* name : {"int", "constexpr", "co_await", "char8_t", "xor_eq", "static_assert"})
    CHECK(refusal(name, folder).find("is a word of C++") != std::string::npos);
  for (const char* name :
       {"errno", "assert", "stdin", "main", "std", "engine", "record", "unary", "parallel_for", "require"})
    CHECK(refusal(name, folder).find("'" + std::string(name) + "' has a meaning already: choose") != std::string::npos);
  CHECK(refusal("tensor", folder).find("by its Tensor") != std::string::npos);
  CHECK(refusal(std::string(300, 'a'), folder) == "new-op: a name has at most 64 characters, this one has 300");
  CHECK_FALSE(fs::exists(folder));
  CHECK(refusal("mish", scratch.path).find("exists already") != std::string::npos);
  std::ofstream(scratch.path / "file") << "in the way";
  CHECK(refusal("mish", scratch.path / "file" / "mish").find("cannot make the folder") != std::string::npos);
  CHECK(refusal("mish", scratch.path / "deep" / std::string(300, 'a')).find("cannot make the folder") !=
        std::string::npos);
  CHECK_FALSE(fs::exists(scratch.path / "deep"));  // nothing stays of what failed
  CHECK(refusal("mish", folder / "").empty());     // a slash at its end names the same folder
  CHECK(fs::exists(folder / "meson.build"));
}
