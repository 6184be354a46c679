#include "experiments/studies/config/trial_config.h"

#include <fmt/core.h>

namespace headroom::experiments {
namespace {

/// Part of every id. Raise it when the same config gives other numbers, so that old trials are run again.
constexpr int code_version = 3;

std::string id_for(int version, const std::string& canonical) {
  // FNV-1a (Fowler, Noll & Vo), 128 bits.
  __extension__ using Wide = unsigned __int128;
  constexpr Wide prime = (Wide{1} << 88) + 0x13b;
  Wide hash = (Wide{0x6c62272e07bb0142} << 64) + 0x62b821756295c58d;
  for (const char c : fmt::format("trial {}{}", version, canonical)) {
    hash ^= static_cast<unsigned char>(c);
    hash *= prime;
  }
  return fmt::format("{:016x}{:016x}", static_cast<uint64_t>(hash >> 64), static_cast<uint64_t>(hash));
}

}  // namespace

std::string canonical_json(const TrialConfig& config) {
  return fmt::format(R"({{"model":{},"seed":{},"task":{},"train":{}}})", config.model_record, config.seed,
                     config.task_record, config.train_record);
}

std::string trial_id(const TrialConfig& config) { return trial_id_of(canonical_json(config)); }

std::string trial_id_of(const std::string& canonical) { return id_for(code_version, canonical); }

bool is_id_of_config(const std::string& id, const std::string& canonical) {
  for (int version = code_version; version > 0; --version)
    if (id == id_for(version, canonical)) return true;
  return false;
}

}  // namespace headroom::experiments
