#pragma once
#include <string>
#include <utility>
#include <vector>

#include "models/module.h"

namespace headroom::models {

/// Writes tensors into the parameters of the same names; the dtype is converted. Every parameter of the module must be
/// there, and nothing else. Throws Error naming what is missing, unknown, there twice or of another shape; the module
/// is then as it was.
void load_parameters(const Module& module, const std::vector<std::pair<std::string, Tensor>>& tensors);

}  // namespace headroom::models
