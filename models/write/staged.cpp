#include "models/write/staged.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "engine/error.h"
#include "models/files/atomic_file.h"
#include "models/files/entries_of.h"
#include "models/files/json.h"
#include "models/files/staging_folder.h"
#include "models/files/temporary_name.h"
#include "models/gguf/gguf.h"
#include "models/write/folder_files.h"

namespace headroom::models {
namespace {

namespace fs = std::filesystem;

bool is_gguf_name(const fs::path& to) { return to.extension() == ".gguf"; }

/// The path of a GGUF file's model card.
fs::path card_beside(fs::path to) { return to.replace_extension(".md"); }

/// Throws Error unless whatever has the name may be replaced.
void check_name(const fs::path& from, const fs::path& to, bool force) {
  const bool is_gguf = is_gguf_name(to);
  std::error_code error;
  const fs::file_status there = fs::symlink_status(to, error);
  if (there.type() == fs::file_type::not_found) return;
  require(!fs::equivalent(from, to, error), "{}: is the model itself", to.string());
  require(!fs::is_symlink(there), "{}: is a link, which a {} would replace; name another", to.string(),
          is_gguf ? "file" : "folder");
  require(is_gguf ? fs::is_regular_file(there) : fs::is_directory(there), "{}: is {}, which a {} cannot replace",
          to.string(), fs::is_directory(there) ? "a folder" : "no folder", is_gguf ? "GGUF file" : "folder");
  const bool is_empty = !is_gguf && fs::is_empty(to, error);
  require(force || is_empty, "{}: exists; --force replaces it", to.string());
  if (is_gguf) return;
  for (const fs::path& file : entries_of(to))
    require(fs::is_regular_file(file) && is_model_file(file.filename().string()),
            "{}: holds {}, which is no file of a model: name another folder", to.string(),
            quoted_name(file.filename().string()));
}

void put_card(const fs::path& card, const fs::path& to, Replace replace) {
  const bool is_put =
      replace == Replace::allowed ? std::rename(card.c_str(), to.c_str()) == 0 : rename_new(card, to) == 0;
  require(is_put, "{}: the model card cannot take this name beside the model, which is written: {}", to.string(),
          std::strerror(errno));
}

}  // namespace

uint64_t model_bytes(const fs::path& path) {
  uint64_t bytes = 0;
  if (!fs::is_directory(path)) {
    for (const fs::path& part : gguf_parts(path))
      if (part == path || fs::exists(part)) bytes += fs::file_size(part);
    return bytes;
  }
  for (const fs::path& file : entries_of(path)) {
    const std::string name = file.filename().string();
    if (name != model_card_name && is_model_file(name) && fs::is_regular_file(file)) bytes += fs::file_size(file);
  }
  return bytes;
}

void check_target(const fs::path& from, const fs::path& to, bool force) {
  check_name(from, to, force);
  const StagingFolder tried(to);  // goes again
}

void check_card(const fs::path& to, bool force) {
  std::error_code error;
  if (!is_gguf_name(to) || force) return;
  const fs::path card = card_beside(to);
  require(!fs::exists(fs::symlink_status(card, error)),
          "{}: exists, and is where the model card of {} goes; --force replaces it", card.string(), to.string());
}

Conversion staged(const fs::path& to, const ConvertOptions& options,
                  const std::function<void(const fs::path&, Conversion&)>& write) {
  const bool is_gguf = is_gguf_name(to);
  Conversion conversion;
  StagingFolder staging(to);
  const fs::path made = staging.path() / (is_gguf ? "model.gguf" : "model");
  const fs::path card = is_gguf ? staging.path() / model_card_name : made / model_card_name;
  try {
    write(made, conversion);
    conversion.bytes = model_bytes(made);
    if (options.card) write_file(card, options.card(conversion));
  } catch (const Error& error) {
    // The message names what the user asked for, not the temporary file.
    std::string message = error.what();
    for (size_t at = message.find(made.string()); at != std::string::npos; at = message.find(made.string(), at))
      message.replace(at, made.string().size(), to.string());
    throw Error(message.find(to.string()) == std::string::npos ? to.string() + ": " + message : message);
  }
  const Replace replace = options.force ? Replace::allowed : Replace::never;
  staging.publish(made.filename(), replace);
  if (options.card && is_gguf) put_card(card, card_beside(to), replace);
  return conversion;
}

}  // namespace headroom::models
