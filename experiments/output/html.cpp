#include "experiments/output/html.h"

#include <fmt/format.h>

#include "experiments/output/page_assets.h"
#include "experiments/output/plot/svg.h"
#include "experiments/output/text.h"

namespace headroom::experiments {

std::string page_style() {
  const auto colours = [](bool dark) {
    return svg::variables(dark) + (dark ? "--paper: #14171b; --line: #4a525d; --shade: #000000b0; --soft: #1b1f25; "
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

std::string element(const std::string& name, const std::string& html) {
  return fmt::format("<{0}>{1}</{0}>", name, html);
}

std::string document(const std::string& title, const std::string& body, const std::string& own_rules) {
  // The policy keeps the page from fetching anything, whatever found its way into it.
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src &#39;none&#39;; style-src "
      "&#39;unsafe-inline&#39;; script-src &#39;unsafe-inline&#39;; img-src data:\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n<title>{}</title>\n"
      "<style>{}</style>\n</head>\n<body>\n{}<script>{}</script>\n</body>\n</html>\n",
      escape(title), page_style() + own_rules, body,
      page_asset("output/assets/tables.js") + page_asset("output/assets/figures.js"));
}

std::string sortable_table(const std::string& name, const std::vector<std::string>& heads, const std::string& rows,
                           const std::set<size_t>& words) {
  std::string out = fmt::format(
      "<div class=\"scroll\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n<table class=\"sort{}\">\n<thead><tr>",
      escape(name), words.size() == heads.size() ? " blocks" : "");
  for (size_t i = 0; i < heads.size(); ++i)
    out += fmt::format("<th scope=\"col\"{}>{}</th>", words.count(i) ? " class=\"word\"" : "", escape(heads[i]));
  return out + "</tr></thead>\n<tbody>\n" + rows + "</tbody>\n</table>\n</div>\n";
}

std::string contents(const std::vector<ContentsEntry>& entries) {
  std::string out = "<nav class=\"contents\" aria-label=\"Contents\">\n<ol>\n";
  for (const ContentsEntry& entry : entries)
    out +=
        fmt::format("<li class=\"level-{}\"><a href=\"#{}\">{}</a></li>\n", entry.level, entry.id, escape(entry.text));
  return out + "</ol>\n</nav>\n";
}

}  // namespace headroom::experiments
