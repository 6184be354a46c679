#pragma once
#include <string>
#include <vector>

#include "tasks/theory/model_costs.h"

namespace headroom::experiments {

/// What a roofline stands on.
struct Machine {
  std::string name, title;
  tasks::Ceilings f32, half;  ///< for 4-byte and for 2-byte numbers
  double memory = 0;          ///< bytes; 0: not known
  bool is_measured = false;   ///< here and now; else from the maker's data sheet
};

/// The machines that `--on` knows: dense matrix products without sparsity, as their makers' data sheets give them.
const std::vector<Machine>& known_machines();

/// One of them by name, in any case. Throws Error naming --on and all of them.
const Machine& machine_named(const std::string& name);

/// This one: measured_peak() and a copy of memory that no cache holds, about a second together. Two-byte numbers have
/// no faster products here, but half the bytes.
Machine measure_this_machine();

}  // namespace headroom::experiments
