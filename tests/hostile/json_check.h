#pragma once
#include <string>

#include "experiments/studies/toml/value.h"

namespace headroom::hostile {

/// "" where `output`, a JSON text, has `wanted` at `pointer` (RFC 6901); else a line that says what is there. A * among
/// the pointer's parts stands for every element: "/*/token" is a list. Numbers may differ by `within`, relatively;
/// a text stands for a string, or for the JSON of anything else: "[1,2]", "null".
std::string json_mismatch(const std::string& output, const std::string& pointer, const experiments::Value& wanted,
                          double within);

}  // namespace headroom::hostile
