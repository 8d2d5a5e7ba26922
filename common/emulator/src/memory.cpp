// Device memory: allocation, copies, and its protection from host code in the ASan build.
#include <sys/mman.h>
#include <unistd.h>
#if __has_include(<link.h>)
#include <link.h>
#endif

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "cuda_emu/read_only.hpp"
#include "report.hpp"
#include "runtime.hpp"
#include "sanitizers.hpp"
#include "settings.hpp"

namespace cuda_emu {
namespace {

constexpr std::size_t kAlignment = 256;
// The word that fills the guards round an allocation in builds without ASan. It is a signalling NaN: it shows in a sum,
// and arithmetic on it changes its bits.
constexpr std::uint32_t kGuard = 0x7fa9c00f;
constexpr std::size_t kSmall = 16 << 20;  // smaller allocations do not check the machine's free memory

struct MemoryInfo {
  std::size_t free;
  std::size_t total;
};

// Returns a number from a file of /proc or /sys, after `key` if not null; `fallback` if it cannot be read.
std::size_t read_number(const char* path, const char* key, std::size_t fallback) {
  FILE* file = fopen(path, "r");
  if (file == nullptr) return fallback;
  char line[256];
  std::size_t result = fallback;
  while (fgets(line, sizeof line, file) != nullptr) {
    if (strncmp(line, key, strlen(key)) != 0) continue;
    unsigned long long number;
    if (sscanf(line + strlen(key), "%llu", &number) == 1) result = number;
    break;
  }
  fclose(file);
  return result;
}

// Returns the free memory of the machine, or of the process's control group if less. An eighth is reserved for the
// host's own data.
MemoryInfo memory_info() {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t total = static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * page;
  std::size_t free = read_number("/proc/meminfo", "MemAvailable:", total >> 10) << 10;
  const std::size_t limit = read_number("/sys/fs/cgroup/memory.max", "",
                                        read_number("/sys/fs/cgroup/memory/memory.limit_in_bytes", "", total));
  const std::size_t used = read_number("/sys/fs/cgroup/memory.current", "",
                                       read_number("/sys/fs/cgroup/memory/memory.usage_in_bytes", "", 0));
  if (limit < total) {
    total = limit;
    free = std::min(free, used < limit ? limit - used : 0);
  }
  return {free / 8 * 7, total};
}

std::size_t page_size() {
  static const auto size = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return size;
}

struct Allocation {
  enum State { unwatched, read_only, written };

  std::size_t size = 0;
  bool managed = false;  // accessible to host code, too
  std::atomic<State> state{unwatched};
  FirstWrite first_write{nullptr, ""};
};

constexpr std::size_t multiple_of(std::size_t unit, std::size_t size) { return (size + unit - 1) / unit * unit; }

// Without ASan an allocation has pages of its own, followed by an inaccessible page. It ends as close to the end of its
// last page as its alignment allows. One guard is before it, at least a page; the other fills its last page.
struct Span {
  char *begin, *end;
  std::size_t size() const { return static_cast<std::size_t>(end - begin); }
};
Span pages_of(char* allocation, std::size_t size) {
  const std::size_t into_page = reinterpret_cast<std::uintptr_t>(allocation) % page_size();
  return {allocation - into_page, allocation - into_page + multiple_of(page_size(), into_page + size)};
}
std::array<Span, 2> guards(char* allocation, std::size_t size) {
  const Span pages = pages_of(allocation, size);
  return {{{pages.begin - page_size(), allocation}, {allocation + size, pages.end}}};
}

// Returns the bytes that an unwritten guard holds.
const char* intact(const Span& guard) {
  static const std::vector<std::uint32_t> words(2 * page_size() / sizeof kGuard + 1, kGuard);
  return reinterpret_cast<const char*>(words.data()) + reinterpret_cast<std::uintptr_t>(guard.begin) % sizeof kGuard;
}

void fill(const Span& guard) { memcpy(guard.begin, intact(guard), guard.size()); }

// Allocates memory with guards round it; returns null if there is none.
char* map_with_guards(std::size_t size) {
  const std::size_t accessible = page_size() + multiple_of(page_size(), size), whole = accessible + page_size();
  void* mapping = mmap(nullptr, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) return nullptr;
  char* end = static_cast<char*>(mapping) + accessible;
  mprotect(end, page_size(), PROT_NONE);
  char* allocation = end - multiple_of(kAlignment, size);
  for (const Span& guard : guards(allocation, size)) fill(guard);
  return allocation;
}

void unmap_with_guards(char* allocation, std::size_t size) {
  const Span pages = pages_of(allocation, size);
  munmap(pages.begin - page_size(), page_size() + pages.size() + page_size());
}

int protect(char* allocation, std::size_t size, int protection) {
  const Span pages = pages_of(allocation, size);
  return mprotect(pages.begin, pages.size(), protection);
}

// Makes the allocation writable again and records the writing thread. Called in a signal handler, perhaps on several OS
// threads at once.
void record_write(char* begin, Allocation& allocation, const void* address) {
  Allocation::State state = Allocation::read_only;
  if (!allocation.state.compare_exchange_strong(state, Allocation::written)) return;
  allocation.first_write.address = address;
  describe_current_thread(allocation.first_write.thread, sizeof allocation.first_write.thread);
  protect(begin, allocation.size, PROT_READ | PROT_WRITE);
}

// The allocations, keyed by complemented address. A leak checker searches memory for pointers; with plain addresses as
// keys it would consider every allocation in use.
class Allocations {
 public:
  void add(void* pointer, std::size_t size, bool managed) {
    Allocation& allocation = all_[key(pointer)];
    allocation.size = size;
    allocation.managed = managed;
  }

  bool remove(void* pointer) {
    const auto found = all_.find(key(pointer));
    if (found == all_.end()) return false;
    const std::size_t size = found->second.size;
    all_.erase(found);
    if (kAsan) {
      unpoison(pointer, size);
      free(pointer);
    } else {
      unmap_with_guards(static_cast<char*>(pointer), size);
    }
    return true;
  }

  // Returns the allocation that contains the address, and its start; null if there is none.
  std::pair<char*, Allocation*> find(const void* address) {
    const auto found = all_.lower_bound(key(address));
    if (found == all_.end()) return {};
    char* begin = pointer(found->first);
    if (static_cast<const char*>(address) >= begin + found->second.size) return {};
    return {begin, &found->second};
  }

  // Returns true if the address is in an allocation or at most a page away from one.
  bool beside(const void* address) {
    const char* p = static_cast<const char*>(address);
    const auto found = all_.lower_bound(key(p + page_size()));
    return found != all_.end() && p <= pointer(found->first) + found->second.size + page_size();
  }

  // Returns the allocation (start, size) that owns the page of the address; pages of its guards count.
  std::pair<char*, std::size_t> of_page(const void* address) const {
    const char* p = static_cast<const char*>(address);
    const char* page = p - reinterpret_cast<std::uintptr_t>(p) % page_size();
    const auto found = all_.lower_bound(key(page + 2 * page_size() - 1));
    if (found == all_.end()) return {};
    char* begin = pointer(found->first);
    if (page >= pages_of(begin, found->second.size).end) return {};
    return {begin, found->second.size};
  }

  template <class Action>
  void for_each(Action action) const {
    for (const auto& [complement, allocation] : all_) action(pointer(complement), allocation.size);
  }

  // Visits the allocations that host code must not touch.
  template <class Action>
  void for_each_on_device(Action action) const {
    for (const auto& [complement, allocation] : all_) {
      if (!allocation.managed) action(pointer(complement), allocation.size);
    }
  }

 private:
  static std::uintptr_t key(const void* address) { return ~reinterpret_cast<std::uintptr_t>(address); }
  static char* pointer(std::uintptr_t complement) { return reinterpret_cast<char*>(~complement); }

  std::map<std::uintptr_t, Allocation> all_;
};

Allocations& allocations() {
  static Allocations& instance = *new Allocations;
  return instance;
}

enum class Access { read, write };

// Makes one side of a copy accessible while the object lives.
class Range {
 public:
  Range(const void* address, std::size_t size, Access access) {
    const auto [begin, allocation] = allocations().find(address);
    if (begin == nullptr) return;
    on_device_ = !allocation->managed;
    const std::size_t offset = static_cast<std::size_t>(static_cast<const char*>(address) - begin);
    fits_ = size <= allocation->size - offset;
    if (!fits_) return;
    if (access == Access::write) record_write(begin, *allocation, address);
    if (allocation->managed) return;
    // ASan protects memory in units of 8 bytes.
    begin_ = begin + offset / 8 * 8;
    size_ = std::min((offset + size + 7) / 8 * 8, allocation->size) - offset / 8 * 8;
    unpoison(begin_, size_);
  }
  ~Range() { poison(begin_, size_); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;

  bool on_device() const { return on_device_; }
  bool fits() const { return fits_; }

 private:
  bool on_device_ = false;
  bool fits_ = true;
  char* begin_ = nullptr;
  std::size_t size_ = 0;
};

bool names_host_source(cudaMemcpyKind kind) { return kind == cudaMemcpyHostToHost || kind == cudaMemcpyHostToDevice; }
bool names_host_target(cudaMemcpyKind kind) { return kind == cudaMemcpyHostToHost || kind == cudaMemcpyDeviceToHost; }

// Pinned host memory, which kernels may use: start address -> size.
std::map<const char*, std::size_t>& pinned() {
  static auto& instance = *new std::map<const char*, std::size_t>;
  return instance;
}

std::map<const char*, std::size_t>::iterator find_pinned(const void* address) {
  const char* p = static_cast<const char*>(address);
  auto found = pinned().upper_bound(p);
  if (found == pinned().begin()) return pinned().end();
  --found;
  return p <= found->first + found->second ? found : pinned().end();
}

// Returns true if the address is in the program's static storage, where __device__ variables are. Host variables with
// static storage cannot be told apart from them.
bool is_static_storage(const void* address) {
#if __has_include(<link.h>)
  struct Search {
    std::uintptr_t address;
    bool found;
  } search{reinterpret_cast<std::uintptr_t>(address), false};
  dl_iterate_phdr(
      [](dl_phdr_info* module, std::size_t, void* data) {
        Search& s = *static_cast<Search*>(data);
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const auto& segment = module->dlpi_phdr[i];
          const std::uintptr_t begin = module->dlpi_addr + segment.p_vaddr;
          if (segment.p_type == PT_LOAD && s.address >= begin && s.address <= begin + segment.p_memsz) s.found = true;
        }
        return s.found ? 1 : 0;
      },
      &search);
  return search.found;
#else
  (void)address;
  return true;
#endif
}

// Returns true if the address is in or next to an allocation, in pinned memory, or in static storage.
bool is_device_address(const void* address) {
  return allocations().beside(address) || find_pinned(address) != pinned().end() || is_static_storage(address);
}

// A __device__ variable, and its content after the last launch or copy.
struct Image {
  const char* variable;
  std::size_t size;
  const char* name;
  std::vector<char> saved;
};

std::vector<Image>& images() {
  static auto& instance = *new std::vector<Image>;
  return instance;
}

cudaError_t copy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  std::lock_guard<std::mutex> lock(device_mutex());
  if (launch_failure() != cudaSuccess) return launch_failure();
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return record(cudaErrorInvalidMemcpyDirection);
  if (size == 0) return cudaSuccess;
  if (to == nullptr || from == nullptr) return record(cudaErrorInvalidValue);
  const Range target(to, size, Access::write);
  const Range source(from, size, Access::read);
  if (!target.fits() || !source.fits()) {
    report_refusal({"launch", std::string("a copy of ") + std::to_string(size) + " bytes reaches past the end of the " +
                                  (target.fits() ? "source" : "destination")});
    return record(cudaErrorInvalidValue);
  }
  const auto on_device = [&](bool known, const void* address) { return known || kAsan || is_device_address(address); };
  const bool any = kind == cudaMemcpyDefault;
  const bool right_source =
      any || (names_host_source(kind) ? !source.on_device() : on_device(source.on_device(), from));
  const bool right_target = any || (names_host_target(kind) ? !target.on_device() : on_device(target.on_device(), to));
  if (!right_source || !right_target) {
    report_refusal({"launch", std::string("cudaMemcpy: its kind does not fit the ") +
                                  (right_source ? "destination" : "source") + ", which is memory of the " +
                                  ((right_source ? target : source).on_device() ? "device" : "host")});
    return record(cudaErrorInvalidValue);
  }
  memmove(to, from, size);
  if (!target.on_device() && !images().empty()) save_images();
  return cudaSuccess;
}

}  // namespace

DeviceImage::DeviceImage(const volatile void* variable, std::size_t size, const char* name) {
  constexpr std::size_t kLargest = 64 << 10;  // every launch compares all of them
  const char* bytes = static_cast<const char*>(const_cast<const void*>(variable));
  if (!kAsan && size <= kLargest) images().push_back({bytes, size, name, std::vector<char>(bytes, bytes + size)});
}

void save_images() {
  for (Image& image : images()) memcpy(image.saved.data(), image.variable, image.size);
}

const char* image_written_by_host() {
  for (const Image& image : images()) {
    if (memcmp(image.saved.data(), image.variable, image.size) != 0) return image.name;
  }
  return nullptr;
}

std::string guard_problem() {
  std::string problem;
  if (kAsan) return problem;
  allocations().for_each([&](char* allocation, std::size_t size) {
    for (const Span& guard : guards(allocation, size)) {
      if (memcmp(guard.begin, intact(guard), guard.size()) == 0) continue;
      const char* at = std::mismatch(guard.begin, guard.end, intact(guard)).first;
      problem = "device memory was written outside an allocation of " + std::to_string(size) + " bytes, " +
                (at < allocation ? std::to_string(allocation - at) + " bytes before its start"
                                 : "at byte " + std::to_string(at - allocation));
      fill(guard);
    }
  });
  return problem;
}

bool is_host_pointer(const void* address) {
  if (kAsan || reinterpret_cast<std::uintptr_t>(address) < (1 << 20)) return false;  // null, or null plus an offset
  std::lock_guard<std::mutex> lock(device_mutex());
  return !is_device_address(address);
}

std::pair<char*, std::size_t> allocation_beside(const void* address) { return allocations().of_page(address); }

bool is_watched_write(void* address) {
  const auto [begin, allocation] = allocations().find(address);
  if (begin == nullptr || allocation->state == Allocation::unwatched) return false;
  record_write(begin, *allocation, address);
  return true;
}

bool watch_writes(void* memory) {
  std::lock_guard<std::mutex> lock(device_mutex());
  const auto [begin, allocation] = allocations().find(memory);
  if (kAsan || begin == nullptr) return false;
  if (protect(begin, allocation->size, PROT_READ) != 0) return false;
  allocation->first_write = {nullptr, ""};
  allocation->state = Allocation::read_only;
  return true;
}

FirstWrite stop_watching_writes(void* memory) {
  std::lock_guard<std::mutex> lock(device_mutex());
  const auto [begin, allocation] = allocations().find(memory);
  if (begin == nullptr || allocation->state == Allocation::unwatched) return {nullptr, ""};
  if (allocation->state == Allocation::read_only) protect(begin, allocation->size, PROT_READ | PROT_WRITE);
  allocation->state = Allocation::unwatched;
  return allocation->first_write;
}

// Launches and copies leave device memory inaccessible.
DeviceMemoryAccess::DeviceMemoryAccess() {
  if (kAsan) allocations().for_each_on_device([](char* pointer, std::size_t size) { unpoison(pointer, size); });
}

DeviceMemoryAccess::~DeviceMemoryAccess() {
  if (kAsan) allocations().for_each_on_device([](char* pointer, std::size_t size) { poison(pointer, size); });
}

cudaError_t copy_to_symbol(void* symbol, std::size_t symbol_size, const void* from, std::size_t size,
                           std::size_t offset, cudaMemcpyKind kind) {
  if (offset > symbol_size || size > symbol_size - offset) return record(cudaErrorInvalidValue);
  if (kind != cudaMemcpyHostToDevice && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    return record(cudaErrorInvalidMemcpyDirection);
  }
  return copy(static_cast<char*>(symbol) + offset, from, size, kind);
}

cudaError_t copy_from_symbol(void* to, const void* symbol, std::size_t symbol_size, std::size_t size,
                             std::size_t offset, cudaMemcpyKind kind) {
  if (offset > symbol_size || size > symbol_size - offset) return record(cudaErrorInvalidValue);
  if (kind != cudaMemcpyDeviceToHost && kind != cudaMemcpyDeviceToDevice && kind != cudaMemcpyDefault) {
    return record(cudaErrorInvalidMemcpyDirection);
  }
  return copy(to, static_cast<const char*>(symbol) + offset, size, kind);
}

}  // namespace cuda_emu

using cuda_emu::record;

namespace {

cudaError_t allocate(void** pointer, std::size_t size, bool managed) {
  if (pointer == nullptr) return record(cudaErrorInvalidValue);
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  *pointer = nullptr;
  if (cuda_emu::launch_failure() != cudaSuccess) return cuda_emu::launch_failure();
  if (size == 0) return managed ? record(cudaErrorInvalidValue) : cudaSuccess;
  if (size > cuda_emu::kSmall && size > cuda_emu::memory_info().free) return record(cudaErrorMemoryAllocation);
  void* memory = nullptr;
  if (cuda_emu::kAsan) {
    if (posix_memalign(&memory, cuda_emu::kAlignment, size) != 0) memory = nullptr;
  } else {
    memory = cuda_emu::map_with_guards(size);
  }
  if (memory == nullptr) return record(cudaErrorMemoryAllocation);
  if (!cuda_emu::settings().launches_only) memset(memory, cuda_emu::settings().fill, size);
  cuda_emu::allocations().add(memory, size, managed);
  if (!managed) cuda_emu::poison(memory, size);
  *pointer = memory;
  return cudaSuccess;
}

}  // namespace

cudaError_t cudaMalloc(void** pointer, std::size_t size) { return allocate(pointer, size, false); }

cudaError_t cudaMallocManaged(void** pointer, std::size_t size, unsigned flags) {
  if (flags != cudaMemAttachGlobal && flags != cudaMemAttachHost) return record(cudaErrorInvalidValue);
  return allocate(pointer, size, true);
}

cudaError_t cudaMallocPitch(void** pointer, std::size_t* pitch, std::size_t width, std::size_t height) {
  if (pitch == nullptr) return record(cudaErrorInvalidValue);
  *pitch = cuda_emu::multiple_of(512, width);
  return cudaMalloc(pointer, *pitch * height);
}

cudaError_t cudaMalloc3D(cudaPitchedPtr* volume, cudaExtent extent) {
  if (volume == nullptr) return record(cudaErrorInvalidValue);
  *volume = {nullptr, 0, extent.width, extent.height};
  return cudaMallocPitch(&volume->ptr, &volume->pitch, extent.width, extent.height * extent.depth);
}

cudaError_t cudaMallocAsync(void** pointer, std::size_t size, cudaStream_t) { return cudaMalloc(pointer, size); }
cudaError_t cudaFreeAsync(void* pointer, cudaStream_t) { return cudaFree(pointer); }

cudaError_t cudaFree(void* pointer) {
  if (pointer == nullptr) return record(cudaSuccess);
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  if (!cuda_emu::allocations().remove(pointer)) return record(cudaErrorInvalidValue);
  return record(cudaSuccess);
}

cudaError_t cudaMallocHost(void** pointer, std::size_t size, unsigned) {
  if (pointer == nullptr) return record(cudaErrorInvalidValue);
  *pointer = nullptr;
  if (size == 0) return record(cudaSuccess);
  if (posix_memalign(pointer, 4096, size) != 0) return record(cudaErrorMemoryAllocation);
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  cuda_emu::pinned()[static_cast<const char*>(*pointer)] = size;
  return record(cudaSuccess);
}

cudaError_t cudaHostAlloc(void** pointer, std::size_t size, unsigned flags) {
  return cudaMallocHost(pointer, size, flags);
}

cudaError_t cudaHostRegister(void* pointer, std::size_t size, unsigned) {
  if (pointer == nullptr || size == 0) return record(cudaErrorInvalidValue);
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  const bool is_new = cuda_emu::pinned().emplace(static_cast<const char*>(pointer), size).second;
  return record(is_new ? cudaSuccess : cudaErrorHostMemoryAlreadyRegistered);
}

cudaError_t cudaHostUnregister(void* pointer) {
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  const bool was_known = cuda_emu::pinned().erase(static_cast<const char*>(pointer)) != 0;
  return record(was_known ? cudaSuccess : cudaErrorHostMemoryNotRegistered);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return record(cudaErrorInvalidValue);
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  void* address = const_cast<void*>(pointer);
  const auto [begin, allocation] = cuda_emu::allocations().find(pointer);
  if (begin != nullptr) {
    const bool managed = allocation->managed;
    *attributes = {managed ? cudaMemoryTypeManaged : cudaMemoryTypeDevice, 0, address, managed ? address : nullptr};
  } else if (cuda_emu::find_pinned(pointer) != cuda_emu::pinned().end()) {
    *attributes = {cudaMemoryTypeHost, 0, address, address};
  } else {
    *attributes = {cudaMemoryTypeUnregistered, cudaInvalidDeviceId, nullptr, address};
  }
  return record(cudaSuccess);
}

cudaError_t cudaHostGetDevicePointer(void** device, void* host, unsigned flags) {
  if (device == nullptr || host == nullptr || flags != 0) return record(cudaErrorInvalidValue);
  *device = host;
  return record(cudaSuccess);
}

cudaError_t cudaFreeHost(void* pointer) {
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  if (pointer != nullptr && cuda_emu::pinned().erase(static_cast<const char*>(pointer)) == 0) {
    return record(cudaErrorInvalidValue);
  }
  free(pointer);
  return record(cudaSuccess);
}

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind kind) {
  return cuda_emu::copy(to, from, size, kind);
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind kind, cudaStream_t) {
  return cuda_emu::copy(to, from, size, kind);
}

cudaError_t cudaMemset(void* pointer, int value, std::size_t size) {
  std::lock_guard<std::mutex> lock(cuda_emu::device_mutex());
  if (cuda_emu::launch_failure() != cudaSuccess) return cuda_emu::launch_failure();
  if (size == 0) return cudaSuccess;
  if (pointer == nullptr) return record(cudaErrorInvalidValue);
  const cuda_emu::Range target(pointer, size, cuda_emu::Access::write);
  if (!target.fits()) return record(cudaErrorInvalidValue);
  memset(pointer, value, size);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* pointer, int value, std::size_t size, cudaStream_t) {
  return cudaMemset(pointer, value, size);
}

// Copies row by row, so each row is checked like a copy of its own.
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width,
                         std::size_t height, cudaMemcpyKind kind) {
  if (width > to_pitch || width > from_pitch) return record(cudaErrorInvalidValue);
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemcpy(static_cast<char*>(to) + row * to_pitch,
                                         static_cast<const char*>(from) + row * from_pitch, width, kind);
    if (error != cudaSuccess) return error;
  }
  return record(cudaSuccess);
}

cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind kind, cudaStream_t) {
  return cudaMemcpy2D(to, to_pitch, from, from_pitch, width, height, kind);
}

cudaError_t cudaMemcpy3D(const cudaMemcpy3DParms* copy) {
  if (copy == nullptr) return record(cudaErrorInvalidValue);
  const auto rows = [&](const cudaPitchedPtr& volume, const cudaPos& at, std::size_t slice) {
    return static_cast<char*>(volume.ptr) + ((at.z + slice) * volume.ysize + at.y) * volume.pitch + at.x;
  };
  const cudaExtent& box = copy->extent;
  const auto fits = [&](const cudaPitchedPtr& volume, const cudaPos& at) {
    return at.x + box.width <= volume.pitch && at.y + box.height <= volume.ysize;
  };
  if (!fits(copy->srcPtr, copy->srcPos) || !fits(copy->dstPtr, copy->dstPos)) return record(cudaErrorInvalidValue);
  for (std::size_t slice = 0; slice < box.depth; ++slice) {
    const cudaError_t error =
        cudaMemcpy2D(rows(copy->dstPtr, copy->dstPos, slice), copy->dstPtr.pitch,
                     rows(copy->srcPtr, copy->srcPos, slice), copy->srcPtr.pitch, box.width, box.height, copy->kind);
    if (error != cudaSuccess) return error;
  }
  return record(cudaSuccess);
}

cudaError_t cudaMemcpy3DAsync(const cudaMemcpy3DParms* copy, cudaStream_t) { return cudaMemcpy3D(copy); }

cudaError_t cudaMemset2D(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height) {
  if (width > pitch) return record(cudaErrorInvalidPitchValue);
  for (std::size_t row = 0; row < height; ++row) {
    const cudaError_t error = cudaMemset(static_cast<char*>(pointer) + row * pitch, value, width);
    if (error != cudaSuccess) return error;
  }
  return record(cudaSuccess);
}

cudaError_t cudaMemset2DAsync(void* pointer, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t) {
  return cudaMemset2D(pointer, pitch, value, width, height);
}

cudaError_t cudaMemPrefetchAsync(const void* pointer, std::size_t, int device, cudaStream_t) {
  return record(pointer != nullptr && device >= cudaCpuDeviceId && device <= 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemAdvise(const void* pointer, std::size_t, cudaMemoryAdvise, int device) {
  return record(pointer != nullptr && device >= cudaCpuDeviceId && device <= 0 ? cudaSuccess : cudaErrorInvalidValue);
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const cuda_emu::MemoryInfo info = cuda_emu::memory_info();
  *free = info.free;
  *total = info.total;
  return record(cudaSuccess);
}
