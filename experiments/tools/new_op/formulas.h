#pragma once
#include <string>

namespace headroom::experiments {

/// An elementwise function as the files of a new op have it.
struct NewOpFormula {
  std::string name;        ///< "mish"; "" for the template of a function that the program does not know
  std::string value;       ///< y in words: "x · tanh(log(1 + e^x))"
  std::string slope;       ///< dx / dy in words
  std::string comment;     ///< of the functor: how it is computed, how exactly; "" for the template's own formula
  std::string f, df;       ///< bodies of the functor's functions, four spaces deep
  std::string tolerances;  ///< "elementwise(6, 6)", of its tests
};

/// The function of that name, or a template that says what is to be put in: y = x.
const NewOpFormula& new_op_formula(const std::string& name);

}  // namespace headroom::experiments
