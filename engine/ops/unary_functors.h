#pragma once
// Every functor of HEADROOM_UNARY_OPS, for the files that instantiate loops over all of them.
#include "engine/ops/exp/exp.h"
#include "engine/ops/gelu/gelu.h"
#include "engine/ops/gelu_tanh/gelu_tanh.h"
#include "engine/ops/log/log.h"
#include "engine/ops/neg/neg.h"
#include "engine/ops/relu/relu.h"
#include "engine/ops/rsqrt/rsqrt.h"
#include "engine/ops/sigmoid/sigmoid.h"
#include "engine/ops/silu/silu.h"
#include "engine/ops/sqrt/sqrt.h"
#include "engine/ops/tanh/tanh.h"
