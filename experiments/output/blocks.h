#pragma once
#include <string>
#include <vector>

/// Pages that are written as Markdown and as HTML from the same parts. All words are plain text.
namespace headroom::experiments {

/// Words in a line.
struct Words {
  std::string text;
  std::string link{};  ///< where they lead; "" for nowhere
  bool is_strong = false;
  bool is_code = false;
};
using Phrase = std::vector<Words>;

/// One part of a page.
struct Block {
  enum class Kind { title, heading, paragraph, item, table, figure } kind = Kind::paragraph;
  Phrase line{};                            ///< a figure's caption, a table's name
  std::vector<std::string> head{};          ///< of a table
  std::vector<std::vector<Phrase>> rows{};  ///< as many cells as `head` has
  std::string file{}, svg{};                ///< of a figure: its file beside the page, and the drawing itself
};

Block title(const std::string& text);
Block heading(const std::string& text);
Block paragraph(const std::string& text);
Block item(const std::string& text);
Block table(const std::string& name, const std::vector<std::string>& head, std::vector<std::vector<Phrase>> rows);

/// The page as Markdown. A table without rows and a figure without a file are left out.
std::string as_markdown(const std::vector<Block>& page);

/// The page as one HTML document that fetches nothing; figures are inside.
std::string as_html(const std::vector<Block>& page);

}  // namespace headroom::experiments
