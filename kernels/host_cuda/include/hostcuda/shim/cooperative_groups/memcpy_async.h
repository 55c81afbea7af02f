// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "hostcuda/cuda/cooperative_groups.h"
