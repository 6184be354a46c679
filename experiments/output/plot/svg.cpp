#include "experiments/output/plot/svg.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <pugixml.hpp>
#include <sstream>
#include <string_view>
#include <utility>

#include "engine/error.h"
#include "experiments/output/text.h"

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
    {"#110102", "--c1", "#c04e0a", "#f59a5b"},
    {"#110103", "--c2", "#147a56", "#6fd3a4"},
    {"#110104", "--c3", "#8a3ea8", "#d39af0"},
    {"#110105", "--c4", "#8f6d00", "#e0c05a"},
    {"#110106", "--c5", "#b8326c", "#f58fb8"},
    {"#110107", "--c6", "#0d7c92", "#63cbe0"},
    {"#110108", "--c7", "#56626e", "#a9bfca"},
    // With an order: the spectrum, darkened on paper, lightened on black.
    {"#120101", "--r0", "#3b1f8f", "#a592f0"},
    {"#120102", "--r1", "#3f50b5", "#8fa4ff"},
    {"#120103", "--r2", "#2e75bc", "#74bdf7"},
    {"#120104", "--r3", "#187d90", "#5fd0de"},
    {"#120105", "--r4", "#1a8063", "#5fd8b0"},
    {"#120106", "--r5", "#487d2f", "#9ad977"},
    {"#120107", "--r6", "#80710b", "#d6cf5e"},
    {"#120108", "--r7", "#ad5e13", "#f3b25f"},
    {"#120109", "--r8", "#c9402a", "#f78a72"},
}};

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
}

/// Both ways in which gnuplot writes a colour: "rgb(  1,   2,   3)" and "rgb(1,2,3)".
std::array<std::string, 2> spellings(const std::string& hex) {
  const auto part = [&](int i) { return std::stoi(hex.substr(1 + 2 * static_cast<size_t>(i), 2), nullptr, 16); };
  return {fmt::format("rgb({:3}, {:3}, {:3})", part(0), part(1), part(2)),
          fmt::format("rgb({},{},{})", part(0), part(1), part(2))};
}

bool starts_with(const char* text, const char* start) { return std::string_view(text).starts_with(start); }

/// An attribute's value for the page: roles in place of stand-in colours, ids of the figure's own.
std::string finished(const pugi::xml_attribute& attribute, const Frame& frame) {
  std::string value = attribute.value();
  const auto paint = [&](const Role& role) {
    return frame.fixed_colours ? std::string(role.light) : fmt::format("var({})", role.variable);
  };
  if (value.find("rgb(") != std::string::npos)
    for (const Role& role : kRoles)
      for (const std::string& spelling : spellings(role.stand_in)) replace_all(value, spelling, paint(role));
  // gnuplot draws in black where a script cannot say otherwise.
  if (value == "black") value = paint(kRoles[0]);
  const std::string_view name = attribute.name();
  if (name == "id") return frame.id + "-" + value;
  if (name.ends_with("href") && value.starts_with("#")) return "#" + frame.id + "-" + value.substr(1);
  replace_all(value, "url(#", "url(#" + frame.id + "-");
  return value;
}

/// Finishes the attributes of an element and of those within it. Scripts go: a page has none of gnuplot's.
void finish_attributes(pugi::xml_node node, const Frame& frame) {
  for (pugi::xml_attribute attribute = node.first_attribute(); attribute;) {
    const pugi::xml_attribute next = attribute.next_attribute();
    if (starts_with(attribute.name(), "on")) node.remove_attribute(attribute);
    else attribute.set_value(finished(attribute, frame).c_str());
    attribute = next;
  }
  for (const pugi::xml_node child : node.children()) finish_attributes(child, frame);
}

/// Whether an element is drawn without being seen, or says what the page says better: filters that nothing uses, the
/// rectangle behind all, empty groups, the names that gnuplot gives to plots.
bool is_noise(const pugi::xml_node& node) {
  const std::string_view name = node.name();
  if (name == "filter") return true;
  if (name == "rect") return std::string_view(node.attribute("fill").value()) == "none";
  if (name == "g") return !node.first_child();
  return name == "title" && starts_with(node.parent().attribute("id").value(), "gnuplot_plot_");
}

void remove_noise(pugi::xml_node node) {
  for (pugi::xml_node child = node.first_child(); child;) {
    const pugi::xml_node next = child.next_sibling();
    remove_noise(child);
    if (is_noise(child)) node.remove_child(child);
    child = next;
  }
}

/// Each hypertext label, a group whose script shows the n-th text, as a transparent disc that says that text: a <title>
/// is what browsers show without a script.
void finish_hover(pugi::xml_node node, const Panel& panel) {
  size_t text = 0;
  std::array<char, 32> x{}, y{}, radius{};
  if (std::sscanf(node.attribute("onmousemove").value(), "gnuplot_svg.showHypertext(evt,'%zu')", &text) != 1 ||
      std::sscanf(node.child("use").attribute("transform").value(), "translate(%31[^,],%31[^)]) scale(%31[^)])",
                  x.data(), y.data(), radius.data()) != 3) {
    for (const pugi::xml_node child : node.children()) finish_hover(child, panel);
    return;
  }
  node.remove_attributes();
  node.remove_children();
  if (text >= panel.hover.size()) return;
  node.set_name("circle");
  const std::pair<const char*, const char*> attributes[] = {
      {"class", "mark"}, {"cx", x.data()},   {"cy", y.data()},         {"r", radius.data()},
      {"fill", "none"},  {"stroke", "none"}, {"pointer-events", "all"}};
  for (const auto& [name, value] : attributes) node.append_attribute(name) = value;
  node.append_child("title").text() = clean(panel.hover[text]).c_str();
}

std::string text_of(const pugi::xml_node& node) {
  std::ostringstream out;
  node.print(out, "", pugi::format_raw, pugi::encoding_utf8);
  return out.str();
}

/// Gives gnuplot's n-th plot the n-th class.
void add_classes(pugi::xml_node node, const std::vector<std::string>& classes) {
  size_t number = 0;
  for (pugi::xml_node child : node.children()) {
    add_classes(child, classes);
    if (std::sscanf(child.attribute("id").value(), "gnuplot_plot_%zu", &number) != 1) continue;
    if (number < 1 || number > classes.size()) continue;
    const std::string& name = classes[number - 1];
    child.append_attribute("class") = name.c_str();
    // The spread of few seeds is wide, and must not drown the lines.
    if (name.ends_with(" interval") || name.ends_with(" seeds")) child.append_attribute("opacity") = "0.4";
  }
}

void append(pugi::xml_node canvas, const Stroke& stroke) {
  pugi::xml_node line = canvas.append_child("line");
  const std::pair<const char*, double> ends[] = {
      {"x1", stroke.x1}, {"y1", stroke.y1}, {"x2", stroke.x2}, {"y2", stroke.y2}};
  for (const auto& [name, value] : ends) line.append_attribute(name) = fmt::format("{:.1f}", value).c_str();
  line.append_attribute("stroke") = spellings(stroke.colour)[1].c_str();
  line.append_attribute("stroke-opacity") = "0.45";
  line.append_attribute("class") = stroke.classes.c_str();
}

void append(pugi::xml_node canvas, const Text& text) {
  pugi::xml_node node = canvas.append_child("text");
  node.append_attribute("x") = fmt::format("{:.1f}", text.x).c_str();
  node.append_attribute("y") = fmt::format("{:.1f}", text.y).c_str();
  node.append_attribute("text-anchor") = text.anchor.c_str();
  node.append_attribute("font-size") = text.size;
  node.append_attribute("font-family") = "sans-serif";
  node.append_attribute("fill") = spellings(text.colour)[1].c_str();
  node.append_attribute("stroke") = "none";
  if (!text.classes.empty()) node.append_attribute("class") = text.classes.c_str();
  node.text() = clean(text.text).c_str();
}

/// The content of one panel as a group that stands `down` below the top and panel.right of the left edge.
std::string finish_panel(const Panel& panel, const Frame& frame, double down) {
  pugi::xml_document document;
  const pugi::xml_parse_result parsed = document.load_buffer(panel.drawing.data(), panel.drawing.size(),
                                                             pugi::parse_default | pugi::parse_ws_pcdata_single);
  const pugi::xml_node canvas = document.child("svg").find_child_by_attribute("g", "id", "gnuplot_canvas");
  require(parsed && canvas, "gnuplot: its output is not the SVG of its svg terminal");
  add_classes(canvas, panel.classes);
  finish_hover(canvas, panel);
  remove_noise(canvas);
  for (const Stroke& stroke : panel.strokes) append(canvas, stroke);
  for (const Text& text : panel.texts) append(canvas, text);
  finish_attributes(canvas, frame);
  const std::string text = text_of(canvas);
  if (down == 0 && panel.right == 0) return text;
  return fmt::format("<g class=\"panel\" transform=\"translate({:.1f},{:.1f})\">{}</g>\n", panel.right, down, text);
}

/// Lines of text as a group that stands `down` below the top.
std::string texts_svg(const std::vector<Text>& texts, const Frame& frame, double down) {
  if (texts.empty()) return "";
  pugi::xml_document document;
  pugi::xml_node group = document.append_child("g");
  group.append_attribute("transform") = fmt::format("translate(0,{:.1f})", down).c_str();
  for (const Text& text : texts) append(group, text);
  finish_attributes(group, frame);
  return text_of(group) + "\n";
}

}  // namespace

std::string category(size_t i) { return kRoles[kFirstCategory + i % kCategories].stand_in; }

std::string ramp(double share) {
  const double at = std::isfinite(share) ? std::clamp(share, 0.0, 1.0) * static_cast<double>(kRamp - 1) : 0;
  return kRoles[kFirstRamp + static_cast<size_t>(std::lround(at))].stand_in;
}

std::string paint(const std::string& stand_in) {
  for (const Role& role : kRoles)
    if (stand_in == role.stand_in) return fmt::format("var({})", role.variable);
  return stand_in;
}

std::string variables(bool dark) {
  std::string out;
  for (const Role& role : kRoles) out += fmt::format("{}: {}; ", role.variable, dark ? role.dark : role.light);
  return out;
}

std::string finish(const std::vector<Panel>& panels, const Frame& frame) {
  std::string body;
  double top = 0, height = frame.head;
  for (size_t i = 0; i < panels.size(); ++i) {
    Frame inner = frame;
    if (i > 0) inner.id += fmt::format("-panel-{}", i + 1);
    if (panels[i].right == 0) top = height;
    body += finish_panel(panels[i], inner, top);
    height = std::max(height, top + panels[i].height);
  }
  body = texts_svg(frame.above, frame, 0) + body + texts_svg(frame.below, frame, height);
  height += frame.foot;
  const std::string paper =
      frame.fixed_colours ? fmt::format("<rect width=\"{}\" height=\"{}\" fill=\"#ffffff\"/>\n", frame.width, height)
                          : "";
  return fmt::format(
      "<svg viewBox=\"0 0 {0} {1}\" xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\" "
      "role=\"img\" aria-labelledby=\"{2}-title {2}-desc\">\n<title id=\"{2}-title\">{3}</title>\n"
      "<desc id=\"{2}-desc\">{4}</desc>\n{5}{6}</svg>\n",
      frame.width, height, frame.id, escape(frame.title), escape(frame.description), paper, body);
}

}  // namespace headroom::experiments::svg
