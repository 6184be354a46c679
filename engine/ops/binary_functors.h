#pragma once
// Every functor of HEADROOM_BINARY_OPS.
#include "engine/ops/add/add.h"
#include "engine/ops/div/div.h"
#include "engine/ops/mul/mul.h"
#include "engine/ops/sub/sub.h"
