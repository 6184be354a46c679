#pragma once
#include <string>
#include <vector>

namespace headroom::engine {

/// Instruction-set levels of the CPU kernels, each including those before it.
enum class Isa { portable, avx2, avx512, amx };

/// "portable", "avx2", "avx512", "amx".
const char* name_of(Isa isa);
/// Highest level this CPU and this build have.
Isa detected_isa();
/// The level in use: HEADROOM_ISA when set (Error when unknown or higher than detected), else detected_isa(). Fixed at
/// the first call, because oneDNN's own limit can be set only once.
Isa active_isa();
/// Every level up to detected_isa().
std::vector<Isa> available_isas();
/// The processor's own name, for reports.
std::string cpu_name();

}  // namespace headroom::engine
