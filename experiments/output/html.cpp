#include "experiments/output/html.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/error.h"
#include "experiments/output/page_assets.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"
#include "experiments/output/whisker.h"

namespace headroom::experiments {
namespace {

using Kind = Block::Kind;

std::string html_of(const Blocks& blocks);

/// " class=…" of a role; "" if it has none.
std::string class_html(Role role) {
  static const char* const names[] = {"",           "over",  "question", "changed", "headline", "muted",
                                      "muted mono", "notes", "why",      "bad",     "example",  "of"};
  const std::string name = names[static_cast<size_t>(role)];
  return name.empty() ? "" : fmt::format(" class=\"{}\"", name);
}

/// The text of an asset such as "output/assets/page.css", starting with a newline. Throws Error if there is none.
std::string page_asset(const std::string& name) {
  const auto& all = page_assets();
  const auto found = std::find_if(all.begin(), all.end(), [&](const PageAsset& one) { return one.name == name; });
  require(found != all.end(), "page_asset: the program holds no file {}", name);
  return "\n" + found->text;
}

std::string element(const std::string& name, const std::string& html) {
  return fmt::format("<{0}>{1}</{0}>", name, html);
}

std::string attribute(const char* name, const std::string& value) {
  return value.empty() ? "" : fmt::format(" {}=\"{}\"", name, escape(value));
}

std::string html_of(const Words& words) {
  std::string text = escape(words.text);
  if (words.is_code) text = element("code", text);
  if (words.is_strong) text = element("b", text);
  if (words.role != Role::plain) text = fmt::format("<span{}>{}</span>", class_html(words.role), text);
  if (!words.csv.empty())
    return fmt::format("<a href=\"data:text/csv;charset=utf-8;base64,{}\" download=\"{}\">{}</a>", base64(words.csv),
                       escape(words.link), text);
  const bool is_link = !words.link.empty() && words.link.find(".md") == std::string::npos;
  return is_link ? fmt::format("<a href=\"{}\">{}</a>", escape(words.link), text) : text;
}

std::string html_of(const Phrase& line) {
  std::string out;
  for (const Words& words : line) out += html_of(words);
  return out;
}

std::string name_of_block(const Block& block, const std::string& otherwise) {
  return block.line.empty() ? otherwise : block.line.front().text;
}

std::string cell_html(const Block& block, const Phrase& cell, size_t column) {
  const char* const name = column == 0 ? "th" : "td";
  const std::string sorts =
      !cell.empty() && cell.front().sorts_as ? fmt::format(" data-v=\"{}\"", *cell.front().sorts_as) : "";
  return fmt::format("<{0}{1}{2}{3}>{4}</{0}>", name, column == 0 ? " scope=\"row\"" : "",
                     block.words.count(column) ? " class=\"word\"" : "", sorts, html_of(cell));
}

/// A table that sorts, in a frame that scrolls by itself.
std::string table_html(const Block& block) {
  if (block.rows.empty()) return "";
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table class=\"sort{}\">\n<thead><tr>",
      escape(name_of_block(block, "Table")), block.words.size() == block.head.size() ? " blocks" : "");
  for (size_t i = 0; i < block.head.size(); ++i)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", block.words.count(i) ? " class=\"word\"" : "",
                       escape(block.head[i]));
  out += "</tr></thead>\n<tbody>\n";
  for (size_t r = 0; r < block.rows.size(); ++r) {
    out += block.best_row == r ? "<tr class=\"best\">" : "<tr>";
    for (size_t i = 0; i < block.rows[r].size(); ++i) out += cell_html(block, block.rows[r][i], i);
    out += "</tr>\n";
  }
  return out + "</tbody>\n</table>\n</div>\n";
}

std::string facts_html(const Block& block) {
  std::string out = "<table class=\"words\"><tbody>\n";
  for (const Fact& fact : block.facts)
    out += fmt::format("<tr><th scope=\"row\">{}</th><td>{}{}</td></tr>\n", escape(fact.term), html_of(fact.text),
                       html_of(fact.more));
  return out + "</tbody></table>\n";
}

std::string definitions_html(const std::vector<Fact>& facts) {
  std::string out = "<dl class=\"setup\">\n";
  for (const Fact& fact : facts)
    out += fmt::format("<dt>{}</dt><dd>{}{}</dd>\n", escape(fact.term), html_of(fact.text), html_of(fact.more));
  return out + "</dl>\n";
}

std::string verdicts_html(const Block& block) {
  std::string rows;
  for (const VerdictRow& row : block.verdicts)
    rows += fmt::format(
        "<tr class=\"{}\"><td><span class=\"status\">{}</span></td><td><details>\n<summary>{}</summary>\n{}</details>"
        "{}</td><td class=\"measured\">{}{}</td></tr>\n",
        slug(row.status), escape(row.status), html_of(row.claim), html_of(row.more),
        row.warning.empty() ? "" : fmt::format("<span class=\"badge\">{}</span>", escape(row.warning)),
        escape(row.numbers), whiskers_html(row.whiskers));
  return fmt::format(
      "<table class=\"verdicts\" aria-label=\"{}\">\n<thead><tr><th scope=\"col\">verdict</th><th "
      "scope=\"col\">claim</th><th scope=\"col\">measured</th></tr></thead>\n<tbody>\n{}</tbody>\n</table>\n",
      escape(name_of_block(block, "Verdicts")), rows);
}

std::string fold_html(const Block& block) {
  const std::string name = block.name.empty() ? "" : element("h3", escape(block.name)) + " ";
  return fmt::format("<details{}{}{}>\n<summary>{}{}</summary>\n{}</details>\n",
                     block.id.empty() ? "" : " class=\"series\"", attribute("id", block.id),
                     block.is_open ? " open=\"open\"" : "", name, html_of(block.line), html_of(block.parts));
}

std::string section_html(const Block& block) {
  const std::string label = block.line.empty() ? attribute("aria-label", block.name) : "";
  return fmt::format("<section{}{}>\n{}{}</section>\n", attribute("id", block.id), label,
                     block.line.empty() ? "" : element("h2", html_of(block.line)) + "\n", html_of(block.parts));
}

/// The lines by colour, which the script lets readers switch off.
std::string legend_html(const Plot& plot) {
  std::string items;
  for (size_t i = 0; i < plot.layers.size(); ++i) {
    const Layer& layer = plot.layers[i];
    if (layer.legend.empty() || layer.marks.empty()) continue;
    items += fmt::format("<li data-layer=\"{}\">{} <span>{}</span></li>", i, swatch_of(layer), escape(layer.legend));
  }
  return items.empty() ? "" : "<ul class=\"legend\" aria-label=\"Lines\">" + items + "</ul>\n";
}

/// A figure in one format, on both scales if it has two; the second one is hidden at first.
std::string scales(const Plot& plot, Format format) {
  const std::string main = svg_of(plot, {.format = format});
  const char* const name = format == Format::wide ? "wide" : "narrow";
  if (!plot.other_y) return fmt::format("<div class=\"{}\">{}</div>\n", name, main);
  return fmt::format("<div class=\"{}\"><div class=\"as-drawn\">{}</div><div class=\"other\">{}</div></div>\n", name,
                     main, svg_of(plot, {.format = format, .on_other_scale = true}));
}

template <class Has>
bool any_mark(const Plot& plot, const Has& has) {
  return std::any_of(plot.layers.begin(), plot.layers.end(),
                     [&](const Layer& l) { return std::any_of(l.marks.begin(), l.marks.end(), has); });
}

/// Parts that the script can switch: "interval", "seeds", "log-linear" (shown, other).
std::string switch_names(const Plot& plot) {
  const auto word = [](const Axis& axis) { return axis.scale == Scale::linear ? "linear" : "log"; };
  std::vector<std::string> out;
  if (any_mark(plot, [](const Mark& m) { return m.high > m.low; })) out.emplace_back("interval");
  if (any_mark(plot, [](const Mark& m) { return !m.seeds.empty(); })) out.emplace_back("seeds");
  if (plot.other_y) out.push_back(fmt::format("{}-{}", word(plot.y), word(*plot.other_y)));
  return fmt::format("{}", fmt::join(out, " "));
}

std::string figure_html(const Block& block) {
  if (block.is_small)
    return fmt::format("<figure>{}{}</figure>\n", svg_of(block.plot, {.format = Format::narrow}),
                       legend_html(block.plot));
  const std::string link =
      block.file.empty() ? "" : fmt::format(" <a href=\"{}\">The figure as SVG</a>.", escape(block.file));
  // The seeds' points would bury several lines, so they show only on demand.
  return fmt::format(
      "<figure class=\"plot{}\" data-name=\"{}\" data-parts=\"{}\">\n{}{}{}<figcaption>{}{} <a download=\"{}.csv\" "
      "href=\"data:text/csv;charset=utf-8;base64,{}\">Its numbers as CSV</a>.</figcaption>\n</figure>\n",
      block.plot.layers.size() > 2 ? " no-seeds" : "", escape(block.plot.id), switch_names(block.plot),
      scales(block.plot, Format::wide), scales(block.plot, Format::narrow), legend_html(block.plot),
      html_of(block.line), link, escape(block.plot.id), base64(plot_csv(block.plot)));
}

std::string options_html(const std::vector<HeatMap::Measure>& measures) {
  std::string out, group;
  for (const HeatMap::Measure& measure : measures) {
    if (measure.group != group)
      out += fmt::format("{}<optgroup label=\"{}\">", group.empty() ? "" : "</optgroup>", escape(measure.group));
    group = measure.group;
    out += fmt::format("<option value=\"{}\">{}</option>", escape(measure.id), escape(measure.label));
  }
  return out + "</optgroup>";
}

std::string heat_map_html(const HeatMap& heat) {
  std::string cells = "<span></span>";
  for (int64_t column = 0; column < heat.columns; ++column) cells += fmt::format("<span>{}</span>", column);
  for (size_t i = 0; i < heat.shades.size(); ++i) {
    if (static_cast<int64_t>(i) % heat.columns == 0)
      cells += fmt::format("\n<span>{}</span>", static_cast<int64_t>(i) / heat.columns);
    cells += fmt::format(
        "<button type=\"button\" tabindex=\"{}\" aria-pressed=\"{}\" style=\"--v:{}%\" title=\"{}\"></button>",
        i == 0 ? 0 : -1, i == 0, heat.shades[i], escape(heat.hovers[i]));
  }
  std::string details;
  for (size_t i = 0; i < heat.details.size(); ++i)
    details += fmt::format("<template id=\"cell-{}\">{}</template>\n", i, html_of(heat.details[i]));
  const HeatMap::Measure& first = heat.measures.front();
  return fmt::format(
      "<p class=\"choice\"><label for=\"measure\">Measure</label> <select id=\"measure\" hidden=\"hidden\">{}</select>"
      "<b id=\"measure-name\">{}, {}</b></p>\n<p class=\"muted\" id=\"meaning\">{}</p>\n"
      "<div class=\"scroll\"><div class=\"heat\" id=\"heat\" role=\"group\" aria-label=\"Layers and heads; arrow keys "
      "move\" style=\"--heads:{}; --layers:{}\">\n{}\n</div></div>\n<p class=\"key muted\"><span "
      "id=\"low\">{}</span><span class=\"bar\" id=\"bar\"></span><span id=\"high\">{}</span><span "
      "class=\"axes\"></span></p>\n<p id=\"readout\" role=\"status\"></p>\n<div id=\"head\">{}</div>{}\n<noscript><p "
      "class=\"notes\">The other measures' heat maps and the curves of other heads need the page's script. The tables "
      "hold the measures of all heads.</p></noscript>\n<script type=\"application/json\" "
      "id=\"probe-data\">{}</script>\n<script>{}</script>\n",
      options_html(heat.measures), escape(first.group), escape(first.label), escape(first.meaning), heat.columns,
      heat.rows, cells, escape(first.low), escape(first.high), html_of(heat.details.front()), details, heat.json,
      page_asset(heat.script));
}

std::string html_of(const Block& block) {
  switch (block.kind) {
    case Kind::title:
      return element("h1", html_of(block.line)) + "\n";
    case Kind::heading:
      return element(fmt::format("h{}", block.level), html_of(block.line)) + "\n";
    case Kind::paragraph:
      return fmt::format("<p{}>{}</p>\n", class_html(block.role), html_of(block.line));
    case Kind::item:
      return element("li", html_of(block.line)) + "\n";
    case Kind::table:
      return table_html(block);
    case Kind::figure:
      return figure_html(block);
    case Kind::facts:
      return facts_html(block);
    case Kind::definitions:
      return definitions_html(block.facts);
    case Kind::verdicts:
      return verdicts_html(block);
    case Kind::code:
      return "<pre tabindex=\"0\">" + element("code", html_of(block.line)) + "</pre>\n";
    case Kind::header:
      return fmt::format("<header{}>\n{}</header>\n", attribute("id", block.id), html_of(block.parts));
    case Kind::section:
      return section_html(block);
    case Kind::fold:
      return fold_html(block);
    case Kind::heat_map:
      return heat_map_html(*block.heat);
  }
  return "";
}

std::string html_of(const Blocks& blocks) {
  std::string out;
  for (size_t i = 0; i < blocks.size(); ++i) {
    const bool is_item = blocks[i].kind == Kind::item;
    const auto is_alike = [&](size_t other) {
      return other < blocks.size() && blocks[other].kind == blocks[i].kind &&
             blocks[other].is_small == blocks[i].is_small;
    };
    if (is_item && !is_alike(i - 1)) out += fmt::format("<ul{}>\n", class_html(blocks[i].role));
    if (blocks[i].is_small && !is_alike(i - 1)) out += "<div class=\"curves\">\n";
    out += html_of(blocks[i]);
    if (is_item && !is_alike(i + 1)) out += "</ul>\n";
    if (blocks[i].is_small && !is_alike(i + 1)) out += "</div>\n";
  }
  return out;
}

/// Entries of the contents: target, text and depth.
std::string contents_html(const Blocks& blocks, int level) {
  std::string out;
  for (const Block& block : blocks) {
    if (!block.id.empty() && !(block.name.empty() && block.line.empty()))
      out += fmt::format("<li class=\"level-{}\"><a href=\"#{}\">{}</a></li>\n", level, block.id,
                         escape(block.name.empty() ? name_of_block(block, "") : block.name));
    if (block.kind == Kind::section) out += contents_html(block.parts, level + 1);
  }
  return out;
}

/// The style sheet of every page: light, dark, phone and print.
std::string page_style() {
  const auto colours = [](bool dark) {
    return colour_variables(dark) + (dark ? "--paper: #14171b; --line: #4a525d; --shade: #000000b0; --soft: #1b1f25; "
                                            "--good: #7cd3a3; --unsure: #e2bf63;"
                                          : "--paper: #fdfdfc; --line: #c3c8cf; --shade: #00000038; --soft: #f5f6f7; "
                                            "--good: #1c7245; --unsure: #84610a;");
  };
  return fmt::format(
             "\n:root {{ color-scheme: light dark; {} }}\n"
             "@media screen and (prefers-color-scheme: dark) {{ :root {{ {} }} }}",
             colours(false), colours(true)) +
         page_asset("output/assets/page.css");
}

}  // namespace

std::string as_html(const Document& document) {
  const Blocks& blocks = document.blocks;
  std::string body;
  if (document.has_contents) {
    body = "<div class=\"report\">\n<nav class=\"contents\" aria-label=\"Contents\">\n<ol>\n" +
           contents_html(blocks, 1) + "</ol>\n</nav>\n<main>\n" + html_of(blocks) + "</main>\n</div>\n";
  } else {
    const bool has_header = !blocks.empty() && blocks.front().kind == Kind::header;
    if (has_header) body = html_of(blocks.front());
    body += "<main>\n" + html_of(Blocks(blocks.begin() + has_header, blocks.end())) + "</main>\n";
  }
  // The policy keeps the page from fetching anything, whatever was put into it.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; style-src "
      "&#39;unsafe-inline&#39;; script-src &#39;unsafe-inline&#39;; img-src data:\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n{}<script>{}</script>\n</body>\n</html>\n",
      escape(document.title), page_style() + (document.style.empty() ? "" : page_asset(document.style)), body,
      page_asset("output/assets/tables.js") + page_asset("output/assets/figures.js"));
}

}  // namespace headroom::experiments
