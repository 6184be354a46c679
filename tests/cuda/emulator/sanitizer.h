#pragma once
#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define HEADROOM_ADDRESS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HEADROOM_ADDRESS_SANITIZER 1
#endif
#endif

#ifdef HEADROOM_ADDRESS_SANITIZER
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace headroom::engine::cuda::emulator {

#ifdef HEADROOM_ADDRESS_SANITIZER
inline constexpr bool address_sanitizer = true;
#else
inline constexpr bool address_sanitizer = false;
#endif

/// Makes every later access to [start, start + bytes) an error of the address sanitizer, where there is one.
inline void poison([[maybe_unused]] const void* start, [[maybe_unused]] size_t bytes) {
#ifdef HEADROOM_ADDRESS_SANITIZER
  __asan_poison_memory_region(start, bytes);
#endif
}

inline void unpoison([[maybe_unused]] const void* start, [[maybe_unused]] size_t bytes) {
#ifdef HEADROOM_ADDRESS_SANITIZER
  __asan_unpoison_memory_region(start, bytes);
#endif
}

}  // namespace headroom::engine::cuda::emulator
