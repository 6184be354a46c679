// The bench command's library: what it reads, refuses and reports.
#include "experiments/tools/bench/bench.h"

#include <chrono>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "engine/error.h"
#include "engine/ops/attention/attention.h"
#include "engine/ops/elementwise/unary.h"
#include "engine/ops/linear/linear.h"
#include "engine/ops/matmul/matmul.h"
#include "engine/profile.h"
#include "models/costs.h"
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

TEST_CASE("copies are timed at once, each at a rate of its own, with the memory of all") {
  const File file(tiny);
  const Workload workload = read_workload(file.path(), "next");
  const BenchResult one = bench(workload, {.threads = 4, .seconds = 1e-3});
  const BenchResult three = bench(workload, {.threads = 4, .copies = 3, .seconds = 1e-3});
  REQUIRE(one.steps_per_second_of_each.size() == 1);
  CHECK(one.steps_per_second == one.steps_per_second_of_each[0]);
  REQUIRE(three.steps_per_second_of_each.size() == 3);
  CHECK(three.steps >= 15);
  CHECK(three.threads == 1);                                              // of four for three copies
  CHECK(three.peak_bytes > one.peak_bytes + 2 * 3 * 4 * one.parameters);  // gradients and two moments are never freed
  const auto json = nlohmann::json::parse(to_json(three));
  CHECK(json["copies"] == 3);
  double sum = 0;
  for (const double rate : json["steps_per_s_of_each"]) sum += rate;
  CHECK(json["steps_per_s"] > 0);
  CHECK(json["steps_per_s"] <= sum + 0.01);  // less if one begins later or ends earlier
  CHECK_THROWS_WITH(bench(workload, {.copies = 2, .profiled = true}), "bench: a profile is of one copy");
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
  CHECK(ops[2].outer == 0);
}

namespace {

/// Of what f runs, in order.
template <class F>
std::vector<engine::ProfiledOp> profiled(const F& f) {
  const engine::Profile profile(engine::cpu);
  f();
  return profile.ops();
}

engine::Tensor zeros(const engine::Shape& shape) { return engine::Tensor::zeros(shape); }

}  // namespace

TEST_CASE("ops declare their products, exponentials and bytes") {
  using engine::Product;
  const auto ops = profiled([] {
    engine::matmul(zeros({2, 3, 5}), zeros({7, 5}), false, true);  // one b: (6, 5)
    engine::matmul(zeros({2, 5, 3}), zeros({2, 5, 7}), true);
    engine::linear_grad(zeros({4, 3}), zeros({4, 2}), zeros({3, 2}), false, true, true, true);
    engine::gelu_grad(zeros({6}), zeros({6}), {});
    engine::attention(zeros({2, 4, 3, 5}), zeros({2, 4, 3, 5}), zeros({2, 4, 3, 6}), {}, {.causal = true});
  });
  REQUIRE(ops.size() == 7);
  CHECK(ops[0].work.products == std::vector<Product>{{6, 7, 5, false, true}});
  CHECK(ops[0].work.flops() == 2 * 6 * 7 * 5);
  CHECK(ops[0].work.bytes == 4 * (6 * 5 + 7 * 5 + 6 * 7));
  CHECK(ops[1].work.products == std::vector<Product>{{3, 7, 5, true, false, 2}});
  CHECK(ops[1].work.flops() == 2 * 2 * 3 * 7 * 5);
  CHECK(std::string(ops[2].name) == "linear_grad");
  CHECK(ops[2].work.products == std::vector<Product>{{3, 2, 4, true, false}});
  CHECK(ops[3].work.products == ops[2].work.products);  // matmul, which it ran
  CHECK(ops[5].work.exponentials == 6);
  CHECK(ops[5].work.bytes == 4 * 3 * 6);
  CHECK(ops[6].work.flops() == 2 * (2 * 3) * (4 * 4) * (5 + 6) * 10 / 16.0);  // 10 of 16 pairs may be seen
  CHECK(ops[6].work.exponentials == 2 * 3 * 10);
}

TEST_CASE("a table of a profile puts work where the time is, and the floor is what the best rates leave") {
  const engine::Product product{10, 10, 5};  // 1000 FLOP
  const auto op = [](const char* name, double whole, double own, engine::Work work, size_t outer) {
    return engine::ProfiledOp{name, 0, whole, 0, whole, own, std::move(work), outer};
  };
  const std::vector<engine::ProfiledOp> ops{
      op("outer", 9e6, 1e6, {.products = {product}, .bytes = 100}, 0),
      op("matmul", 5e6, 5e6, {.products = {product}, .bytes = 50}, 0),
      op("sum", 3e6, 3e6, {.bytes = 30}, 0),
      op("exp", 4e6, 4e6, {.exponentials = 8, .bytes = 20}, 3),
      op("add", 1e6, 1e6, {.bytes = 1000}, 4),  // faster than the rate of bytes says
  };
  // 1000 FLOP in two seconds, a large square product 500 times as fast; a byte in 0.01 s, an exponential in 0.25.
  const Rates rates{.product = [](const engine::Product& p) { return p.m == 10 ? 2 : p.flops() / 250e3; },
                    .exponential = 0.25,
                    .byte = 0.01};
  const ProfileTable table = profile_table(ops, 1, &rates);
  const auto row = [&](const std::string& name) {
    for (const ProfileRow& r : table.rows)
      if (r.op == name) return r;
    throw Error("no such row");
  };
  CHECK(table.rows[0].op == "matmul");
  CHECK(row("matmul").flops == 1000);
  CHECK(row("matmul").floor_ms == Approx(2000));
  CHECK(std::string(row("matmul").limit) == "bytes");  // 0.5 s of five; 4 ms are the products'
  CHECK(row("matmul").of_peak == Approx(0.1));
  CHECK(row("outer").flops == 0);
  CHECK(row("outer").floor_ms == 0);
  CHECK(row("sum").floor_ms == 0);
  CHECK(std::string(row("exp").limit) == "exponentials");
  CHECK(row("exp").of_peak == Approx(0.5));
  CHECK(row("exp").floor_ms == Approx(2200));
  CHECK(row("add").floor_ms == Approx(1000));
  CHECK(table.floor_ms() == Approx(2000 + 2200 + 1000));
  CHECK(table.products_ms == Approx(2000));
  CHECK(table.exponentials_ms == Approx(2000));
  const ProfileTable halves = profile_table(ops, 2, nullptr);
  CHECK_FALSE(halves.has_floor);
  CHECK(halves.rows[0].ms == Approx(2500));
  CHECK(profile_text(halves).find("floor") == std::string::npos);
}

TEST_CASE("the floor of a step is below the step, and its products are those that costs count") {
  const File file(tiny);
  const Workload workload = read_workload(file.path(), "next");
  const auto flops = [](const BenchResult& r) {
    double sum = 0;
    for (const ProfileRow& row : r.profile.value().rows) sum += row.flops;
    return sum;
  };
  BenchOptions options{.threads = 1, .seconds = 1e-3, .forward_only = true, .profiled = true};
  CHECK(flops(bench(workload, options)) == Approx(models::forward_flops(workload.model, 3, 6)));
  options.forward_only = false;
  const BenchResult r = bench(workload, options);
  // Backward: two products for each of forward's, and attention's scores once more.
  const double scores = 2.0 * 3 * 2 * (6 * 6) * 4;
  CHECK(flops(r) == Approx(3 * models::forward_flops(workload.model, 3, 6) + scores));
  double ms = 0;
  for (const ProfileRow& row : r.profile->rows) {
    INFO(row.op);
    CHECK(row.floor_ms <= row.ms * (1 + 1e-9));
    ms += row.ms;
  }
  CHECK(r.profile->floor_ms() > 0);
  CHECK(r.profile->floor_ms() <= ms);
  const auto json = nlohmann::json::parse(to_json(r));
  CHECK(json["step_over_floor"] > 0);
  CHECK(json["floor"]["products_ms"] > 0);
  CHECK(json["ops"].size() == r.profile->rows.size());
}

}  // namespace headroom::experiments
