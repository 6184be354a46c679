#pragma once
#include <string>
#include <vector>

namespace headroom::experiments::svg {

/// Colours a gnuplot script draws in. They are stand-ins, far from any real colour, that finish() replaces by role.
inline constexpr const char* kInk = "#010203";
inline constexpr const char* kMuted = "#020304";
inline constexpr const char* kGrid = "#030405";
inline constexpr const char* kTheory = "#050607";
inline constexpr const char* kWarning = "#060708";

/// The stand-in of the i-th of several things without an order, like series; they repeat after kCategories.
std::string category(size_t i);
inline constexpr size_t kCategories = 8;

/// The stand-in at `share` (0 to 1) of a row of colours: for lines that have an order, like growing head counts.
std::string ramp(double share);

/// CSS custom properties of all roles, for the page: "--ink: #23272e; …". `dark` for a dark page.
std::string variables(bool dark);

/// What surrounds a drawing.
struct Frame {
  int width = 0, height = 0;
  std::string id, title, description;
  bool fixed_colours = false;      ///< colours of figures on white; else CSS variables
  std::vector<std::string> hover;  ///< texts of the marks: a gnuplot hypertext label "7" becomes a spot with hover[7]
};

/// gnuplot's SVG document as one <svg> element for a page or a file: labelled for screen readers, ids made unique with
/// frame.id, stand-in colours replaced, hypertext labels turned into <title>s (no script), empty groups and gnuplot's
/// own titles taken out. Throws Error when `drawing` is not what gnuplot's svg terminal writes.
std::string finish(const std::string& drawing, const Frame& frame);

}  // namespace headroom::experiments::svg
