#pragma once
#include <string>

#include "engine/exception.h"
#include "models/config.h"

namespace headroom::models {

/// An error in one field: "model.FIELD PROBLEM".
struct InvalidConfig : Error {
  InvalidConfig(const std::string& of_field, const std::string& what_is_wrong)
      : Error("model." + of_field + " " + what_is_wrong), field(of_field), problem(what_is_wrong) {}
  std::string field;    ///< "groups[0].q_rank", "unequal_layers[2].ffn_width"
  std::string problem;  ///< "is 9; it must be at most 8"
};

/// Throws InvalidConfig for a field out of range, and Error if the whole model is too large.
void validate(const TransformerConfig& config);

}  // namespace headroom::models
