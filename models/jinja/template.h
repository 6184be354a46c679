#pragma once
#include <string>

#include "models/jinja/machine.h"

namespace headroom::models::jinja {

/// A template in Jinja, as models carry it for chats: the part of Jinja2 that published ones use, with Python's meaning
/// of it, set up as transformers does (docs/trained-models.md lists it). It comes with a stranger's file, so its size,
/// depth, time and memory are bounded, and it reads nothing but its variables and the clock.
class Template {
 public:
  /// Throws Error as parse() does.
  explicit Template(const std::string& source) : body_(parse(source)) {}
  /// The text for some variables. Throws Error naming the line: what the template itself raises, what Python would
  /// refuse, and what takes longer than `limits` allow.
  Text render(const Variables& variables, Limits limits) const { return Machine(body_, variables, limits).run(); }

 private:
  Body body_;
};

}  // namespace headroom::models::jinja
