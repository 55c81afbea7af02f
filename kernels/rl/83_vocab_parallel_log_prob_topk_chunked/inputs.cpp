// SPDX-License-Identifier: Apache-2.0
#include "rl/ladder_logits.h"

PKB_INPUTS(pkb::ladder::draw_ladder)
