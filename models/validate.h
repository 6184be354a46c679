#pragma once
#include <string>

#include "engine/exception.h"
#include "models/config.h"

namespace headroom::models {

/// What is wrong with one field: "model.FIELD PROBLEM".
struct InvalidConfig : Error {
  InvalidConfig(const std::string& of_field, const std::string& what_is_wrong)
      : Error("model." + of_field + " " + what_is_wrong), field(of_field), problem(what_is_wrong) {}
  std::string field;    ///< "groups[0].q_rank", "unequal_layers[2].ffn_width"
  std::string problem;  ///< "is 9; it must be at most 8"
};

/// Throws InvalidConfig for a field that is out of range, and Error for a model that is too large as a whole.
void validate(const TransformerConfig& config);

}  // namespace headroom::models
