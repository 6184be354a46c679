// The bench command's library: what it reads, refuses and reports.
#include "experiments/tools/bench/bench.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/profile.h"
#include "models/transformer.h"
#include "models/validate.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

const std::string workloads = headroom::testing::source_root() + "/experiments/tools/bench/workloads.toml";

/// A file of workloads that is removed with the object.
class File {
 public:
  explicit File(const std::string& text) { std::ofstream(path_) << text; }
  ~File() { std::filesystem::remove(path_); }
  const std::string& path() const { return path_; }

 private:
  std::string path_ = (std::filesystem::temp_directory_path() / "headroom-bench-test.toml").string();
};

const std::string tiny = R"([defaults]
layers = 1
causal = false
norm = "layernorm"
activation = "gelu"
positions = "learned"
tied = false
dropout = 0.1
width = 8
heads = 2
head_dim = 4
length = 6
batch = 3
ffn = 16
vocab = 11
[next]
objective = "ce"
[masked]
objective = "mlm"
[class]
objective = "classify"
classes = 4
[real]
objective = "mse"
io = 5
[typo]
objective = "ce"
head_dims = 4
[name]
objective = "bce"
[none]
objective = "ce"
batch = 0
)";

TEST_CASE("every workload of the repository's file is a valid model") {
  for (const char* name : {"ngram", "nanogpt-cpu", "ntp-h4", "ntp-h32", "mlm-h8", "induction", "eff-d4", "eff-d16",
                           "eff-d64", "eff-d128", "gpt-wikitext", "instruction-12l"})
    CHECK_NOTHROW(models::validate(read_workload(workloads, name).model));
  CHECK(models::parameter_count(read_workload(workloads, "nanogpt-cpu").model) == 809856);  // PyTorch's count
  CHECK(models::parameter_count(read_workload(workloads, "ngram").model) == 794632);
}

TEST_CASE("a workload that cannot be run is refused by name") {
  const File file(tiny);
  const auto refuses = [&](const char* name, const char* words) {
    try {
      read_workload(file.path(), name);
      FAIL("accepted " << name);
    } catch (const Error& error) {
      INFO(error.what());
      CHECK(std::string(error.what()).find(words) != std::string::npos);
    }
  };
  refuses("absent", "unknown workload 'absent'; known: class, masked, name, next, none, real, typo");
  refuses("defaults", "unknown workload 'defaults'");
  refuses("typo", "typo.head_dims: unknown key; did you mean typo.head_dim?");
  refuses("name", "name.objective: expected one of mse, ce, mlm, classify, got \"bce\"");
  refuses("none", "none.batch: 0 is out of range: expected in [1, ");
  try {
    read_workload("no such file", "ngram");
    FAIL("read a file that is not there");
  } catch (const Error& error) {
    CHECK(std::string(error.what()).rfind("no such file: cannot read the file of workloads", 0) == 0);
  }
}

TEST_CASE("each objective trains, and asks for no memory after the second step") {
  const File file(tiny);
  for (const char* name : {"next", "masked", "class", "real"}) {
    const BenchResult r = bench(read_workload(file.path(), name), {.threads = 1, .seconds = 1e-3});
    INFO(name);
    CHECK(r.steps >= 5);
    CHECK(r.ms_min <= r.ms_median);
    CHECK(r.system_allocations == 0);
    CHECK(r.peak_bytes > 4 * r.parameters);
    const auto json = nlohmann::json::parse(to_json(r));
    for (const char* key : {"workload", "peer", "mode", "dtype", "device", "threads", "forward_only", "steps", "ms_min",
                            "ms_median", "tokens_per_s", "params"})
      CHECK(json.contains(key));
    CHECK(json["workload"] == name);
    CHECK(json["threads"] == 1);
  }
}

}  // namespace

TEST_CASE("a profile counts the time of an op that another one runs once") {
  const headroom::engine::Profile profile(headroom::engine::cpu);
  const auto spin = [] {
    const auto start = std::chrono::steady_clock::now();
    while (std::chrono::steady_clock::now() - start < std::chrono::milliseconds(1)) {
    }
  };
  {
    const headroom::engine::OpSpan outer("outer");
    spin();
    for (int i = 0; i < 2; ++i) {
      const headroom::engine::OpSpan inner("inner");
      spin();
    }
  }
  const std::vector<headroom::engine::ProfiledOp> ops = profile.ops();
  REQUIRE(ops.size() == 3);
  CHECK(ops[0].own_time == Approx(ops[0].device_time - ops[1].device_time - ops[2].device_time));
  CHECK(ops[1].own_time == ops[1].device_time);
  CHECK(ops[0].own_time >= 1000);
  double own = 0;
  for (const headroom::engine::ProfiledOp& op : ops) own += op.own_time;
  CHECK(own == Approx(ops[0].device_time));
}

}  // namespace headroom::experiments
