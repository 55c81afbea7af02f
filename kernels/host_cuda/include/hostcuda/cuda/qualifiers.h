// SPDX-License-Identifier: Apache-2.0
//
// The qualifiers that need no rewriting. __global__, __shared__, __device__ and the others are the translator's.
#pragma once

#define __forceinline__ inline __attribute__((always_inline))
#define __align__(bytes) __attribute__((aligned(bytes)))
#define __builtin_align__(bytes) __attribute__((aligned(bytes)))
