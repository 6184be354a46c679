#pragma once
#include <string>

namespace headroom::experiments::svg {

/// Colours a gnuplot script draws in. They are stand-ins, far from any real colour, that finish() replaces by role.
inline constexpr const char* kInk = "#010203";
inline constexpr const char* kMuted = "#020304";
inline constexpr const char* kGrid = "#030405";
inline constexpr const char* kSeries = "#040506";
inline constexpr const char* kTheory = "#050607";
inline constexpr const char* kWarning = "#060708";

/// What surrounds a drawing.
struct Frame {
  int width = 0, height = 0;
  std::string id, title, description;
  bool fixed_colours = false;  ///< colours in figures on white; else CSS variables --ink, --muted, --grid, --series, …
};

/// gnuplot's SVG document as one <svg> element for a page or a file: labelled for screen readers, ids made unique with
/// frame.id, stand-in colours replaced, empty groups and gnuplot's own titles taken out. Throws Error when `drawing` is
/// not what gnuplot's svg terminal writes.
std::string finish(const std::string& drawing, const Frame& frame);

}  // namespace headroom::experiments::svg
