#include "models/write/model_card.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <sstream>
#include <string_view>

#include "engine/excerpt.h"
#include "models/checkpoints/model_files.h"
#include "models/files/file_size.h"
#include "models/files/regular_file.h"
#include "models/gguf/metadata.h"

namespace headroom::models {
namespace {

constexpr size_t longest = 2000;  ///< characters of a text

/// Text that Markdown shows as it is, in a cell of a table or a line.
std::string in_line(const std::string& text) {
  std::string out;
  for (const char c : excerpt(text, longest)) {
    if (std::string_view("\\`*_~$<>[]|#&").find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

/// The same as code.
std::string code(const std::string& text) {
  std::string out = excerpt(text, longest);
  std::replace(out.begin(), out.end(), '`', '\'');
  return "`" + out + "`";
}

std::string row_of(const std::string& text, const ModelCard::Text& used) {
  return fmt::format("- {}: {}, tokens {} to {}, SHA-256 {}\n", text, code(used.file), used.begin, used.end,
                     used.sha256);
}

/// The text that a scalar of YAML on one line stands for: "mit", 'mit' or mit, and a comment behind it.
std::string yaml_scalar(std::string_view text) {
  const auto trim = [](std::string_view all) {
    const size_t begin = all.find_first_not_of(" \t\r"), end = all.find_last_not_of(" \t\r");
    return begin == std::string_view::npos ? std::string_view() : all.substr(begin, end - begin + 1);
  };
  text = trim(text);
  if (text.starts_with('"')) {  // YAML's is JSON's
    const nlohmann::json parsed = nlohmann::json::parse(text.substr(0, text.rfind('"') + 1), nullptr, false);
    return parsed.is_string() ? parsed.get<std::string>() : "";
  }
  if (text.starts_with('\'')) return std::string(text.substr(1, text.find('\'', 1) - 1));
  return std::string(trim(text.substr(0, text.find(" #"))));
}

std::string number(const std::optional<double>& value) { return value ? fmt::format("{:.6g}", *value) : "-"; }

}  // namespace

std::string license_of(const ModelFiles& model) {
  if (const GgufMetadata* metadata = model.metadata()) return metadata->text("general.license", "");
  const std::filesystem::path file = model.path() / "README.md";
  constexpr uint64_t most = 1 << 24;
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(file, unreadable) || std::filesystem::file_size(file, unreadable) > most)
    return "";
  std::istringstream card(read_file(file, {"model card", most}));
  std::string line;
  if (!std::getline(card, line) || !line.starts_with("---")) return "";
  constexpr std::string_view key = "license:";
  while (std::getline(card, line) && !line.starts_with("---"))
    if (line.starts_with(key)) return yaml_scalar(line.substr(key.size()));
  return "";
}

std::string front_matter(const CardHead& head, const std::string& change) {
  const auto quoted = [](const std::string& text) {  // a string of JSON is one of YAML
    return nlohmann::json(excerpt(text, 200)).dump();
  };
  const bool is_on_hub = head.base.find('/') != std::string::npos;
  return fmt::format(
      "---\n{}base_model: {}\n{}license: {}\nlibrary_name: {}\npipeline_tag: {}\ntags: [headroom, {}]\n"
      "# quantized_by: your name\n---\n\n",
      is_on_hub ? "" : "# ", quoted(is_on_hub ? head.base : "owner/" + head.base), head.license.empty() ? "# " : "",
      quoted(head.license.empty() ? "apache-2.0" : head.license), head.library,
      head.is_classifier ? "text-classification" : "text-generation", change);
}

std::string markdown_of(const ModelCard& card, const std::string& format, const std::string& loaded_by,
                        const Conversion& conversion) {
  std::string text = fmt::format("# {}, {}\n\n", in_line(card.base), card.change);
  text += fmt::format("- made of: {}{}\n", code(card.base),
                      card.base_sha256.empty() ? "" : ", SHA-256 " + card.base_sha256);
  if (!card.made_by.empty())
    text += fmt::format("- made by{}: {}\n", card.program.empty() ? "" : " " + card.program, code(card.made_by));
  for (const ModelCard::Part& part : card.parts) text += fmt::format("- {}: {}\n", part.name, in_line(part.method));
  if (!card.refinement.empty()) text += fmt::format("- refined: {}\n", in_line(card.refinement));
  if (card.calibration) text += row_of("calibrated on", *card.calibration);
  text += fmt::format("- format: {}, loaded by {}\n- files: {}, {}\n", format, loaded_by, conversion.written,
                      size_text(conversion.bytes));
  text += fmt::format(
      "- read back: logits of a few tokens differ by at most {:.2g} from those in memory, of which the "
      "largest is {:.3g}\n",
      conversion.logit_error, conversion.largest_logit);
  for (const ModelCard::Part& part : card.parts) {
    if (part.ranks.empty()) continue;
    text += fmt::format("\n## Ranks: {}\n\n| layers | rank |\n|---|---|\n", part.name);
    for (const auto& [layers, rank] : part.ranks) text += fmt::format("| {} | {} |\n", in_line(layers), in_line(rank));
  }
  if (!card.measures.empty()) {
    text += "\n## Measured\n\n| | original | this model |\n|---|---|---|\n";
    if (card.base_bytes > 0)
      text += fmt::format("| files | {} | {} |\n", size_text(card.base_bytes), size_text(conversion.bytes));
    for (const ModelCard::Measure& m : card.measures)
      text += fmt::format("| {} | {} | {} |\n", in_line(m.name), number(m.before), number(m.after));
    if (card.evaluation) text += "\n" + row_of("evaluated on", *card.evaluation);
  }
  for (const std::string& note : conversion.notes) text += fmt::format("\n{}\n", in_line(note));
  for (const std::string& note : card.notes) text += fmt::format("\n{}\n", in_line(note));
  return text;
}

}  // namespace headroom::models
