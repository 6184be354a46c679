#include "engine/isa.h"

#include <array>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "engine/error.h"

#ifdef __x86_64__
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace headroom::engine {
namespace {

constexpr std::array names{"portable", "avx2", "avx512", "amx"};

#ifdef __x86_64__
/// AMX tiles need the CPU flags and the kernel's leave to use the 8 KiB of tile state (ARCH_REQ_XCOMP_PERM, XTILEDATA).
bool has_amx_bf16() {
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return false;
  const bool tile = d & (1u << 24), bf16 = d & (1u << 22);
  return tile && bf16 && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}
#endif

bool detect_bf16_pairs() {
#ifdef __x86_64__
  unsigned a = 0, b = 0, c = 0, d = 0;
  const bool has_vnni = __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c & (1u << 11));
  return has_vnni && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & (1u << 5));
#else
  return false;
#endif
}

Isa detect() {
#ifdef __x86_64__
  __builtin_cpu_init();
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
  const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
  if (avx512 && has_amx_bf16()) return Isa::amx;
  if (avx512) return Isa::avx512;
  if (avx2) return Isa::avx2;
#endif
  return Isa::portable;
}

Isa choose() {
  const char* wanted = std::getenv("HEADROOM_ISA");
  if (!wanted || !*wanted) return detected_isa();
  for (size_t i = 0; i < names.size(); ++i) {
    if (std::strcmp(wanted, names[i]) != 0) continue;
    const auto isa = static_cast<Isa>(i);
    require(isa <= detected_isa(), "HEADROOM_ISA: this CPU has no {}; its highest level is {}", wanted,
            name_of(detected_isa()));
    return isa;
  }
  fail("HEADROOM_ISA: unknown level '{}'; known: portable, avx2, avx512, amx", wanted);
}

}  // namespace

const char* name_of(Isa isa) { return names[static_cast<size_t>(isa)]; }

std::string str(IsaSet levels) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    if (levels.contains(static_cast<Isa>(i))) text += (text.empty() ? "" : ", ") + std::string(names[i]);
  return text;
}

Isa detected_isa() {
  static const Isa isa = detect();
  return isa;
}

Isa active_isa() {
  static const Isa isa = choose();
  return isa;
}

bool has_bf16_pairs() {
  static const bool has = active_isa() >= Isa::avx512 && detect_bf16_pairs();
  return has;
}

bool has_slow_bf16_pairs() {
#ifdef __x86_64__
  return has_bf16_pairs() && __builtin_cpu_is("intel");
#else
  return false;
#endif
}

std::vector<Isa> available_isas() {
  std::vector<Isa> isas;
  for (int i = 0; i <= static_cast<int>(detected_isa()); ++i) isas.push_back(static_cast<Isa>(i));
  return isas;
}

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(line.find(':') + 2);
  return "unknown CPU";
}

}  // namespace headroom::engine
