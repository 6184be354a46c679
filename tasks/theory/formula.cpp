#include "tasks/theory/formula.h"

#include "engine/error.h"

namespace headroom::tasks {
namespace {

[[noreturn]] void refuse(const Task& task) { fail("{}: a formula has nothing to train", task.describe()); }

}  // namespace

ModelInterface Formula::model_interface() const { refuse(*this); }
Batch Formula::train_batch(int64_t, int64_t, engine::Rng&) const { refuse(*this); }
Batch Formula::evaluation(Split, int64_t) const { refuse(*this); }
Var Formula::loss(const Var&, const Batch&) const { refuse(*this); }
std::unique_ptr<Meter> Formula::meter() const { refuse(*this); }

}  // namespace headroom::tasks
