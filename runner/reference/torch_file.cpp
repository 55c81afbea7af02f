// SPDX-License-Identifier: Apache-2.0
#include "reference/torch_file.h"

#include <caffe2/serialize/inline_container.h>
#include <fcntl.h>
#include <unistd.h>

#include <bit>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

#include "core/error.h"

namespace pkb {
namespace {

/// Python's name of an element type.
std::string_view python_name(at::ScalarType type) {
  switch (type) {
    case at::kBFloat16:
      return "bfloat16";
    case at::kHalf:
      return "float16";
    case at::kFloat:
      return "float32";
    case at::kDouble:
      return "float64";
    case at::kFloat8_e4m3fn:
      return "float8_e4m3fn";
    case at::kInt:
      return "int32";
    case at::kLong:
      return "int64";
    case at::kByte:
      return "uint8";
    case at::kBool:
      return "bool";
    case at::kComplexFloat:
      return "complex64";
    default:
      throw Error(std::string("cannot write a tensor of ") + at::toString(type));
  }
}

/// In memory that can be written as it is: on the CPU, every element once.
at::Tensor compact(const at::Tensor& tensor) {
  const at::Tensor here = tensor.cpu();
  return here.is_non_overlapping_and_dense() ? here : here.contiguous();
}

/// Values as a pickle of protocol 2. Tensors go to `storages`, by index.
class Pickle {
 public:
  explicit Pickle(const TorchValue& root) {
    text_ = "\x80\x02";
    std::visit(*this, root);
    text_ += '.';
  }
  const std::string& text() const { return text_; }
  const std::vector<at::Tensor>& storages() const { return storages_; }

  void operator()(std::monostate) { text_ += 'N'; }
  void operator()(bool value) { text_ += value ? '\x88' : '\x89'; }
  void operator()(int64_t value) {
    if (std::in_range<int32_t>(value)) {
      text_ += 'J';
      append(static_cast<uint32_t>(value), 4);
    } else {
      text_ += "\x8a\x08";
      append(static_cast<uint64_t>(value), 8);
    }
  }
  void operator()(double value) {
    text_ += 'G';
    const auto bits = std::bit_cast<uint64_t>(value);
    for (int shift = 56; shift >= 0; shift -= 8) text_ += static_cast<char>(bits >> shift & 0xFF);
  }
  void operator()(const std::string& value) { string(value); }
  void operator()(const TorchList& list) {
    text_ += "](";
    for (const TorchValue& item : list) std::visit(*this, item);
    text_ += 'e';
  }
  void operator()(const TorchDict& dict) {
    text_ += "}(";
    for (const auto& [key, value] : dict) {
      string(key);
      std::visit(*this, value);
    }
    text_ += 'u';
  }

  /// torch._utils._rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype): its storage is bytes,
  /// so that every element type goes the same way.
  void operator()(const at::Tensor& tensor) {
    if (!tensor.defined()) {
      text_ += 'N';
      return;
    }
    const at::Tensor& stored = storages_.emplace_back(compact(tensor));
    global("torch._utils", "_rebuild_tensor_v3");
    text_ += '(';
    storage(static_cast<int64_t>(storages_.size()) - 1, static_cast<int64_t>(stored.nbytes()));
    (*this)(int64_t{0});
    tuple(stored.sizes());
    tuple(stored.strides());
    (*this)(false);
    global("collections", "OrderedDict");
    text_ += ")R";
    global("torch", python_name(stored.scalar_type()));
    text_ += "tR";
  }

 private:
  void append(uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i) text_ += static_cast<char>(value >> (8 * i) & 0xFF);
  }
  void string(std::string_view value) {
    text_ += 'X';
    append(value.size(), 4);
    text_ += value;
  }
  void global(std::string_view module, std::string_view name) {
    text_.append("c").append(module).append("\n").append(name).append("\n");
  }
  void tuple(at::IntArrayRef values) {
    text_ += '(';
    for (const int64_t value : values) (*this)(value);
    text_ += 't';
  }
  void storage(int64_t index, int64_t bytes) {
    text_ += '(';
    string("storage");
    global("torch.storage", "UntypedStorage");
    string(std::to_string(index));
    string("cpu");
    (*this)(bytes);
    text_ += "tQ";
  }

  std::string text_;
  std::vector<at::Tensor> storages_;
};

/// Takes everything and remembers the first error: the container's writer would end the program when told in between.
class Sink {
 public:
  explicit Sink(const std::filesystem::path& file)
      : descriptor_(::open(file.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)) {
    if (descriptor_ < 0) error_ = errno;
  }
  ~Sink() { finish(); }
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  std::size_t take(const void* data, std::size_t bytes) {
    const auto* next = static_cast<const char*>(data);
    for (std::size_t left = bytes; left > 0 && error_ == 0;) {
      const ssize_t written = ::write(descriptor_, next, left);
      if (written < 0) {
        if (errno != EINTR) error_ = errno;
        continue;
      }
      next += written;
      left -= static_cast<std::size_t>(written);
    }
    return bytes;
  }
  /// Zero, or the first error's number.
  int finish() {
    if (descriptor_ >= 0 && ::close(descriptor_) != 0 && error_ == 0) error_ = errno;
    descriptor_ = -1;
    return error_;
  }

 private:
  int descriptor_ = -1;
  int error_ = 0;
};

void write_container(Sink& sink, const Pickle& pickle) {
  static constexpr std::string_view kByteOrder = std::endian::native == std::endian::little ? "little" : "big";
  caffe2::serialize::PyTorchStreamWriter writer(
      [&sink](const void* data, std::size_t bytes) { return sink.take(data, bytes); });
  writer.writeRecord("data.pkl", pickle.text().data(), pickle.text().size());
  writer.writeRecord("byteorder", kByteOrder.data(), kByteOrder.size());
  for (std::size_t i = 0; i < pickle.storages().size(); ++i) {
    const at::Tensor& tensor = pickle.storages()[i];
    writer.writeRecord("data/" + std::to_string(i), tensor.const_data_ptr(), tensor.nbytes());
  }
  writer.writeEndOfFile();
}

}  // namespace

void write_torch_file(const std::filesystem::path& file, const TorchValue& root) {
  const Pickle pickle(root);
  const std::filesystem::path unfinished = file.string() + ".tmp";
  Sink sink(unfinished);
  write_container(sink, pickle);
  int error = sink.finish();
  if (error == 0 && ::rename(unfinished.c_str(), file.c_str()) != 0) error = errno;
  if (error == 0) return;
  ::unlink(unfinished.c_str());
  throw SystemError("cannot write " + file.string(), error);
}

}  // namespace pkb
