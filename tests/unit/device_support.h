// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "device/device.h"

namespace pkb::test {

inline constexpr Dtype kAllDtypes[] = {Dtype::bf16, Dtype::fp16, Dtype::fp32, Dtype::fp64,    Dtype::fp8_e4m3,
                                       Dtype::i32,  Dtype::i64,  Dtype::u8,   Dtype::boolean, Dtype::complex64};

/// A buffer in a device's memory that can be read back.
template <class T>
class Buffer {
 public:
  Buffer(Device& device, std::size_t count)
      : device_(device), count_(count), data_(static_cast<T*>(device.allocate(count * sizeof(T)))) {}
  Buffer(Device& device, const std::vector<T>& values) : Buffer(device, values.size()) { write(values); }
  ~Buffer() { device_.free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  T* data() const { return data_; }
  void write(const std::vector<T>& values) { transfer(data_, values.data()); }
  std::vector<T> read() const {
    std::vector<T> values(count_);
    transfer(values.data(), data_);
    return values;
  }

 private:
  void transfer(void* to, const void* from) const {
    device_.copy(to, from, count_ * sizeof(T), Stream{});
    device_.synchronize();
  }

  Device& device_;
  std::size_t count_;
  T* data_;
};

/// A draw as raw bytes.
inline std::vector<unsigned char> drawn_bytes(Device& device, Dtype dtype, int64_t elements, Device::Slice slice,
                                              Device::DrawKey key, Device::Distribution distribution, double a,
                                              double b) {
  Buffer<unsigned char> buffer(device, static_cast<std::size_t>(elements) * size_of(dtype));
  device.draw(buffer.data(), dtype, elements, slice, key, distribution, a, b, Stream{});
  device.synchronize();
  return buffer.read();
}

/// A whole tensor drawn, as elements of type T.
template <class T>
std::vector<T> drawn(Device& device, Dtype dtype, int64_t elements, Device::DrawKey key,
                     Device::Distribution distribution, double a, double b) {
  const std::vector<unsigned char> bytes =
      drawn_bytes(device, dtype, elements, {0, elements, elements}, key, distribution, a, b);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace pkb::test
