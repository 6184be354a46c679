#include "experiments/report/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <regex>

#include "engine/error.h"
#include "experiments/report/text.h"

namespace headroom::experiments::svg {
namespace {

struct Role {
  const char *stand_in, *variable, *light, *dark;
};
constexpr size_t kFirstCategory = 5, kFirstRamp = kFirstCategory + kCategories, kRamp = 9;
constexpr std::array<Role, kFirstRamp + kRamp> kRoles = {{
    {kInk, "--ink", "#23272e", "#e3e6ea"},
    {kMuted, "--muted", "#667080", "#98a1ae"},
    {kGrid, "--grid", "#e6e8ec", "#2b3038"},
    {kTheory, "--theory", "#a8500f", "#eda66c"},
    {kWarning, "--warn", "#b3261e", "#ff938a"},
    // Without an order: neighbours differ in hue and in lightness.
    {"#110101", "--c0", "#2457a6", "#86b2ff"},
    {"#110102", "--c1", "#c4500b", "#f59a5b"},
    {"#110103", "--c2", "#147a56", "#6fd3a4"},
    {"#110104", "--c3", "#8a3ea8", "#d39af0"},
    {"#110105", "--c4", "#927000", "#e0c05a"},
    {"#110106", "--c5", "#b8326c", "#f58fb8"},
    {"#110107", "--c6", "#0e7f95", "#63cbe0"},
    {"#110108", "--c7", "#56626e", "#a9bfca"},
    // With an order: the spectrum, darkened on paper, lightened on black.
    {"#120101", "--r0", "#3b1f8f", "#a592f0"},
    {"#120102", "--r1", "#3f50b5", "#8fa4ff"},
    {"#120103", "--r2", "#2f78c0", "#74bdf7"},
    {"#120104", "--r3", "#1d8ca3", "#5fd0de"},
    {"#120105", "--r4", "#1f8f72", "#5fd8b0"},
    {"#120106", "--r5", "#548f38", "#9ad977"},
    {"#120107", "--r6", "#8f8010", "#d6cf5e"},
    {"#120108", "--r7", "#bd6817", "#f3b25f"},
    {"#120109", "--r8", "#c9402a", "#f78a72"},
}};

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
  static const std::regex scripts(" on\\w+=\"[^\"]*\"");
  if (tag.find(" on") != std::string::npos) tag = std::regex_replace(tag, scripts, "");
  const auto paint = [&](const Role& role) {
    return frame.fixed_colours ? std::string(role.light) : fmt::format("var({})", role.variable);
  };
  if (tag.find("rgb(") != std::string::npos)
    for (const Role& role : kRoles)
      for (const std::string& spelling : spellings(role.stand_in)) replace_all(tag, spelling, paint(role));
  // gnuplot draws in black where a script cannot say otherwise.
  for (const char* quote : {"'", "\""})
    replace_all(tag, fmt::format("{0}black{0}", quote), quote + paint(kRoles[0]) + quote);
  for (const char* reference : {" id='", " id=\"", "href='#", "href=\"#", "url(#"})
    replace_all(tag, reference, reference + frame.id + "-");
  return tag;
}

std::string finish_tags(const std::string& body, const Frame& frame) {
  std::string out;
  for (size_t at = 0; at < body.size();) {
    const size_t open = body.find('<', at), close = body.find('>', open);
    if (open == std::string::npos || close == std::string::npos) return out + body.substr(at);
    out += body.substr(at, open - at) + finish_tag(body.substr(open, close + 1 - open), frame);
    at = close + 1;
  }
  return out;
}

/// Each hypertext label as a transparent disc that says its text: a <title> is what browsers show without a script.
std::string finish_hover(const std::string& body, const Frame& frame) {
  static const std::regex label(
      "<g [^>]*showHypertext\\(evt,'(\\d+)'\\)[^>]*><title>[^<]*</title>\\s*<use [^>]*translate\\(([^,]+),([^)]+)\\) "
      "scale\\(([^)]+)\\)[^>]*/>\\s*</g>");
  std::string out;
  auto last = body.cbegin();
  for (std::sregex_iterator it(body.begin(), body.end(), label), end; it != end; ++it) {
    const std::smatch& match = *it;
    const size_t text = std::stoul(match[1]);
    out.append(last, match[0].first);
    if (text < frame.hover.size())
      out += fmt::format(
          "<circle class=\"mark\" cx=\"{}\" cy=\"{}\" r=\"{}\" fill=\"none\" stroke=\"none\" "
          "pointer-events=\"all\"><title>{}</title>"
          "</circle>",
          match[2].str(), match[3].str(), match[4].str(), escape(frame.hover[text]));
    last = match[0].second;
  }
  return out.append(last, body.cend());
}

}  // namespace

std::string category(size_t i) { return kRoles[kFirstCategory + i % kCategories].stand_in; }

std::string ramp(double share) {
  const double at = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * static_cast<double>(kRamp - 1) : 0;
  return kRoles[kFirstRamp + static_cast<size_t>(std::lround(at))].stand_in;
}

std::string variables(bool dark) {
  std::string out;
  for (const Role& role : kRoles) out += fmt::format("{}: {}; ", role.variable, dark ? role.dark : role.light);
  return out;
}

std::string finish(const std::string& drawing, const Frame& frame) {
  const size_t canvas = drawing.find("<g id=\"gnuplot_canvas\">"), end = drawing.rfind("</svg>");
  require(canvas != std::string::npos && end != std::string::npos,
          "gnuplot: its output is not the SVG of its svg terminal");
  std::string body = finish_hover(drawing.substr(canvas, end - canvas), frame);
  static const std::regex plot_titles("(<g id=\"gnuplot_plot_[^>]*>)<title>[^<]*</title>"),
      filters("<filter[\\s\\S]*?</filter>\\s*"), empty_groups("<g [^>]*>\\s*</g>\\s*"),
      background("<rect [^>]*fill=\"none\"/>\\s*");
  body = std::regex_replace(body, plot_titles, "$1");
  for (const std::regex* noise : {&filters, &empty_groups, &background}) body = std::regex_replace(body, *noise, "");
  const std::string paper = frame.fixed_colours ? fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n",
                                                              frame.width, frame.height)
                                                : "";
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
      "role=\"img\" aria-labelledby=\"{2}-title {2}-desc\">\n<title id=\"{2}-title\">{3}</title>\n"
      "<desc id=\"{2}-desc\">{4}</desc>\n{5}{6}</svg>\n",
      frame.width, frame.height, frame.id, escape(frame.title), escape(frame.description), paper,
      finish_tags(body, frame));
}

}  // namespace headroom::experiments::svg
