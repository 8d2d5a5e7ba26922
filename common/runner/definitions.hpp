// Definitions of the functions that cuda_helpers.cuh, problem.hpp and parallel.hpp declare. To save compile time they
// are compiled once per program, not in every step. The file with main() includes this one.
#pragma once
#include "cuda_helpers.cuh"
#include "problem.hpp"
#include "runner/parallel.hpp"

#include <atomic>
#include <cctype>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <map>
#include <mutex>
#include <thread>

template class std::vector<ladder::Size>;

namespace ladder {

CudaError::CudaError(cudaError_t error, const char* call, const char* file, int line)
    : std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + call + ": " +
                         cudaGetErrorString(error) + " (" + cudaGetErrorName(error) + ")"),
      code(error) {}

Size::Size() = default;
Size::Size(std::initializer_list<std::size_t> dims_, std::initializer_list<float> scalars_)
    : dims(dims_), scalars(scalars_) {}
Size::Size(const Size&) = default;
Size::Size(Size&&) noexcept = default;
Size& Size::operator=(const Size&) = default;
Size& Size::operator=(Size&&) noexcept = default;
Size::~Size() = default;

void require_grid_y(const char* dim, std::size_t length, std::size_t tile) {
  if (length <= kMaxGridY * tile) return;
  throw UsageError("--" + std::string(dim) + ": this step takes at most " + std::to_string(kMaxGridY * tile) + ", " +
                   std::to_string(kMaxGridY) + " blocks of " + std::to_string(tile) + " in gridDim.y");
}

DeviceBuffer<unsigned char>& scratch_buffer(const char* name) {
  static std::map<std::string, DeviceBuffer<unsigned char>> all;
  return all[name];
}

std::vector<Step>& steps() {
  static std::vector<Step> all;
  return all;
}

Registration::Registration(std::unique_ptr<Problem> problem, const char* file, const char* needs) {
  const char* slash = std::strrchr(file, '/');
  std::string name = slash ? slash + 1 : file;
  name.resize(name.rfind('.'));
  for (char& c : name) c = std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
  const std::string kernel = problem->kernel();
  if (name != kernel && name.compare(0, kernel.size() + 1, kernel + "_") != 0) name = kernel + "_" + name;
  std::string id = name.substr(std::min(name.size(), kernel.size() + 1));
  steps().push_back({std::move(name), std::move(id), std::move(problem), needs});
}

CandidateRun& candidate_run() {
  static CandidateRun run;
  return run;
}

bool is_chosen(const char* candidate) {
  const char* name = std::getenv("LADDER_CHOICE");
  return name == nullptr || *name == 0 || std::strcmp(name, candidate) == 0;
}

bool may_time() {
#ifdef CUDA_EMU
  return false;
#else
  static const bool is_watched = [] {
    // Nsight's tools and compute-sanitizer set these for the programs they start.
    for (const char* name :
         {"CUDA_INJECTION64_PATH", "NV_NSIGHT_INJECTION_TRANSPORT_TYPE", "NV_SANITIZER_INJECTION_PORT_BASE"}) {
      if (std::getenv(name) != nullptr) return true;
    }
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);) {
      if (line.rfind("TracerPid:", 0) == 0) return std::stoi(line.substr(std::strlen("TracerPid:"))) != 0;
    }
    return false;
  }();
  if (is_watched) return false;
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  const cudaError_t error = cudaStreamIsCapturing(cudaStreamLegacy, &status);
  cudaGetLastError();
  return error == cudaSuccess && status == cudaStreamCaptureStatusNone;
#endif
}

std::vector<Size> awkward_lengths() {
  std::vector<Size> sizes;
  for (std::size_t n = 0; n <= 33; ++n) sizes.push_back({n});
  for (std::size_t n : {127, 128, 129, 255, 256, 257, 511, 513, 1009, 1023, 1024, 1025, 4093, 8191, 65537})
    sizes.push_back({n});
  sizes.push_back({(1 << 20) + 13});
  return sizes;
}

double Problem::bytes(const Size& size) const {
  double sum = 0;
  for (const Buffer& b : buffers(size)) {
    sum += (b.role == Role::inout ? 2.0 : 1.0) * static_cast<double>(b.count) * bytes_of(b.type);
  }
  return sum;
}

std::vector<Size> Problem::accepted(const std::vector<Size>& sizes) const {
  std::vector<Size> some;
  for (const Size& size : sizes) {
    try {
      buffers(size);
      some.push_back(size);
    } catch (const UsageError&) {
    }
  }
  return some;
}

Size Problem::random_size(Draw& draw, double bytes) const {
  Size size;
  size.dims.resize(dims().size());
  for (const Scalar& s : scalars()) size.scalars.push_back(s.default_value);
  return draw_lengths(draw, bytes, size);
}

Size Problem::draw_lengths(Draw& draw, double most_bytes, Size size) const {
  const std::vector<Dim> all = dims();
  std::vector<std::size_t> missing;
  for (std::size_t d = 0; d < all.size(); ++d) {
    if (all[d].gpu_default == 0 || size.dims[d] > 0) continue;
    missing.insert(missing.begin() + static_cast<std::ptrdiff_t>(draw.below(missing.size() + 1)), d);
    size.dims[d] = 1;
  }
  const auto fits = [&](std::size_t d, std::size_t length) {
    Size one = size;
    one.dims[d] = length;
    try {
      return bytes(one) <= most_bytes && flops(one) <= kMostRandomFlops && !buffers(one).empty();
    } catch (const UsageError&) {
      return false;
    }
  };
  for (const std::size_t d : missing) {
    std::size_t most = 1;
    for (std::size_t above = all[d].max + 1; above - most > 1;) {
      const std::size_t middle = most + (above - most) / 2;
      (fits(d, middle) ? most : above) = middle;
    }
    // The last dimension uses the traffic that the others leave.
    size.dims[d] = d == missing.back() ? draw.near(most) : draw.length(most);
  }
  return size;
}

void parallel_pieces(std::size_t n, std::size_t grain,
                     void (*piece)(const void* body, std::size_t begin, std::size_t end), const void* body) {
  const std::size_t pieces = (n + grain - 1) / grain;
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto work = [&] {
    try {
      for (std::size_t p; (p = next.fetch_add(1)) < pieces;) {
        piece(body, p * grain, std::min(n, (p + 1) * grain));
      }
    } catch (...) {
      std::lock_guard<std::mutex> lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> helpers;
  const std::size_t threads = std::min<std::size_t>(pieces, std::max(1u, std::thread::hardware_concurrency()));
  for (std::size_t t = 1; t < threads; ++t) helpers.emplace_back(work);
  work();
  for (std::thread& t : helpers) t.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace ladder
