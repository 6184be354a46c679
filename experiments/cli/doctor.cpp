#include <fmt/core.h>

#include <string>

#include "engine/cpu/onednn.h"
#include "engine/isa.h"
#include "engine/parallel.h"
#include "engine/transfer.h"
#include "experiments/cli/commands.h"
#include "experiments/report/gnuplot.h"
#include "experiments/run/provenance.h"

namespace headroom::experiments {
namespace {

/// What was found, and below it what that means.
void finding(const char* what, const std::string& found, const std::string& meaning = "") {
  fmt::print("{:<16}{}\n", what, found);
  if (!meaning.empty()) fmt::print("{:<16}{}\n", "", meaning);
}

void examine() {
  const engine::Isa detected = engine::detected_isa(), active = engine::active_isa();
  const std::string onednn = engine::onednn_version();
  finding("headroom", version());
  finding("processor", engine::cpu_name());
  finding("CPU level", engine::name_of(active),
          active == detected
              ? "the fast kernels use all that this processor and this build have"
              : fmt::format("HEADROOM_ISA holds it below {}: kernels are slower", engine::name_of(detected)));
  finding("threads", fmt::format("{}", engine::num_threads()),
          "a study trains as many small models at once, one thread each (HEADROOM_THREADS, --threads)");
  finding("parallel loops", engine::parallel_backend(), "results do not depend on it, nor on the number of threads");
  finding("oneDNN", onednn.empty() ? "absent" : onednn,
          onednn.empty() ? "matrix products use our own kernel"
                         : "large matrix products use it from AVX-512 on, products of a few rows always");
  finding("CUDA", engine::cuda_status(),
          engine::has_device(engine::Device::Kind::cuda)
              ? "add, gelu and matmul have kernels there; training runs on the CPU"
              : "everything runs on the CPU");
  const auto gnuplot = find_gnuplot();
  finding("gnuplot", gnuplot ? gnuplot->string() : "absent",
          gnuplot ? "reports have figures" : "reports have tables but no figures; install gnuplot-nox");
}

}  // namespace

void add_doctor_command(Command app) {
  app.command("doctor", "say what was found on this machine, and what it means").action(examine);
}

}  // namespace headroom::experiments
