// Checks a launch as CUDA does, and distributes its blocks over OS threads.
#include "cuda_emu/launch.hpp"

#include <algorithm>
#include <cstdio>
#include <string>
#include <thread>

#include "report.hpp"
#include "runtime.hpp"
#include "scheduler.hpp"
#include "settings.hpp"

namespace cuda_emu {
namespace {

constexpr unsigned kMinHelpers = 15;  // a launch may get this many, even if the device holds fewer blocks at once

// The OS threads that help the launching one. They are started when first needed, and never joined.
class Pool {
 public:
  // Runs the launch on the calling thread and on launch.helpers helpers.
  void run(Launch& launch, Worker& own) {
    const Interrupts waiting(Interrupts::wait);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (unsigned i = 0; i < launch.helpers; ++i) wake(launch, i);
    }
    own.run(launch);
    wait(launch.config.cooperative);
  }

  void add_helper(Launch& launch) {
    std::lock_guard<std::mutex> lock(mutex_);
    if (launch.helpers < most_helpers(launch)) wake(launch, launch.helpers++);
  }

 private:
  struct Helper {
    std::thread thread;
    std::condition_variable wake;
    Launch* launch = nullptr;
    Worker worker;
  };

  void wake(Launch& launch, unsigned number) {
    if (helpers_.size() == number) {
      helpers_.push_back(std::make_unique<Helper>());
      Helper& helper = *helpers_.back();
      helper.thread = std::thread([this, &helper] { serve(helper); });
    }
    helpers_[number]->launch = &launch;
    helpers_[number]->wake.notify_one();
    ++pending_;
  }

  // A small launch is often done before all helpers are awake; the others are then cancelled. Not in a cooperative
  // launch: its blocks wait for each other, so every helper must run one.
  void wait(bool cooperative) {
    std::unique_lock<std::mutex> lock(mutex_);
    if (!cooperative) {
      for (const auto& helper : helpers_) helper->launch = nullptr;
      pending_ = 0;
    }
    idle_.wait(lock, [&] { return pending_ == 0 && active_ == 0; });
  }

  [[noreturn]] void serve(Helper& helper) {
    use_signal_stack();
    watch_time();
    const Interrupts waiting(Interrupts::wait);
    std::unique_lock<std::mutex> lock(mutex_);
    for (;;) {
      helper.wake.wait(lock, [&] { return helper.launch != nullptr; });
      Launch& launch = *helper.launch;
      helper.launch = nullptr;
      --pending_;
      ++active_;
      lock.unlock();
      helper.worker.run(launch);
      lock.lock();
      if (--active_ == 0 && pending_ == 0) idle_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable idle_;
  std::vector<std::unique_ptr<Helper>> helpers_;
  unsigned pending_ = 0;  // called, but not awake yet
  unsigned active_ = 0;
};

Pool& pool() {
  static Pool& instance = *new Pool;
  return instance;
}

Worker& own_worker() {
  static thread_local const std::unique_ptr<Worker> worker = std::make_unique<Worker>();
  return *worker;
}

// The reason why CUDA refuses a launch: the argument and its limit.
struct Refusal {
  cudaError_t error = cudaSuccess;
  std::string why;
};

Refusal above(const char* name, std::uint64_t value, std::uint64_t most) {
  return {cudaErrorInvalidConfiguration,
          std::string(name) + " is " + std::to_string(value) + ", at most " + std::to_string(most)};
}

unsigned resident_blocks(unsigned threads, const Config& config) {
  return blocks_per_multiprocessor(threads, config.dynamic_shared) * settings().multiprocessors;
}

Refusal check_limits(const Config& config) {
  struct Dimension {
    const char* name;
    unsigned value, most;
  };
  const dim3 grid = config.grid;
  const dim3 block = config.block;
  for (const Dimension& d :
       {Dimension{"blockDim.x", block.x, kMaxThreadsPerBlock}, Dimension{"blockDim.y", block.y, kMaxThreadsPerBlock},
        Dimension{"blockDim.z", block.z, kMaxBlockDimZ}, Dimension{"gridDim.x", grid.x, kMaxGridDimX},
        Dimension{"gridDim.y", grid.y, kMaxGridDimYZ}, Dimension{"gridDim.z", grid.z, kMaxGridDimYZ}}) {
    if (d.value == 0) return {cudaErrorInvalidConfiguration, std::string(d.name) + " is 0"};
    if (d.value > d.most) return above(d.name, d.value, d.most);
  }
  const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
  if (threads > kMaxThreadsPerBlock) return above("the number of threads of a block", threads, kMaxThreadsPerBlock);
  if (config.dynamic_shared > dynamic_shared_limit()) {
    std::string why = std::to_string(config.dynamic_shared) + " bytes of dynamic shared memory";
    why += config.dynamic_shared > kSharedPerBlockOptin
               ? ", at most " + std::to_string(kSharedPerBlockOptin)
               : ": more than 48 KiB must be asked for, with cudaFuncSetAttribute(" + std::string(config.kernel) +
                     ", cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)";
    return {cudaErrorInvalidValue, why};
  }
  if (config.cooperative) {
    const std::uint64_t blocks = std::uint64_t{grid.x} * grid.y * grid.z;
    const unsigned resident = resident_blocks(static_cast<unsigned>(threads), config);
    if (blocks > resident) {
      return {cudaErrorCooperativeLaunchTooLarge, "a cooperative launch of " + std::to_string(blocks) +
                                                      " blocks: the device holds " + std::to_string(resident) +
                                                      " at once"};
    }
  }
  return {};
}

unsigned helpers_for(const Launch& launch) {
  const std::uint64_t others = launch.blocks - 1;
  if (launch.config.cooperative) return static_cast<unsigned>(others);
  if (trace::is_on()) return 0;
  return static_cast<unsigned>(std::min<std::uint64_t>(settings().workers - 1, others));
}

}  // namespace

void run(const Config& config, void (*body)(const void* context), const void* context, std::size_t size) {
  if (current_worker != nullptr) {
    current_worker->fail({"unsupported", "a kernel launches a kernel, which the emulator cannot do"});
  }
  std::lock_guard<std::mutex> lock(device_mutex());
  const Refusal refusal = check_limits(config);
  if (refusal.error != cudaSuccess) report_refusal(config, refusal.why);
  if (record(refusal.error) != cudaSuccess) return leave_unseen();
  if (settings().launches_only) return;
  if (const char* name = image_written_by_host()) {
    report_memory(config, {"device memory", std::string("host code wrote ") + name +
                                                ", a variable of the device, where kernels do not see it: use "
                                                "cudaMemcpyToSymbol"});
    save_images();
    return record_launch_failure(cudaErrorLaunchFailure);
  }
  const dim3 grid = config.grid;
  const dim3 block = config.block;
  Launch launch{config, body, context, block.x * block.y * block.z, std::uint64_t{grid.x} * grid.y * grid.z};
  launch.helpers = helpers_for(launch);
  watch_signals();
  watch_time();
  {
    DeviceMemoryAccess access;
    trace::begin_launch(config, context, size);
    pool().run(launch, own_worker());
    trace::end_launch();
  }
  save_images();
  const std::string problem = guard_problem();
  if (!problem.empty() && !launch.failed) {
    report_memory(config, {"address", problem});
    launch.failed = true;
    launch.error = cudaErrorIllegalAddress;
  }
  if (launch.failed) record_launch_failure(launch.error);
}

void refuse_host_pointer(const Config& config, unsigned number) {
  std::lock_guard<std::mutex> lock(device_mutex());
  if (launch_failure() != cudaSuccess) return;
  report_memory(config, {"host memory", "argument " + std::to_string(number) + " of kernel " + config.kernel +
                                            " is a pointer to host memory: a kernel needs one from cudaMalloc"});
  record_launch_failure(cudaErrorIllegalAddress);
}

unsigned most_helpers(const Launch& launch) {
  return std::max(kMinHelpers, resident_blocks(launch.threads, launch.config) - 1);
}

void add_helper(Launch& launch) { pool().add_helper(launch); }

Config to_config(const cudaLaunchConfig_t& config, const Where& where) {
  Config result{config.gridDim, config.blockDim, config.dynamicSmemBytes, config.stream, false, "?", where};
  for (unsigned i = 0; i < config.numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config.attrs[i];
    if (attribute.id == cudaLaunchAttributeCooperative) result.cooperative = attribute.val.cooperative != 0;
  }
  return result;
}

}  // namespace cuda_emu
