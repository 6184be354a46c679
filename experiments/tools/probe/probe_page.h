#pragma once
#include <filesystem>
#include <string>

#include "experiments/tools/probe/probe_results.h"

namespace headroom::experiments {

/// Writes a self-contained page: what the measures say, a heat map of layers and heads for each measure, the curves of
/// the head that is chosen there, tables, what the measures do not say. The curves and the choice of a measure need the
/// page's script; tables and the first heat map do not. Throws Error naming the path when it cannot be written.
void write_probe_page(const std::filesystem::path& path, const ProbeResults& results);

}  // namespace headroom::experiments
