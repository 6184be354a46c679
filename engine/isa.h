#pragma once
#include <string>
#include <vector>

namespace headroom::engine {

/// Instruction-set levels of the CPU kernels; each includes those before it.
enum class Isa { portable, avx2, avx512, amx };

/// A set of levels.
class IsaSet {
 public:
  constexpr IsaSet() noexcept : bits_(0) {}
  constexpr explicit IsaSet(Isa isa) : bits_(bit(isa)) {}
  constexpr bool contains(Isa isa) const { return (bits_ & bit(isa)) != 0; }
  constexpr IsaSet operator|(Isa isa) const {
    IsaSet set = *this;
    set.bits_ = static_cast<unsigned char>(set.bits_ | bit(isa));
    return set;
  }
  constexpr bool empty() const { return bits_ == 0; }

 private:
  static constexpr unsigned char bit(Isa isa) { return static_cast<unsigned char>(1u << static_cast<unsigned>(isa)); }
  unsigned char bits_;
};

/// "portable", "avx2", "avx512", "amx".
const char* name_of(Isa isa);
/// The highest level that both this CPU and this build support.
Isa detected_isa();
/// The level in use: HEADROOM_ISA if set (Error if unknown or above detected_isa()), else detected_isa(). Fixed at the
/// first call, because oneDNN's own limit can be set only once.
Isa active_isa();
/// "portable, avx2".
std::string str(IsaSet levels);
/// True if kernels may use `vdpbf16ps` and `vpdpbusd`: the CPU has AVX512-BF16 and VNNI, and active_isa() is at least
/// avx512. Not a level of its own: bf16 products have the same bits without it (engine/cpu/simd_bf16.h).
bool has_bf16_pairs();
/// True if `vdpbf16ps` is slower than two f32 products of half its size: 84 against 155 GFLOP/s on a core of Emerald
/// Rapids.
bool has_slow_bf16_pairs();
/// Every level up to detected_isa().
std::vector<Isa> available_isas();
/// The processor's name, for reports.
std::string cpu_name();

}  // namespace headroom::engine
