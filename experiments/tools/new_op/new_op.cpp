#include "experiments/tools/new_op/new_op.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <string_view>
#include <system_error>

#include "engine/dispatch/op.h"
#include "engine/error.h"

namespace headroom::experiments {
namespace {

namespace fs = std::filesystem;

/// C++20's keywords, those that are keywords in places among them.
constexpr std::string_view keywords =
    " alignas alignof and and_eq asm auto bitand bitor bool break case catch char char16_t char32_t char8_t "
    "class co_await co_return co_yield compl concept const const_cast consteval constexpr constinit continue "
    "decltype default delete do double dynamic_cast else enum explicit export extern false final float for "
    "friend goto if import inline int long module mutable namespace new noexcept not not_eq nullptr operator "
    "or or_eq override private protected public register reinterpret_cast requires return short signed sizeof "
    "static static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while xor xor_eq ";

/// Macros of the C library, functions and types that every program has, names in the files of an op, and Meson's words.
constexpr std::string_view used =
    " assert errno linux major makedev minor offsetof setjmp sigsetjmp stderr stdin stdout unix va_arg va_copy "
    "va_end va_start main std portable avx2 avx512 amx kernel op ops t all args benchmark build_machine clean "
    "dist elif endforeach endif foreach host_machine in install isa kernels library meson phony reconfigure "
    "root target_machine test testcase uninstall ";

/// Folders and files of the op are called by its name, with up to 20 characters around it.
constexpr size_t longest_name = 64;

/// "soft_plus" → "SoftPlus".
std::string pascal_case(const std::string& name) {
  std::string out;
  bool start = true;
  for (const char c : name) {
    if (c != '_') out += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    start = c == '_';
  }
  return out;
}

/// `words` have a space on each side.
bool is_one_of(const std::string& name, std::string_view words) {
  return words.find(" " + name + " ") != std::string_view::npos;
}

void check_name(const std::string& name) {
  const auto fits = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_'; };
  const bool is_word = !name.empty() && name[0] >= 'a' && name[0] <= 'z' && std::all_of(name.begin(), name.end(), fits);
  require(name.size() <= longest_name, "new-op: a name has at most {} characters, this one has {}", longest_name,
          name.size());
  require(is_word && name.find("__") == std::string::npos && name.back() != '_',
          "new-op: '{}' is no name for an op: lower-case letters, digits and single _ between them, a letter first",
          name);
  for (const std::string& op : engine::op_names())
    if (op == name) fail("new-op: there is an op '{}' already: choose another name", name);
  require(!is_one_of(name, keywords), "new-op: '{}' is a word of C++: choose another name", name);
  for (const std::string& made :
       {name, pascal_case(name), name + "_grad", name + "_forward", name + "_backward", name + "_samples"})
    require(!is_one_of(made, used) && taken_names().count(made) == 0,
            "new-op: '{}' has a meaning already{}: choose another name", name, made == name ? "" : ", by its " + made);
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

std::string renamed(const std::string& text, const std::string& from, const std::string& name) {
  return replaced(replaced(text, from, name), pascal_case(from), pascal_case(name));
}

/// `text` with `inside` in place of what is between two of its parts.
std::string refilled(std::string text, const std::string& begin, const std::string& end, const std::string& inside) {
  const size_t from = text.find(begin) + begin.size();
  return text.replace(from, text.find(end, from) - from, inside);
}

/// The text of one of softplus's files for another function; for a reduction `value` says what it computes.
std::string text_for(const NewOpFile& file, const std::string& name, const std::string& value) {
  const NewOpFormula &from = new_op_formula("softplus"), &to = new_op_formula(name);
  std::string text = replaced(replaced(file.text, from.value, value), "dy · " + from.slope, "dy · " + to.slope);
  if (file.name.ends_with("_functor.h") && !to.comment.empty()) {
    text = refilled(file.text, "headroom::engine {\n\n", "\nstruct", to.comment);
    text = refilled(text, " f(T x) {\n", "\n  }", to.f);
    text = refilled(text, " df(T x, T /*y*/) {\n", "\n  }", to.df);
  }
  return renamed(replaced(text, from.tolerances, to.tolerances), "softplus", name);
}

/// The new op's files by path: softplus's, and over some of them those of sum_squares for a reduction.
std::map<std::string, std::string> texts_for(const std::string& name, bool is_reduction) {
  const std::string value = is_reduction ? reduction_value : new_op_formula(name).value;
  std::map<std::string, std::string> texts;
  for (const NewOpFile& file : new_op_files()) {
    const std::string from = file.name.substr(0, file.name.find('/'));
    if (from != "softplus" && !is_reduction) continue;
    const std::string path = renamed(file.name.substr(from.size() + 1), from, name);
    texts[path] = from == "softplus" ? text_for(file, name, value) : renamed(file.text, from, name);
  }
  return texts;
}

/// Writes the op's files into `folder`, and gives their names; `shown` is the folder that messages name.
std::vector<std::string> write_files(const std::string& name, bool is_reduction, const fs::path& folder,
                                     const fs::path& shown) {
  std::vector<std::string> names;
  for (const auto& [path, text] : texts_for(name, is_reduction)) {
    names.push_back(path);
    fs::create_directories((folder / path).parent_path());
    std::ofstream out(folder / path);
    out << text;
    out.close();
    if (!out) fail("new-op: cannot write {}: {}", (shown / path).string(), std::strerror(errno));
  }
  return names;
}

/// The folders above `place` that there are not, the lowest first.
std::vector<fs::path> missing_above(const fs::path& place) {
  std::vector<fs::path> missing;
  std::error_code error;
  for (fs::path above = place.parent_path(); !fs::exists(above, error) && above.has_relative_path();
       above = above.parent_path())
    missing.push_back(above);
  return missing;
}

}  // namespace

std::vector<std::string> write_new_op(const std::string& name, const fs::path& folder, bool is_reduction) {
  check_name(name);
  std::error_code error;
  const fs::path target = fs::absolute(folder, error).lexically_normal();
  const fs::path place = target.has_filename() ? target : target.parent_path();
  if (fs::exists(fs::symlink_status(place, error)))
    fail("new-op: {} exists already: choose another folder", folder.string());
  const std::vector<fs::path> made = missing_above(place);
  const fs::path unfinished = place.parent_path() / fmt::format(".new-op-{}", getpid());
  const auto undo = [&] {
    fs::remove_all(unfinished, error);
    for (const fs::path& above : made) fs::remove(above, error);  // only what is empty
  };
  try {
    const std::vector<std::string> names = write_files(name, is_reduction, unfinished, folder);
    fs::rename(unfinished, place);
    return names;
  } catch (const fs::filesystem_error& problem) {
    undo();
    fail("new-op: cannot make the folder {}: {}", folder.string(), problem.code().message());
  } catch (const Error&) {
    undo();
    throw;
  }
}

}  // namespace headroom::experiments
