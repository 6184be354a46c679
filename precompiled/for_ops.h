// What ops include, which are compiled each alone. A file still includes what it uses: see for_layers.h.
#include <algorithm>
#include <cmath>

#include "engine/dispatch/op.h"
#include "engine/error.h"
#include "engine/parallel.h"
