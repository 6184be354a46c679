#pragma once
#include <cstdint>

namespace headroom::experiments {

class Database;

/// The version of the tables that this program reads and writes, kept in SQLite's `user_version`; 0 there is version 1,
/// which did not write it, or an empty file.
inline constexpr int64_t schema_version = 4;

/// Whether the file holds no tables yet: a process is about to make the store, or was killed before it had.
bool is_empty(const Database& database);

/// Brings a store to schema_version in one transaction, all its trials kept. Throws Error naming both versions when the
/// store is newer.
void upgrade(Database& database);

/// The same check for a store that is only read: versions 2, which has no checksums, and 3, which has no parts of the
/// test set, are read, too. Throws Error for other versions.
void check_version(const Database& database);

}  // namespace headroom::experiments
