#include "autograd/saved.h"

#include "engine/error.h"

namespace headroom::autograd {

void Saved::refuse(const char* op) const {
  fail("backward: {} of {} {} was written in place after it was used", name_, op, tensor_.str());
}

}  // namespace headroom::autograd
