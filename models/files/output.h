#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace headroom::models {

/// A file or folder that a command reads, and the argument that named it ("--text").
struct CommandInput {
  std::string argument;
  std::filesystem::path path;
};

/// Throws Error if `output` is one of the inputs, also through links, or a file of a model's or run's folder that an
/// input is or holds. Compares device and inode: writing must not destroy what is being read.
void check_apart(const std::filesystem::path& output, const std::vector<CommandInput>& inputs);

/// Throws Error if a file or link of that name exists and `force` is false. Leaves devices and folders to AtomicFile,
/// which has its own messages. Remembers a free name as promised new: no AtomicFile of this process then replaces a
/// file that takes it meanwhile.
void check_new(const std::filesystem::path& output, bool force);

/// True if check_new() found the name free and no AtomicFile has taken it since.
bool is_promised_new(const std::filesystem::path& output);
/// Ends the promise once the name is taken: this process may overwrite it.
void forget_promise(const std::filesystem::path& output);

}  // namespace headroom::models
