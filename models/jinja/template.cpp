#include "models/jinja/template.h"

#include "engine/error.h"
#include "models/files/utf8.h"

namespace headroom::models::jinja {
namespace {

constexpr size_t most_bytes = size_t{1} << 20;

const std::string& checked(const std::string& source) {
  require(source.size() <= most_bytes, "a template of {} bytes; at most {} are read", source.size(), most_bytes);
  require(valid_utf8(source) == source.size(), "byte {} is not UTF-8", valid_utf8(source));
  return source;
}

}  // namespace

Template::Template(const std::string& source) : body_(parse(checked(source))) {}

Text Template::render(const Variables& variables, Limits limits) const {
  return Machine(body_, variables, limits).run();
}

}  // namespace headroom::models::jinja
