#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace headroom::experiments {

/// A number for people, to three significant digits: "0.0931", "1.20e-4", "254", "12345", "—" for NaN.
std::string rounded(double value, int digits = 3);

/// rounded(), with enough digits to tell the value from `limit`: 1.8981 against 1.9 is "1.898".
std::string rounded_beside(double value, std::optional<double> limit);

/// A mean with its standard error, both rounded to the error's first digit, or to its second if the first is 1: "0.0931
/// ± 0.0012", "(1.20 ± 0.03)e-4". Without an error, or with 0, the mean alone, rounded.
std::string with_error(double mean, double error);

/// The shortest text that reads back as the same number: "8", "0.04", "1e-4".
std::string exact(double value);

/// From the least to the greatest: "3", "3 to 12"; "" of none.
std::string range_text(const std::set<double>& values);

/// A probability: "0.003", "0.52", "4e-8".
std::string probability(double p);

/// A share in percent with its sign: "+1.20 %", "−∞ %", "—" for NaN.
std::string signed_percent(double percent);

/// "1 trial", "3 trials".
std::string counted(int64_t count, const std::string& noun);

/// The last part of a dotted key, for labels: "model.heads" → "heads".
std::string last_part(const std::string& key);

/// The number of terminal columns that a text takes: its characters, not its bytes.
size_t display_width(const std::string& text);
/// The first `columns` characters of the text.
std::string clip(const std::string& text, size_t columns);

/// Rows of equally many cells as lines of aligned columns, three spaces between them, none at a line's end.
std::string aligned(const std::vector<std::vector<std::string>>& rows);
/// The same in lines of at most `columns` characters, if the words allow it: the widest cells wrap within their
/// columns. 0: no limit.
std::string aligned(const std::vector<std::vector<std::string>>& rows, size_t columns);

}  // namespace headroom::experiments
