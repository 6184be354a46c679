#include "experiments/tools/new_op/new_op.h"

#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <system_error>

#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "experiments/tools/new_op/formulas.h"

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

std::string renamed(const std::string& text, const std::string& name) {
  return replaced(replaced(text, "softplus", name), "Softplus", pascal_case(name));
}

/// The text of one of softplus's files for another function.
std::string text_for(const NewOpFile& file, const std::string& name) {
  const NewOpFormula &from = new_op_formula("softplus"), &to = new_op_formula(name);
  if (file.name.ends_with("_functor.h")) return functor_file(to, pascal_case(name));
  const std::string text =
      replaced(replaced(file.text, from.value, to.value), "dy · " + from.slope, "dy · " + to.slope);
  return renamed(replaced(text, from.tolerances, to.tolerances), name);
}

/// A folder under another name beside `target` until it is renamed; what is left of it when this ends is removed, with
/// the folders above that were made for it.
class UnfinishedFolder {
 public:
  UnfinishedFolder(const fs::path& target, const fs::path& shown) {
    std::error_code error;
    for (fs::path above = target.parent_path(); !fs::exists(above, error) && above.has_relative_path();
         above = above.parent_path())
      made_.push_back(above);
    fs::create_directories(target.parent_path(), error);
    path_ = target.parent_path() / fmt::format(".new-op-{}", getpid());
    if (!error) fs::create_directory(path_, error);
    if (error) remove();
    require(!error, "new-op: cannot make the folder {}: {}", shown.string(), error.message());
  }
  ~UnfinishedFolder() { remove(); }
  UnfinishedFolder(const UnfinishedFolder&) = delete;
  UnfinishedFolder& operator=(const UnfinishedFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  void remove() const {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
    for (const fs::path& folder : made_) fs::remove(folder, ignored);  // only what is empty
  }

  fs::path path_;
  std::vector<fs::path> made_;  ///< the lowest first
};

}  // namespace

std::vector<std::string> write_new_op(const std::string& name, const fs::path& folder) {
  check_name(name);
  std::error_code error;
  const fs::path target = fs::absolute(folder, error).lexically_normal();
  const fs::path place = target.has_filename() ? target : target.parent_path();
  if (fs::exists(fs::symlink_status(place, error)))
    fail("new-op: {} exists already: choose another folder", folder.string());
  const UnfinishedFolder unfinished(place, folder);
  std::vector<std::string> names;
  for (const NewOpFile& file : new_op_files()) {
    names.push_back(renamed(file.name, name));
    const fs::path path = unfinished.path() / names.back();
    fs::create_directories(path.parent_path(), error);
    std::ofstream out(path);
    out << text_for(file, name);
    out.close();
    if (!out) fail("new-op: cannot write {}: {}", (folder / names.back()).string(), std::strerror(errno));
  }
  fs::rename(unfinished.path(), place, error);
  require(!error, "new-op: cannot make the folder {}: {}", folder.string(), error.message());
  return names;
}

}  // namespace headroom::experiments
