#pragma once

namespace CLI {
class App;
}

namespace headroom::experiments {

/// `plan`: how to split a width between heads, what the bounds say of it, and what a model costs.
void add_plan_command(CLI::App& app);

}  // namespace headroom::experiments
