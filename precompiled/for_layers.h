// What most files above the engine include, read once for each library. A file still includes what it uses: builds
// without precompiled headers (-Db_pch=false, as for clang-tidy) must pass.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "engine/error.h"
#include "engine/tensor.h"
