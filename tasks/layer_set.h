#pragma once
#include <cstdint>
#include <set>
#include <string>

namespace headroom::tasks {

/// The layers that a text names, of `layers`: "all", a list of numbers and ranges from 0 ("0-5,7"), "deepest:4" (the
/// last four), "random:4" (four of them, other ones for another seed), "odd". Throws Error naming what is wrong.
std::set<int64_t> layers_named(const std::string& text, int64_t layers, uint64_t seed);

/// Whether a text is written as one of these. Throws Error otherwise.
void validate_layer_set(const std::string& text);

}  // namespace headroom::tasks
