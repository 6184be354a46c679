#pragma once
#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "engine/error.h"

namespace headroom {

/// An enumeration's values and their names.
template <class E, size_t N>
using NameTable = std::array<std::pair<E, const char*>, N>;

/// The name of a value in the table.
template <class E, size_t N>
const char* name_in(const NameTable<E, N>& table, E value) {
  for (const auto& [known, name] : table)
    if (known == value) return name;
  fail("a value has no name");
}

/// All names except "none".
template <class E, size_t N>
std::vector<std::string> names_in(const NameTable<E, N>& table) {
  std::vector<std::string> names;
  for (const auto& [value, name] : table)
    if (std::string_view(name) != "none") names.emplace_back(name);
  return names;
}

/// The value with that name. Throws Error that lists the names: "refine: there is no target 'x'; known: …" with `of`
/// "refine" and `what` "target".
template <class E, size_t N>
E named_in(const NameTable<E, N>& table, std::string_view wanted, const char* of, const char* what) {
  for (const auto& [value, name] : table)
    if (wanted == name) return value;
  std::string known;
  for (const std::string& name : names_in(table)) known += (known.empty() ? "" : ", ") + name;
  fail("{}: there is no {} '{}'; known: {}", of, what, wanted, known);
}

}  // namespace headroom
