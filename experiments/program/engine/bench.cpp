#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>

#include "engine/error.h"
#include "engine/transfer.h"
#include "experiments/output/file.h"
#include "experiments/output/units.h"
#include "experiments/program/command_line/commands.h"
#include "experiments/program/command_line/standard_streams.h"
#include "experiments/program/models/model_arguments.h"
#include "experiments/tools/bench/bench.h"
#include "models/files/atomic_file.h"
#include "models/files/file_size.h"

namespace headroom::experiments {
namespace {

struct BenchArguments {
  std::string workload, dtype = "f32", precision = "f32", device = "cpu",
                        file = "experiments/tools/bench/workloads.toml";
  BenchOptions options;
  std::string trace;
  bool json = false, force = false;
};

/// "", or ", cuda:0, one graph".
std::string place_of(const BenchResult& r) {
  if (r.device.is_cpu()) return "";
  return fmt::format(", {}, {}", r.device.str(), r.is_recorded ? "one graph" : "op by op");
}

void run(const BenchArguments& arguments) {
  BenchOptions options = arguments.options;
  require(arguments.dtype == "f32" || arguments.dtype == "f64", "bench: dtype '{}' cannot be trained; known: f32, f64",
          arguments.dtype);
  options.dtype = arguments.dtype == "f32" ? engine::DType::f32 : engine::DType::f64;
  require(arguments.precision == "f32" || arguments.precision == "bf16",
          "bench: unknown precision '{}'; known: f32, bf16", arguments.precision);
  options.precision = arguments.precision == "bf16" ? engine::Precision::bf16 : engine::Precision::f32;
  options.device = engine::device_of(arguments.device);
  options.profiled = options.profiled || !arguments.trace.empty();
  if (!arguments.trace.empty()) check_file(arguments.trace);
  const BenchResult r = bench(read_workload(arguments.file, arguments.workload), options);
  if (!arguments.trace.empty()) models::write_file(arguments.trace, engine::profile_trace(r.ops, r.device));
  if (arguments.json) {
    std::puts(to_json(r).c_str());
    return;
  }
  std::puts(fmt::format("{}: {:.1f} ms per step (least {:.1f}, {} steps), {:.0f} tokens/s, {} threads, {}{}\n"
                        "{} parameters, {} of tensors at most, {} system allocations after the second step",
                        r.workload, r.ms_median, r.ms_min, r.steps, r.tokens_per_second, r.threads,
                        engine::name_of(r.dtype), place_of(r), r.parameters,
                        bytes_text(static_cast<double>(r.peak_bytes)), r.system_allocations)
                .c_str());
  if (const std::vector<double>& each = r.steps_per_second_of_each; each.size() > 1)
    std::puts(fmt::format("{} copies at once: {:.1f} steps/s in all, {:.1f} to {:.1f} of each", each.size(),
                          r.steps_per_second, *std::ranges::min_element(each), *std::ranges::max_element(each))
                  .c_str());
  if (!r.profile) return;
  print_text("\n{}", profile_text(*r.profile));
  if (const ProfileTable& p = *r.profile; p.has_floor)
    std::puts(fmt::format("\nfloor {:.2f} ms: products {:.2f}, exponentials {:.2f}, bytes {:.2f}; step / floor {:.2f} "
                          "(the least step)",
                          p.floor_ms(), p.products_ms, p.exponentials_ms, p.bytes_ms, r.step_over_floor())
                  .c_str());
}

}  // namespace

void add_bench_command(Command app) {
  const Command command = app.command("bench", "time the training steps of a workload");
  const auto a = std::make_shared<BenchArguments>();
  command.option("workload", a->workload, "a table of the file of workloads").required();
  command.option("--dtype", a->dtype, "f32 or f64");
  command.option("--precision", a->precision, "as train.precision: f32 or bf16");
  command.option("--device", a->device, "cpu or cuda");
  command.flag("--eager", a->options.eager, "on cuda: op by op, not as one graph");
  command.flag("--profile", a->options.profiled, "each op of three more steps, its rates, and the floor of a step");
  command.option("--trace FILE", a->trace, "write the profile as a trace for Perfetto (ui.perfetto.dev)").output();
  command.flag("--force", a->force, "with --trace: replace the file that is there");
  add_threads_option(command, a->options.threads);
  command.option("--copies", a->options.copies, "equal trainings at once, as run --jobs trains them").range(1, 1024);
  command.option("--seconds", a->options.seconds, "how long to time").range(0.001, 86400.0);
  command.option("--workloads", a->file, "file of workloads");
  command.flag("--json", a->json, "one line of JSON");
  command.flag("--forward-only", a->options.forward_only, "the loss alone");
  command.action([a] { run(*a); });
}

}  // namespace headroom::experiments
