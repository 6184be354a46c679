#pragma once
#include <exception>
#include <string>

namespace headroom::testing {

/// The message of what `f` throws; "" when it throws nothing.
template <class F>
std::string error_of(const F& f) {
  try {
    f();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

}  // namespace headroom::testing
