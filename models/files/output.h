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

/// Throws Error where what has the name `output` is one of the inputs, also through links, or a file of a model's or
/// run's folder that an input is or holds. Compared by device and inode: writing must not destroy what is read.
void check_apart(const std::filesystem::path& output, const std::vector<CommandInput>& inputs);

/// Throws Error for a file or link of that name that the user did not say to replace. Devices and folders are left to
/// AtomicFile, which has its own messages for them. A name that is free is promised to be new: an AtomicFile of this
/// process replaces nothing that got it meanwhile.
void check_new(const std::filesystem::path& output, bool force);

/// Whether check_new() found the name free, and no AtomicFile has taken it since.
bool is_promised_new(const std::filesystem::path& output);
/// The name is taken: this process may write it again.
void forget_promise(const std::filesystem::path& output);

}  // namespace headroom::models
