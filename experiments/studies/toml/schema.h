#pragma once
#include <limits>
#include <string>
#include <vector>

namespace headroom::experiments {

/// Allowed values of a number. An open end is excluded.
struct Bounds {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false, high_open = false;
  bool holds(double x) const { return (low_open ? x > low : x >= low) && (high_open ? x < high : x <= high); }
  /// ">= 1", "in [0, 1)", "" without any bound.
  std::string str() const;
};
constexpr Bounds at_least(double low) { return {.low = low}; }
constexpr Bounds above(double low) { return {.low = low, .low_open = true}; }
constexpr Bounds fraction{.low = 0, .high = 1, .high_open = true};  ///< [0, 1)

constexpr double most = 1 << 24;  ///< of any width, count or length: products of four of them fit into int64
constexpr Bounds count{.low = 1, .high = most};

/// The allowed content of a study file at one key.
struct Key {
  enum class Type {
    integer,
    real,
    flag,
    text,
    word,
    numbers,
    texts,
    table,
    tables,
    any,
    others
  };                 // others: any further keys
  std::string path;  ///< "train.optimizer.lr"
  Type type = Type::any;
  bool is_required = false;
  std::string default_text{};        ///< the default, as a study would write it, or in words; "" when there is none
  Bounds bounds{};                   ///< of integer and real
  std::vector<std::string> words{};  ///< allowed values of a `word`
  std::string doc{};                 ///< one line
  std::string condition{};           ///< "with task.kind = \"…\"" when the key exists only then
};

/// Keys in the order in which they are read; a table stands before its keys. A key that exists under several conditions
/// stands once for each.
using Schema = std::vector<Key>;

}  // namespace headroom::experiments
