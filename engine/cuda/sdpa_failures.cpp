#include <cstdio>
#include <exception>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "engine/cuda/sdpa.h"
#include "engine/switch.h"

namespace headroom::engine::cuda {
namespace {

/// Problems at which the library has failed, and the reasons that were told.
struct Failures {
  std::mutex mutex;
  std::map<std::pair<SdpaPass, SdpaProblem>, std::string> of;
  std::set<std::string> told;
};
Failures& failures() {
  static auto* const all = new Failures;
  return *all;
}

}  // namespace

bool sdpa_is_off() {
  static const bool off = is_off("HEADROOM_CUDNN");
  return off;
}

std::string sdpa_answer(const SdpaProblem& problem, SdpaPass pass) {
  if (sdpa_is_off()) return "HEADROOM_CUDNN is off";
  {
    const std::lock_guard lock(failures().mutex);
    if (const auto known = failures().of.find({pass, problem}); known != failures().of.end()) return known->second;
  }
  try {
    return sdpa_refusal(problem, pass);
  } catch (const std::exception& error) {
    give_up_sdpa(problem, pass, error.what());
    return error.what();
  }
}

void give_up_sdpa(const SdpaProblem& problem, SdpaPass pass, const std::string& reason) {
  const std::lock_guard lock(failures().mutex);
  failures().of[{pass, problem}] = reason;
  if (failures().told.insert(reason).second)
    std::fprintf(stderr, "attention runs on kernels of our own where cuDNN fails: %s\n", reason.c_str());
}

}  // namespace headroom::engine::cuda
