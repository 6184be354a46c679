#include <fmt/ranges.h>
#include <strings.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "engine/error.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "experiments/studies/run/phase_timer.h"
#include "experiments/tools/plan/cost_plan.h"

namespace headroom::experiments {
namespace {

constexpr double tera = 1e12, gib = 1073741824.0;

Machine sheet(const char* name, const char* title, double f32, double half, double bandwidth, double memory) {
  return {name, title, {f32 * tera, bandwidth * tera}, {half * tera, bandwidth * tera}, memory * gib, false};
}

}  // namespace

const Machine& machine_named(const std::string& name) {
  static const std::vector<Machine> machines{
      // TFLOP/s of f32, of bf16 with f32 sums; TB/s; GiB
      sheet("v100", "NVIDIA V100 SXM2 32 GB", 15.7, 125, 0.9, 32),
      sheet("a100", "NVIDIA A100 SXM4 80 GB", 19.5, 312, 2.039, 80),
      sheet("l4", "NVIDIA L4", 30.3, 121, 0.3, 24),
      sheet("l40s", "NVIDIA L40S", 91.6, 362, 0.864, 48),
      sheet("rtx4090", "NVIDIA GeForce RTX 4090", 82.6, 165.2, 1.008, 24),
      sheet("h100", "NVIDIA H100 SXM5 80 GB", 66.9, 989.4, 3.35, 80),
      sheet("h200", "NVIDIA H200 SXM5", 66.9, 989.4, 4.8, 141),
      sheet("b200", "NVIDIA B200", 75, 2250, 8, 180),
      sheet("mi300x", "AMD Instinct MI300X", 163.4, 1307.4, 5.3, 192),
  };
  std::vector<std::string> known;
  for (const Machine& machine : machines) {
    if (strcasecmp(machine.name.c_str(), name.c_str()) == 0) return machine;
    known.push_back(machine.name);
  }
  fail("--on: no machine \"{}\": expected one of {}", name, fmt::join(known, ", "));
}

double measured_bandwidth(int64_t bytes) {
  constexpr int64_t most_piece = int64_t{1} << 20, least_traffic = int64_t{1} << 30;
  const int64_t piece = std::clamp<int64_t>(bytes / 16, engine::elementwise_grain, most_piece);
  const int64_t repeats = std::clamp<int64_t>(least_traffic / std::max<int64_t>(1, bytes), 4, 64);
  std::vector<char> from(static_cast<size_t>(bytes), 1), to(static_cast<size_t>(bytes), 2);
  double best = 0;
  for (int64_t i = 0; i < repeats; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    engine::parallel_ranges(bytes, piece, [&](int64_t first, int64_t last) {
      std::memcpy(to.data() + first, from.data() + first, static_cast<size_t>(last - first));
    });
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
    best = std::max(best, 2.0 * static_cast<double>(bytes) / seconds);
  }
  return best;
}

Machine measure_this_machine() {
  const double peak = measured_peak(), bandwidth = measured_bandwidth();
  const double pages = static_cast<double>(sysconf(_SC_PHYS_PAGES)), page = static_cast<double>(sysconf(_SC_PAGESIZE));
  return {"this",
          fmt::format("{}, {} threads", engine::cpu_name(), engine::num_threads()),
          {peak, bandwidth},
          {peak, bandwidth},
          pages * page,
          true};
}

}  // namespace headroom::experiments
