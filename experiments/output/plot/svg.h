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

/// What a stand-in is on a page: "var(--c0)".
std::string paint(const std::string& stand_in);

/// CSS custom properties of all roles, for the page: "--ink: #23272e; …". `dark` for a dark page.
std::string variables(bool dark);

/// A line of text beside a drawing. `anchor`: "start", "middle" or "end" of it is at x; y is its baseline.
struct Text {
  double x = 0, y = 0;
  std::string text, anchor;
  std::string colour;  ///< a stand-in
  int size = 0;
  std::string classes;  ///< "" for none
};

/// A thin straight line beside a drawing.
struct Stroke {
  double x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  std::string colour;
  std::string classes;
};

/// One panel of a figure: what gnuplot drew and what is added to it.
struct Panel {
  std::string drawing;  ///< gnuplot's SVG document
  double height = 0;
  std::vector<std::string> hover;    ///< texts of the marks: a hypertext label "7" becomes a spot with hover[7]
  std::vector<std::string> classes;  ///< of gnuplot's plots, in their order
  std::vector<Text> texts;
  std::vector<Stroke> strokes;
  double right = 0;  ///< how far from the left edge it stands: above 0, beside the panel before
};

/// What surrounds the panels.
struct Frame {
  double width = 0, head = 0, foot = 0;  ///< room above and below the panels
  std::vector<Text> above{}, below{};    ///< written there; y is measured from the top of either
  std::string id, title, description;
  bool fixed_colours = false;  ///< colours of figures on white; else CSS variables
};

/// Panels, one below the other, as one <svg> element for a page or a file: labelled for screen readers, ids made unique
/// with frame.id, stand-in colours replaced, hypertext labels turned into <title>s (no script), empty groups and
/// gnuplot's own titles taken out. Throws Error when a drawing is not what gnuplot's svg terminal writes.
std::string finish(const std::vector<Panel>& panels, const Frame& frame);

}  // namespace headroom::experiments::svg
