#pragma once
#include <functional>
#include <string>

// Catch2 2.13 (one header) or 3.x.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif

namespace headroom::testing {

/// Matches a text that holds `part`.
inline auto contains(const std::string& part) {
#if CATCH_VERSION_MAJOR >= 3
  return Catch::Matchers::ContainsSubstring(part);
#else
  return Catch::Matchers::Contains(part);
#endif
}

/// Marks the running test case as skipped: `return skip("no chromium");`. Catch2 2.13 cannot skip, so a listener
/// of our own counts: a skipped case is neither passed nor failed, and a program in which all were skipped exits
/// with 77.
void skip(const std::string& reason);

/// Adds a test case made at run time. Call it while statics are initialised.
void register_test(const std::string& name, const std::string& tags, std::function<void()> body);

/// The folder of meson.build. Compiled in at one place: the other files compile to the same bytes in any folder, so a
/// compiler cache knows them.
const std::string& source_root();

/// Whether this CPU has the level that HEADROOM_ISA asks for.
bool isa_available();

}  // namespace headroom::testing
