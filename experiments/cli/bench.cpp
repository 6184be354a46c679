#include <fmt/format.h>

#include <cstdio>
#include <memory>

#include "engine/error.h"
#include "experiments/bench/bench.h"
#include "experiments/cli/commands.h"

namespace headroom::experiments {
namespace {

struct BenchArguments {
  std::string workload, dtype = "f32", file = "experiments/bench/workloads.toml";
  BenchOptions options;
  bool json = false;
};

void run(const BenchArguments& arguments) {
  BenchOptions options = arguments.options;
  require(arguments.dtype == "f32" || arguments.dtype == "f64", "bench: dtype '{}' cannot be trained; known: f32, f64",
          arguments.dtype);
  options.dtype = arguments.dtype == "f32" ? engine::DType::f32 : engine::DType::f64;
  const BenchResult r = bench(read_workload(arguments.file, arguments.workload), options);
  if (arguments.json) {
    std::puts(to_json(r).c_str());
    return;
  }
  std::puts(fmt::format("{}: {:.1f} ms per step (least {:.1f}, {} steps), {:.0f} tokens/s, {} threads, {}\n"
                        "{} parameters, {:.1f} MB of tensors at most, {} system allocations after the second step",
                        r.workload, r.ms_median, r.ms_min, r.steps, r.tokens_per_second, r.threads,
                        engine::name_of(r.dtype), r.parameters, static_cast<double>(r.peak_bytes) * 1e-6,
                        r.system_allocations)
                .c_str());
}

}  // namespace

void add_bench_command(Command app) {
  const Command command = app.command("bench", "time the training steps of a workload");
  const auto arguments = std::make_shared<BenchArguments>();
  command.option("workload", arguments->workload, "a table of the file of workloads").required();
  command.option("--dtype", arguments->dtype, "f32 or f64").show_default();
  command.option("--threads", arguments->options.threads, "default: HEADROOM_THREADS, else all cores").range(1, 4096);
  command.option("--seconds", arguments->options.seconds, "how long to time").range(0.001, 86400.0).show_default();
  command.option("--workloads", arguments->file, "file of workloads").show_default();
  command.flag("--json", arguments->json, "one line of JSON");
  command.flag("--forward-only", arguments->options.forward_only, "the loss alone");
  command.action([arguments] { run(*arguments); });
}

}  // namespace headroom::experiments
