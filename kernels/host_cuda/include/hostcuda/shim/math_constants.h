// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <math.h>

#define CUDART_INF_F INFINITY
#define CUDART_NAN_F NAN
#define CUDART_INF HUGE_VAL
#define CUDART_NAN static_cast<double>(NAN)
#define CUDART_MIN_DENORM_F 0x1p-149f
#define CUDART_MAX_NORMAL_F 0x1.fffffep127f
#define CUDART_NEG_ZERO_F (-0.0f)
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_SQRT_HALF_F 0.70710678f
#define CUDART_SQRT_TWO_F 1.41421356f
#define CUDART_LOG2_10_F 3.32192809f
#define CUDART_L2E_F 1.44269504f
#define CUDART_LN2_F 0.69314718f
#define CUDART_PI_F 3.14159265f
#define CUDART_PIO2_F 1.57079633f
#define CUDART_SQRT_2PI_F 2.50662827f
#define CUDART_PI M_PI
#define CUDART_LN2 M_LN2
#define CUDART_L2E M_LOG2E
