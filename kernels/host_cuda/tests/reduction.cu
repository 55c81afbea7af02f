// SPDX-License-Identifier: Apache-2.0
//
// Tree reductions in shared memory: static, dynamic, in a template, in a device function, through a lambda.
#include <cuda_runtime.h>

constexpr int kThreads = 256;

__global__ void __launch_bounds__(kThreads) sum_static(const float* x, float* sums, int n) {
  __shared__ float partial[kThreads], offsets[2];
  const int t = threadIdx.x;
  float mine = 0;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) mine += x[i];
  partial[t] = mine;
  if (t < 2) offsets[t] = static_cast<float>(t);
  __syncthreads();
  for (int half = kThreads / 2; half > 0; half /= 2) {
    if (t < half) partial[t] += partial[t + half];
    __syncthreads();
  }
  if (t == 0) sums[blockIdx.x] = partial[0] + offsets[0];
}

template <typename T, int = 0>
__global__ void sum_dynamic(const T* __restrict__ x, T* __restrict__ sum, const int n) {
  extern __shared__ __align__(16) unsigned char memory[];
  T* partial = reinterpret_cast<T*>(memory);
  T mine = 0;
  for (int i = threadIdx.x; i < n; i += blockDim.x) mine += x[i];
  partial[threadIdx.x] = mine;
  for (unsigned half = blockDim.x / 2; half > 0; half >>= 1) {
    __syncthreads();
    if (threadIdx.x < half) partial[threadIdx.x] += partial[threadIdx.x + half];
  }
  if (threadIdx.x == 0) *sum = partial[0];
}

template <class T>
__device__ T block_sum(T value) {
  __shared__ T cell;
  if (threadIdx.x == 0) cell = 0;
  __syncthreads();
  atomicAdd(&cell, value);
  __syncthreads();
  const T total = cell;
  __syncthreads();
  return total;
}

__global__ void sums_of_two_types(const int* x, int* integer, float* floating) {
  const int a = block_sum(x[threadIdx.x]);
  const float b = block_sum(0.5f * x[threadIdx.x]);
  if (threadIdx.x == 0) *integer = a, *floating = b;
}

// Lambdas see shared memory itself, not a copy, whatever their captures say.
__global__ void through_lambda(int* out) {
  __shared__ int cells[64];
  extern __shared__ int more[];
  const int t = threadIdx.x;
  const auto put = [=](int value) { cells[t] = value; };
  auto put_more = [t] { more[t] = 2 * cells[t]; };
  put(t + 1);
  put_more();
  __syncthreads();
  out[t] = cells[63 - t] + more[63 - t];
}

extern "C" cudaError_t run_sum_static(const float* x, float* sums, int n, int blocks) {
  sum_static<<<blocks, kThreads>>>(x, sums, n);
  return cudaDeviceSynchronize();
}

extern "C" cudaError_t run_sum_dynamic(const double* x, double* sum, int n, int threads) {
  sum_dynamic<double><<<1, threads, threads * sizeof(double)>>>(x, sum, n);
  if (const cudaError_t error = cudaGetLastError()) return error;
  return cudaDeviceSynchronize();
}

extern "C" cudaError_t run_sums_of_two_types(const int* x, int* integer, float* floating) {
  sums_of_two_types<<<1, 96>>>(x, integer, floating);
  return cudaDeviceSynchronize();
}

extern "C" cudaError_t run_through_lambda(int* out) {
  through_lambda<<<1, 64, 64 * sizeof(int)>>>(out);
  return cudaDeviceSynchronize();
}
