// SPDX-License-Identifier: Apache-2.0
//
// Launch expressions, kernel templates, names that shadow CUDA's, constants, device variables, unchecked corners of the
// grammar.
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

namespace shapes {

template <class T, int kFactor, bool kNegate = false>
__global__ void scale(T* x, T by) {
  const T factor = by * kFactor;
  if constexpr (kNegate) {
    x[threadIdx.x] = -factor;
  } else {
    x[threadIdx.x] = factor;
  }
  by = 0;  // a thread's own copy
}

template <>
__global__ void scale<short, 2, false>(short* x, short by) {
  x[threadIdx.x] = static_cast<short>(100 * by);
}

struct Views {
  int* data[2];
  int size;
};

static __global__ void fill_views(const __grid_constant__ Views views, int value) {
  for (int v = 0; v < 2; ++v)
    for (int i = threadIdx.x; i < views.size; i += blockDim.x) views.data[v][i] = value + v;
}

template <class... Ts>
__global__ void sum_all(double* out, Ts... values) {
  *out = (static_cast<double>(values) + ...);
}

template <typename, int>
__global__ void unnamed(int* out, float) {
  *out = 42;
}

}  // namespace shapes

__constant__ int table[4] = {1, 2, 3, 4};
__device__ int counter = 5;
__device__ __forceinline__ int twice(int x) {
  return 2 * x;
}
__device__ __noinline__ int thrice(int x) {
  return 3 * x;
}
__host__ __device__ constexpr int factorial(int n) {
  int product = 1;
  while (n > 1) product *= n--;
  return product;
}
static_assert(factorial(5) == 120);

__global__ void use_globals(int* out) {
  out[threadIdx.x] = twice(table[threadIdx.x]) + thrice(counter);
  __syncthreads();
  if (threadIdx.x == 0) counter += factorial(3);
}

__global__ void coordinates(int* out) {
  const int block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
  const int thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
  out[block * (blockDim.x * blockDim.y * blockDim.z) + thread] =
      static_cast<int>(threadIdx.z * 10000 + blockIdx.y * 100 + threadIdx.x);
}

__global__ void goto_loop(int* out) {
  int i = 0;
again:
  if (++i < 10) goto again;
  *out = i;
}

// An else after loops without braces must keep its if.
__global__ void dangling(int* out, int n) {
  if (n > 0)
    while (n > 3)
      if (n % 2)
        n -= 3;
      else
        n -= 1;
  else
    n = -1;
  *out = n;
}

struct Add {
  int by;
  __device__ int operator()(int i) const { return i + by; }
};

template <typename Function>
__global__ void apply(int* out, Function function) {
  out[threadIdx.x] = function(static_cast<int>(threadIdx.x));
}

extern "C" cudaError_t run_launches(int* out, int which) {
  int n = 0;
  const auto counted = [&n](int value) { return ++n, value; };
  switch (which) {
    case 0:
      shapes::scale<int, 3><<<1, 4>>>(out, counted(2));
      break;
    case 1: {
      auto* kernel = &shapes::scale<int, (4 > 3 ? 5 : 6), true>;
      kernel<<<dim3{1}, dim3(4, 1), 0, nullptr>>>(out, counted(2));
      break;
    }
    case 2:
      if (out != nullptr)
        shapes::scale<short, 2><<<1, 4>>>(reinterpret_cast<short*>(out), short(counted(3)));
      else
        shapes::scale<int, 1><<<1, 4>>>(out, 1);
      break;
    case 3:
      shapes::fill_views<<<1, 2>>>(shapes::Views{{out, out + 2}, 2}, counted(8));
      break;
    case 4:
      shapes::sum_all<<<1, 1>>>(reinterpret_cast<double*>(out), 1, 2.5f, counted(3));
      break;
    case 5:
      shapes::unnamed<float, 3><<<1, 1>>>(out, counted(1));
      break;
    case 6:
      use_globals<<<1, 4>>>(out);
      counted(0);
      break;
    case 7: {
      const dim3 gridDim(2, 3, 2), blockDim(2, 1, 2);  // shadow CUDA's
      coordinates<<<gridDim, blockDim>>>(out);
      counted(0);
      break;
    }
    case 8:
      goto_loop<<<1, 1>>>(out);
      counted(0);
      break;
    case 9:
      dangling<<<1, 1>>>(out, counted(9));
      break;
    case 10:
      ::apply<<<1, 4>>>(out, Add{counted(10)});
      break;
    default:
      return cudaErrorInvalidValue;
  }
  if (n != 1) return cudaErrorUnknown;  // arguments are evaluated once
  if (const cudaError_t error = cudaGetLastError()) return error;
  return cudaDeviceSynchronize();
}

__global__ void __launch_bounds__(64) bounded(int* out) {
  *out = 1;
}
__global__ void large_memory(int* out) {
  extern __shared__ int memory[];
  memory[20000] = 9;
  *out = memory[20000];
}

extern "C" cudaError_t run_refused(int* out, int which) {
  switch (which) {
    case 0:
      bounded<<<1, 128>>>(out);
      break;
    case 1:
      bounded<<<1, 2048>>>(out);
      break;
    case 2:
      bounded<<<0, 32>>>(out);
      break;
    case 3:
      large_memory<<<1, 1, 96 << 10>>>(out);
      break;
    case 4:
      cudaFuncSetAttribute(large_memory, cudaFuncAttributeMaxDynamicSharedMemorySize, 96 << 10);
      large_memory<<<1, 1, 96 << 10>>>(out);
      break;
    case 5:
      bounded<<<1, 32, 0, reinterpret_cast<cudaStream_t>(out)>>>(out);
      break;
    default:
      return cudaErrorUnknown;
  }
  const cudaError_t error = cudaGetLastError();
  return error ? error : cudaDeviceSynchronize();
}

// A shared variable of its own in each branch.
__global__ void in_branches(int* out, int which) {
  switch (which) {
    case 0: {
      __shared__ int a[2];
      a[threadIdx.x % 2] = 5;
      out[threadIdx.x] = a[threadIdx.x % 2];
      break;
    }
    case 1:
      __shared__ int b;
      b = 6;
      out[threadIdx.x] = b;
  }
}

extern "C" cudaError_t run_in_branches(int* out, int which) {
  in_branches<<<1, 4>>>(out, which);
  return cudaDeviceSynchronize();
}
