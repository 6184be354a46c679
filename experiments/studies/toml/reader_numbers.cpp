#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "engine/excerpt.h"
#include "experiments/studies/toml/expression.h"
#include "experiments/studies/toml/reader.h"

namespace headroom::experiments {

std::string Bounds::str() const {
  if (std::isinf(high) && std::isinf(low)) return "";
  if (std::isinf(high)) return fmt::format("{} {}", low_open ? ">" : ">=", low);
  if (std::isinf(low)) return fmt::format("{} {}", high_open ? "<" : "<=", high);
  return fmt::format("in {}{}, {}{}", low_open ? "(" : "[", low, high, high_open ? ")" : "]");
}

/// The expressions that one value hangs on.
struct Reader::Lookups {
  std::vector<std::string> pending;  ///< paths, each used by the one before it
  int left = 1000;                   ///< names that may still be looked up: sums of sums grow without end
};

double Reader::lookup(const std::string& name, Lookups& lookups) const {
  constexpr size_t most_pending = 32;
  std::vector<std::string>& pending = lookups.pending;
  require(pending.size() <= most_pending && --lookups.left >= 0, "{} depends on too many expressions",
          excerpt(pending[0]));
  for (const Reader* scope = this; scope; scope = scope->outer_) {
    const Entry* entry = scope->table_->find(name);
    if (!entry) continue;
    const std::string full = scope->path(name);
    if (std::find(pending.begin(), pending.end(), full) != pending.end()) fail("{} depends on itself", excerpt(full));
    if (entry->value.is_number()) return entry->value.number();
    require(entry->value.kind == Value::Kind::text, "{} is {}, not a number", excerpt(full),
            name_of(entry->value.kind));
    pending.push_back(full);
    const double value =
        evaluate(entry->value.text, [&](const std::string& inner) { return scope->lookup(inner, lookups); });
    pending.pop_back();
    return value;
  }
  for (const std::string& full : {path(name), name})
    if (const auto known = numbers_->find(full); known != numbers_->end()) return known->second;
  std::vector<std::string> names;
  for (const Entry& entry : table_->table)
    if (entry.value.is_number()) names.push_back(entry.key);
  fail("{} is not a number that is set here; those of this table: {}", excerpt(name),
       names.empty() ? "none" : excerpt(fmt::format("{}", fmt::join(names, ", "))));
}

double Reader::number(const std::string& key, const Value& value) const {
  if (value.is_number()) return value.number();
  Lookups lookups{{path(key)}};
  return evaluate(value.text, [&](const std::string& name) { return lookup(name, lookups); });
}

int64_t Reader::integer(const std::string& key, const Default<int64_t>& fallback, const Bounds& bounds,
                        const char* doc) {
  int64_t result = fallback.value.value_or(std::isinf(bounds.low) ? 0 : static_cast<int64_t>(bounds.low));
  Key asked{.path = key, .type = Key::Type::integer, .is_required = !fallback.value, .default_text = fallback.words};
  if (asked.default_text.empty() && fallback.value) asked.default_text = fmt::format("{}", result);
  asked.bounds = bounds;
  asked.doc = doc;
  const Value* value = ask(std::move(asked));
  if (value && value->kind != Value::Kind::integer && value->kind != Value::Kind::text) {
    complain(key, fmt::format("expected an integer, got {}{}", name_of(value->kind),
                              value->is_number() ? " " + to_text(*value) : ""));
  } else if (value) {
    try {
      const double x = number(key, *value);
      if (x != std::floor(x) || std::abs(x) > 9e15) {
        const bool may_round = path(key).starts_with("train.") && std::abs(x) <= 9e15;  // widths are exact
        fail("expected an integer, but {} is {}{}", to_text(*value), x, may_round ? "; round(…) makes it one" : "");
      }
      if (!bounds.holds(x)) fail("{} is out of range: expected {}", x, bounds.str());
      result = static_cast<int64_t>(x);
    } catch (const Error& error) {
      complain(key, error.what());
    }
  }
  (*record_)[key] = result;
  (*numbers_)[path(key)] = static_cast<double>(result);
  return result;
}

double Reader::real(const std::string& key, const Default<double>& fallback, const Bounds& bounds, const char* doc) {
  double result = fallback.value.value_or(0.0);
  Key asked{.path = key, .type = Key::Type::real, .is_required = !fallback.value, .default_text = fallback.words};
  if (asked.default_text.empty() && fallback.value) asked.default_text = fmt::format("{}", result);
  asked.bounds = bounds;
  asked.doc = doc;
  const Value* value = ask(std::move(asked));
  if (value && !value->is_number() && value->kind != Value::Kind::text) {
    complain(key, fmt::format("expected a number, got {}", name_of(value->kind)));
  } else if (value) {
    try {
      const double x = number(key, *value);
      require(std::isfinite(x), "{} is not finite", to_text(*value));
      if (!bounds.holds(x)) fail("{} is out of range: expected {}", x, bounds.str());
      result = x;
    } catch (const Error& error) {
      complain(key, error.what());
    }
  }
  (*record_)[key] = result;
  (*numbers_)[path(key)] = static_cast<double>(result);
  return result;
}

std::optional<double> Reader::optional_real(const std::string& key, const Bounds& bounds, const char* doc) {
  const bool is_given = has(key);
  const double value = real(key, {0.0, "none"}, bounds, doc);
  if (is_given) return value;
  (*record_)[key] = nullptr;
  numbers_->erase(path(key));
  return std::nullopt;
}

}  // namespace headroom::experiments
