#pragma once
#include <cstdint>
#include <set>
#include <string>

namespace headroom::tasks {

/// The layers named by a text, out of `layers`: "all", a list of numbers and ranges from 0 ("0-5,7"), "deepest:4" (the
/// last four), "random:4" (four drawn by the seed), "odd". Throws Error naming the fault.
std::set<int64_t> layers_named(const std::string& text, int64_t layers, uint64_t seed);

/// Throws Error unless the text has one of these forms.
void validate_layer_set(const std::string& text);

}  // namespace headroom::tasks
