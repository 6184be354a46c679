#pragma once
#include <string>

namespace headroom::experiments {

/// "812 ", "12.3 k", "4.56 M", "1.2 T": a unit may follow.
std::string count_text(double count);
/// Memory: "812 B", "12.3 KiB", "4.56 GiB". Files have decimal units: models::size_text().
std::string bytes_text(double bytes);
/// "2.1 ns" to "12.5 s", "3.4 h", "12 d"; "—" for NaN and infinity.
std::string seconds_text(double seconds);

}  // namespace headroom::experiments
