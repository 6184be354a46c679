#include "experiments/report/svg.h"

#include <fmt/format.h>

#include <array>
#include <regex>

#include "engine/error.h"
#include "experiments/report/text.h"

namespace headroom::experiments::svg {
namespace {

struct Role {
  const char *stand_in, *variable, *light;
};
constexpr std::array<Role, 6> kRoles = {{{kInk, "--ink", "#23272e"},
                                         {kMuted, "--muted", "#667080"},
                                         {kGrid, "--grid", "#e6e8ec"},
                                         {kSeries, "--series", "#2457a6"},
                                         {kTheory, "--theory", "#a8500f"},
                                         {kWarning, "--warn", "#b3261e"}}};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Both ways in which gnuplot writes a colour: 'rgb(  1,   2,   3)' and "rgb(1,2,3)".
std::array<std::string, 2> spellings(const std::string& hex) {
  const auto part = [&](int i) { return std::stoi(hex.substr(1 + 2 * static_cast<size_t>(i), 2), nullptr, 16); };
  return {fmt::format("rgb({:3}, {:3}, {:3})", part(0), part(1), part(2)),
          fmt::format("rgb({},{},{})", part(0), part(1), part(2))};
}

/// Rewrites one tag. Text between tags is never touched: a label may well read like a colour.
std::string finish_tag(std::string tag, const Frame& frame) {
  for (const Role& role : kRoles)
    for (const std::string& spelling : spellings(role.stand_in))
      replace_all(tag, spelling, frame.fixed_colours ? role.light : fmt::format("var({})", role.variable));
  // gnuplot draws in black where a script cannot say otherwise.
  const std::string ink = frame.fixed_colours ? kRoles[0].light : "var(--ink)";
  for (const char* quote : {"'", "\""}) replace_all(tag, fmt::format("{0}black{0}", quote), quote + ink + quote);
  for (const char* reference : {" id='", " id=\"", "href='#", "href=\"#", "url(#"})
    replace_all(tag, reference, reference + frame.id + "-");
  return tag;
}

}  // namespace

std::string finish(const std::string& drawing, const Frame& frame) {
  const size_t canvas = drawing.find("<g id=\"gnuplot_canvas\">"), end = drawing.rfind("</svg>");
  require(canvas != std::string::npos && end != std::string::npos,
          "gnuplot: its output is not the SVG of its svg terminal");
  std::string body = drawing.substr(canvas, end - canvas);
  static const std::regex plot_titles("<title>[^<]*</title>"), filters("<filter[\\s\\S]*?</filter>\\s*"),
      empty_groups("<g [^>]*>\\s*</g>\\s*"), background("<rect [^>]*fill=\"none\"/>\\s*");
  for (const std::regex* noise : {&plot_titles, &filters, &empty_groups, &background})
    body = std::regex_replace(body, *noise, "");

  std::string out;
  for (size_t at = 0; at < body.size();) {
    const size_t open = body.find('<', at), close = body.find('>', open);
    if (open == std::string::npos || close == std::string::npos) {
      out += body.substr(at);
      break;
    }
    out += body.substr(at, open - at) + finish_tag(body.substr(open, close + 1 - open), frame);
    at = close + 1;
  }
  const std::string paper = frame.fixed_colours ? fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n",
                                                              frame.width, frame.height)
                                                : "";
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
      "role=\"img\" aria-labelledby=\"{2}-title {2}-desc\">\n<title id=\"{2}-title\">{3}</title>\n"
      "<desc id=\"{2}-desc\">{4}</desc>\n{5}{6}</svg>\n",
      frame.width, frame.height, frame.id, escape(frame.title), escape(frame.description), paper, out);
}

}  // namespace headroom::experiments::svg
