// What a reader of a figure sees: points at their places, labels that do not touch, ticks that make sense, whatever the
// data.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <limits>
#include <locale>
#include <random>
#include <regex>

#include "experiments/output/plot/svg.h"
#include "experiments/output/plot/text_width.h"
#include "experiments/output/whisker.h"
#include "tests/experiments/studies/pages/folder.h"
#include "tests/experiments/studies/pages/xml.h"
#include "tests/experiments/synthetic.h"
#include "tests/support/catch.h"

namespace headroom::experiments {
namespace {

using testing::contains;
using testing::malformed;
using testing::times;

const std::string hostile = "</svg><script>alert(1)</script> & \" ' \x01\xff \U0001F600 漢字 \u202E";

/// Every match of `pattern`, as its groups; a group that is not there is "".
std::vector<std::vector<std::string>> matches(const std::string& text, const std::string& pattern) {
  const std::regex wanted(pattern);
  std::vector<std::vector<std::string>> out;
  for (std::sregex_iterator at(text.begin(), text.end(), wanted), end; at != end; ++at)
    out.emplace_back(at->begin(), at->end());
  return out;
}

/// The text of the group of that class.
std::string group_of(const std::string& svg, const std::string& classes) {
  const size_t begin = svg.find("<g class=\"" + classes + "\"");
  return begin == std::string::npos ? "" : svg.substr(begin, svg.find("</g>", begin) - begin);
}

/// A line of text where it stands.
struct Box {
  double left, right, top, bottom;
  std::string text;
};

/// All texts of a drawing without panels at other places, with room for the widest font.
std::vector<Box> texts_of(const std::string& svg, int font) {
  std::vector<Box> out;
  std::string anchor;
  for (const auto& m : matches(svg,
                               "text-anchor=\"(\\w+)\"(?! fill)|<text x=\"([^\"]*)\" y=\"([^\"]*)\"( "
                               "text-anchor=\"(\\w+)\")?[^>]*>([^<]*)")) {
    if (!m[1].empty()) {
      anchor = m[1];
      continue;
    }
    const std::string own = m[5].empty() ? anchor : m[5];
    const double x = std::stod(m[2]), y = std::stod(m[3]), width = font * width_of(m[6]);
    const double left = x - (own == "end" ? width : own == "middle" ? width / 2 : 0);
    out.push_back({left, left + width, y - 0.75 * font, y + 0.2 * font, m[6]});
  }
  return out;
}

std::string overlapping(const std::vector<Box>& boxes) {
  for (size_t i = 0; i < boxes.size(); ++i)
    for (size_t j = 0; j < i; ++j) {
      const Box &a = boxes[i], &b = boxes[j];
      if (a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom) return a.text + " | " + b.text;
    }
  return "";
}

/// Lines of `points` marks each.
Plot lines(size_t count, size_t points, Scale scale = Scale::log10) {
  Plot plot;
  plot.id = "test", plot.title = "A title", plot.description = "What it shows.";
  plot.x_label = "heads", plot.y_label = "error";
  std::vector<double> xs, ys;
  for (size_t i = 0; i < count; ++i) {
    Layer layer{.legend = "series number " + std::to_string(i), .colour = category(i), .marks = {}};
    for (size_t j = 0; j < points; ++j) {
      Mark mark{std::exp2(j), std::exp(std::sin(static_cast<double>(7 * i + 3 * j))) * static_cast<double>(i + 1)};
      mark.low = mark.y / 1.2, mark.high = mark.y * 1.3, mark.seeds = {mark.y * 0.9, mark.y * 1.1};
      mark.hover = "value " + std::to_string(j);
      xs.push_back(mark.x), ys.insert(ys.end(), {mark.low, mark.high});
      layer.marks.push_back(mark);
    }
    plot.layers.push_back(layer);
  }
  plot.x = fit_axis(Scale::log2, xs);
  plot.y = fit_axis(scale, ys);
  return plot;
}

/// CIE L*a*b* of "#rrggbb" as eyes see it whose cones are mixed by `seen` (Machado et al., 2009).
std::array<double, 3> lab(const std::string& hex, const std::array<std::array<double, 3>, 3>& seen) {
  std::array<double, 3> rgb{}, shown{}, xyz{};
  for (size_t i = 0; i < 3; ++i) {
    const double c = std::stoi(hex.substr(1 + 2 * i, 2), nullptr, 16) / 255.0;
    rgb[i] = c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4);
  }
  const double to_xyz[3][3] = {{0.4339, 0.3762, 0.1899}, {0.2126, 0.7152, 0.0722}, {0.0177, 0.1095, 0.8727}};
  for (size_t i = 0; i < 3; ++i)
    shown[i] = std::clamp(seen[i][0] * rgb[0] + seen[i][1] * rgb[1] + seen[i][2] * rgb[2], 0.0, 1.0);
  for (size_t i = 0; i < 3; ++i)
    xyz[i] = std::cbrt(to_xyz[i][0] * shown[0] + to_xyz[i][1] * shown[1] + to_xyz[i][2] * shown[2]);
  return {116 * xyz[1] - 16, 500 * (xyz[0] - xyz[1]), 200 * (xyz[1] - xyz[2])};
}

}  // namespace

TEST_CASE("every mark stands where its axes say, on every scale and in every format") {
  for (const Scale scale : {Scale::log10, Scale::linear})
    for (const Format format : {Format::wide, Format::narrow}) {
      const Plot plot = lines(3, 7, scale);
      const std::string svg = svg_of(plot, {.format = format});
      const Layout layout = layout_of(plot, plot.y, format);
      CHECK(malformed(svg) == "");
      for (size_t i = 0; i < plot.layers.size(); ++i) {
        const auto spots = matches(group_of(svg, fmt::format("layer-{} spots", i)), "cx=\"([^\"]*)\" cy=\"([^\"]*)\"");
        REQUIRE(spots.size() == 7);
        const auto line = matches(group_of(svg, fmt::format("layer-{}", i)), "[ML]([\\d.]+) ([\\d.]+)");
        REQUIRE(line.size() >= 14);  // the line, then its markers
        for (size_t j = 0; j < 7; ++j) {
          const Mark& mark = plot.layers[i].marks[j];
          const double x =
              layout.left +
              static_cast<double>(j) * (layout.right - layout.left) * std::log(2) / std::log(plot.x.high / plot.x.low) +
              std::log(1 / plot.x.low) / std::log(plot.x.high / plot.x.low) * (layout.right - layout.left);
          const double share = scale == Scale::linear
                                   ? (mark.y - plot.y.low) / (plot.y.high - plot.y.low)
                                   : std::log(mark.y / plot.y.low) / std::log(plot.y.high / plot.y.low);
          const double y = layout.bottom - share * (layout.bottom - layout.top);
          for (const auto& at : {spots[j], line[j]}) {
            CHECK(std::stod(at[1]) == Approx(x).margin(0.06));
            CHECK(std::stod(at[2]) == Approx(y).margin(0.06));
          }
        }
        CHECK(times(group_of(svg, fmt::format("layer-{} interval", i)), "V") ==
              7);  // whiskers, for three are too many bands
        CHECK(times(group_of(svg, fmt::format("layer-{} seeds", i)), "M") == 14);
      }
    }
  CHECK(contains(group_of(svg_of(lines(1, 9)), "layer-0 interval"), "z\" fill="));  // a band
}

TEST_CASE("a line is cut at the frame, and marks beyond it are left out") {
  Plot plot = lines(1, 2, Scale::linear);
  plot.x = {Scale::linear, 0, 10, {0, 10}, {}};
  plot.y = {Scale::linear, 0, 10, {0, 10}, {}};
  plot.layers[0].marks = {{-5, 5}, {5, 5}, {5, 1e300}, {6, 5}, {15, 50}};
  const Layout layout = layout_of(plot, plot.y, Format::narrow);
  const std::string layer = group_of(svg_of(plot, {.format = Format::narrow}), "layer-0");
  const auto line = matches(layer, "d=\"([^\"]*)\"");
  REQUIRE(line.size() == 2);
  CHECK(times(line[0][1], "M") == 2);  // up and out, and down again
  CHECK(times(line[1][1], "M") == 2);
  for (const auto& at : matches(line[0][1], "[ML]([\\d.]+) ([\\d.]+)")) {
    CHECK((std::stod(at[1]) > layout.left - 0.1 && std::stod(at[1]) < layout.right + 0.1));
    CHECK((std::stod(at[2]) > layout.top - 0.1 && std::stod(at[2]) < layout.bottom + 0.1));
  }
}

TEST_CASE("labels do not touch one another and stay inside, however many series there are") {
  for (const size_t count : {1, 2, 5, 12, 40, 300})
    for (const Format format : {Format::wide, Format::narrow}) {
      const Plot plot = lines(count, 9);
      const std::string svg = svg_of(plot, {.surface = Surface::file, .format = format, .has_title = false});
      CAPTURE(count, svg.substr(0, 30));
      const std::vector<Box> boxes = texts_of(svg, font_of(format));
      CHECK(boxes.size() > 6);
      CHECK(overlapping(boxes) == "");
      const double tall = std::stod(matches(svg, "viewBox=\"0 0 \\d+ ([\\d.]+)")[0][1]);
      for (const Box& box : boxes) {
        CHECK((box.left >= -0.1 && box.right <= figure_width(format) + 0.1));
        CHECK((box.top >= 0 && box.bottom <= tall));
      }
      // A narrow figure keeps the names of a few lines.
      if (count > 1 && (format == Format::wide || count <= most_named_narrow))
        CHECK(times(svg, ">series number") == static_cast<int>(count));
    }
}

TEST_CASE("a figure in a file has its title above all else, one in a page does not") {
  for (const Format format : {Format::wide, Format::narrow}) {
    Plot plot = lines(3, 9);
    plot.title = "What was asked: " + plot.y_label;
    const std::string file = svg_of(plot, {.surface = Surface::file, .format = format});
    const size_t title = file.find("What was asked</text>"), panel = file.find("class=\"panel\"");
    CHECK(title < panel);
    CHECK(panel != std::string::npos);
    CHECK_FALSE(contains(svg_of(plot, {.format = format}), "font-weight"));
  }
}

TEST_CASE("intervals of a verdict have an axis with values that do not touch") {
  const auto labels = [](const Whisker& w) {
    std::vector<std::string> texts;
    for (const auto& label : matches(whiskers_html({w}), "text-anchor=\"middle\">([^<]*)</text>"))
      texts.push_back(label[1]);
    return texts;
  };
  const auto factors = labels({.value = 487, .low = 221, .high = 1071, .least = 1.1, .is_ratio = true});
  REQUIRE(factors.size() >= 2);
  CHECK(std::all_of(factors.begin(), factors.end(), [](const std::string& text) { return text.ends_with("×"); }));
  const auto percents = labels({.value = 1.005, .low = 0.994, .high = 1.015, .most = 1.01, .is_ratio = true});
  REQUIRE(percents.size() >= 2);
  CHECK(std::all_of(percents.begin(), percents.end(), [](const std::string& text) { return text.ends_with(" %"); }));
}

TEST_CASE("an axis has a few ticks in order within its range, for any values") {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-300, 300), sign(-1, 1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<double> values;
    for (int j = 0; j < 1 + i % 4; ++j)
      values.push_back((i % 3 == 0 ? sign(random) : 1) * std::pow(10, exponent(random)));
    if (i % 5 == 0) values.push_back(values[0] * (1 + 1e-13));
    if (i % 7 == 0) values.push_back(std::numeric_limits<double>::max() * (i % 2 == 0 ? 1 : -1));
    const Axis axis = fit_axis(i % 2 == 0 ? Scale::linear : i % 4 == 1 ? Scale::log2 : Scale::log10, values);
    CAPTURE(i, axis.low, axis.high);
    CHECK((std::isfinite(axis.low) && std::isfinite(axis.high) && axis.low < axis.high));
    CHECK((!axis.ticks.empty() && axis.ticks.size() <= 24));
    CHECK(std::is_sorted(axis.ticks.begin(), axis.ticks.end()));
    for (const double value : values) {
      const double share = share_of(axis, value);
      CHECK((share >= 0 && share <= 1));
    }
    for (size_t t = 0; t < axis.ticks.size(); ++t) CHECK(tick_text(axis, t).size() <= 30);
  }
}

TEST_CASE("any data and any words give a drawing") {
  constexpr double inf = INFINITY;
  const double odd[] = {NAN, inf, -inf, 0, -0.0, 1, -1, 1e-320, 1e308, -1e308, 0.5, 3, 1e-9, 1e9};
  std::mt19937_64 random(11);
  const auto any = [&] { return odd[random() % std::size(odd)]; };
  const auto axis = [&] {
    std::vector<double> values(1 + random() % 6);
    std::generate(values.begin(), values.end(), any);
    return fit_axis(static_cast<Scale>(random() % 3), values);
  };
  std::function<Plot(int)> made = [&](int depth) {
    Plot plot;
    plot.id = "id\"<" + hostile;
    plot.title = plot.description = plot.x_label = plot.y_label = hostile;
    plot.x = axis(), plot.y = axis();
    if (random() % 2 == 0) plot.x = category_axis({hostile, "b", "c"});
    for (size_t i = random() % 4; i > 0; --i) {
      Layer layer{
          .kind = static_cast<Layer::Kind>(random() % 6), .legend = random() % 2 == 0 ? hostile : "", .marks = {}};
      layer.colour = category(i), layer.style = static_cast<int>(random() % 7) - 1;
      for (size_t j = random() % 8; j > 0; --j)
        layer.marks.push_back({any(), any(), any(), any(), hostile, any(), any(), 0xFFFFFFFF, {any(), any()}});
      plot.layers.push_back(layer);
    }
    if (random() % 3 == 0) plot.guides.push_back({any(), hostile});
    if (random() % 3 == 0) plot.notes.push_back({any(), any(), hostile});
    plot.square = random() % 4 == 0, plot.low = random() % 4 == 0;
    for (size_t i = depth > 0 ? 0 : random() % 3; i > 0; --i) plot.below.push_back(made(1));
    for (size_t i = depth > 0 ? 0 : random() % 6; i > 0; --i)
      plot.small.push_back(made(1)), plot.small.back().layers.resize(1);
    return plot;
  };
  for (int i = 0; i < 60; ++i) {
    const Plot plot = made(0);
    for (const Surface surface : {Surface::page, Surface::file}) {
      const DrawnFor drawn{.surface = surface, .format = i % 2 == 0 ? Format::wide : Format::narrow};
      const std::string svg = svg_of(plot, drawn);
      CAPTURE(i);
      REQUIRE(malformed(svg) == "");
      CHECK_FALSE(contains(svg, "<script"));
      CHECK_FALSE(contains(svg, "\x01"));
      CHECK(svg == svg_of(plot, drawn));
      for (const auto& m : matches(svg, " (?:d|x|y|cx|cy|r|viewBox|transform)=\"([^\"]*)\"")) {
        CAPTURE(m[0]);
        CHECK_FALSE((contains(m[1], "nan") || contains(m[1], "inf")));
        CHECK(matches(m[1], "\\d{6}").empty());
      }
    }
  }
}

TEST_CASE("a file has its own colours, for light and for dark pages; a page's figure has the page's") {
  const Plot plot = lines(8, 3);
  const std::string file = svg_of(plot, {.surface = Surface::file}), page = svg_of(plot);
  CHECK_FALSE(contains(file, "var(--"));
  CHECK(times(file, "@media (prefers-color-scheme: dark)") == 1);
  for (const char* const attribute : {"fill", "stroke"})
    for (const auto& m : matches(file, fmt::format(" {}=\"(#\\w+)\"", attribute)))
      CHECK(contains(file, fmt::format("[{}=\"{}\"]", attribute, m[1])));
  CHECK(matches(page, "#[0-9a-f]{6}").empty());
  CHECK_FALSE(contains(page, "<style"));
  for (const std::string& svg : {file, page}) {
    CHECK_FALSE(contains(svg, "<rect"));  // no ground of its own
    CHECK(contains(svg, "role=\"img\" aria-labelledby=\"test-title test-desc\""));
    CHECK(contains(svg, "<title id=\"test-title\">A title</title>"));
    CHECK(contains(svg, "<desc id=\"test-desc\">What it shows.</desc>"));
  }
}

TEST_CASE("a figure's bytes do not depend on the locale") {
  struct Commas : std::numpunct<char> {
    char do_decimal_point() const override { return ','; }
    char do_thousands_sep() const override { return '.'; }
    std::string do_grouping() const override { return "\3"; }
  };
  const std::string svg = svg_of(lines(3, 12));
  const std::locale before = std::locale::global(std::locale(std::locale::classic(), new Commas));
  const std::string again = svg_of(lines(3, 12));
  std::locale::global(before);
  CHECK(again == svg);
}

TEST_CASE("colours of series differ also without red, green or blue cones") {
  const std::array<std::array<double, 3>, 3> eyes[] = {
      {{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}},
      {{{0.152, 1.053, -0.205}, {0.115, 0.786, 0.099}, {-0.004, -0.048, 1.052}}},
      {{{0.367, 0.861, -0.228}, {0.280, 0.673, 0.047}, {-0.012, 0.043, 0.969}}},
      {{{1.256, -0.077, -0.179}, {-0.078, 0.931, 0.148}, {0.005, 0.691, 0.304}}}};
  for (const auto& eye : eyes)
    for (const bool is_dark : {false, true})
      for (size_t i = 0; i < kCategories; ++i)
        for (size_t j = 0; j < i; ++j) {
          const auto a = lab(shade_of(category(i), is_dark), eye), b = lab(shade_of(category(j), is_dark), eye);
          CAPTURE(is_dark, i, j);
          CHECK(std::hypot(a[0] - b[0], a[1] - b[1], a[2] - b[2]) > 10);
        }
}

TEST_CASE("no text needs more room than is counted") {
  CHECK(width_of("") == 0);
  CHECK(width_of("iiii") < width_of("WWWW") / 3);
  CHECK(width_of("漢字") >= 2);
  CHECK(width_of("e\u0301") == width_of("e"));  // a combining accent
  CHECK(width_of("\xff\xfe") > 0);
}

TEST_CASE("a number near 1 and its bounds are in percent, and no end looks like a bound that it misses") {
  const auto words = [](double value, double low, double high, std::optional<double> least,
                        std::optional<double> most) {
    const Whisker w{value, low, high, least, most, true};
    return interval_words(w) + ", needs " + bound_words(w);
  };
  CHECK(words(1.005, 0.994, 1.0149, {}, 1.01) == "+0.5 % [-0.6 %, +1.5 %], needs ≤ +1 %");
  CHECK(words(0.99, 0.974, 1.0064, 1.01, {}) == "-1.0 % [-2.6 %, +0.6 %], needs ≥ +1 %");
  CHECK(words(1.004, 0.996, 1.01004, {}, 1.01) == "+0.400 % [-0.400 %, +1.004 %], needs ≤ +1 %");
  CHECK(words(1, 0.99997, 1.002, {}, 1.01) == "0 % [-0.003 %, +0.200 %], needs ≤ +1 %");
  CHECK(words(4.17, 2.68, 6.48, 1.1, {}) == "4.17× [2.68, 6.48], needs ≥ 1.1×");
  CHECK(words(4.17, NAN, NAN, 1.01, {}) == "4.17×, needs ≥ 1.01×");
  CHECK(words(1.05, 1.01, 1.0998, {}, 1.1) == "1.05× [1.01, 1.0998], needs ≤ 1.1×");
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> exponent(-7, 0);
  const std::regex number("[-+]?[0-9.]+(e-?[0-9]+)?");
  for (int i = 0; i < 20000; ++i) {
    const double limit = i % 2 == 0 ? 1 + 0.01 * static_cast<double>(i % 11 - 5) : std::exp(exponent(random) - 2);
    const double sign = i % 3 == 0 ? 1 : -1, end = limit * (1 + sign * std::pow(10, exponent(random)));
    const Whisker w{limit * 0.98, limit * 0.9, end, {}, limit, true};
    const std::string shown = interval_words(w), bound = bound_words(w);
    CAPTURE(shown, bound, end, limit);
    std::vector<double> numbers;
    for (auto at = std::sregex_iterator(shown.begin(), shown.end(), number); at != std::sregex_iterator(); ++at)
      numbers.push_back(std::stod(at->str()));
    std::smatch one;
    REQUIRE(numbers.size() == 3);
    REQUIRE(std::regex_search(bound, one, number));
    CHECK((numbers[2] > std::stod(one.str())) == (end > limit));
    CHECK((numbers[2] < std::stod(one.str())) == (end < limit));
    CHECK(is_in_percent(w) == (shown.find('%') != std::string::npos));
  }
}

}  // namespace headroom::experiments
