#include <fmt/format.h>

#include "experiments/report/page_assets.h"
#include "experiments/report/page_sections.h"
#include "experiments/report/svg.h"

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
         page_asset("report/assets/page.css");
}

}  // namespace headroom::experiments
