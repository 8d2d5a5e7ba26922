#include "scheduler.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>

#include "report.hpp"
#include "source_line.hpp"

namespace cuda_emu {
namespace {

// Hot data is at the same depth of every thread's stack. Spreading the tops of the stacks over the cache sets nearly
// halves the time of kernels with large blocks.
constexpr std::size_t kColourStep = 192;
constexpr std::size_t kColours = 61;

// Each stack takes two of the process's memory mappings, of which Linux allows 65,530.
constexpr std::size_t kMaxIdleStacks = 16384;

// A block whose threads yield kPatience times probably waits for another block; kLessPatience once a block has waited.
constexpr unsigned kPatience = 10000;
constexpr unsigned kLessPatience = 1000;
constexpr unsigned kOften = 500;                      // in a round of Standstill
constexpr std::chrono::milliseconds kSpinning{2000};  // if all threads spin that long, they spin for ever
constexpr std::chrono::microseconds kNap{20};         // of a waiting block, times the number of helpers
constexpr std::chrono::microseconds kWaking{50};      // what Linux adds to a nap

bool same_text(const char* a, const char* b) { return a == b || strcmp(a, b) == 0; }

}  // namespace

bool same_place(const Where& a, const Where& b) {
  return a.line == b.line && same_text(a.file, b.file) && same_text(a.what, b.what);
}

GridBarrier::Outcome GridBarrier::wait(std::uint64_t blocks, const std::atomic<bool>& launch_failed) {
  std::unique_lock<std::mutex> lock(mutex_);
  const std::uint64_t round = round_;
  if (++waiting_ == blocks) {
    waiting_ = 0;
    ++round_;
    changed_.notify_all();
    return Outcome::passed;
  }
  changed_.wait(lock, [&] { return round_ != round || launch_failed || waiting_ + finished_ == blocks; });
  if (round_ != round) return Outcome::passed;
  return launch_failed ? Outcome::launch_failed : Outcome::stuck;
}

void GridBarrier::block_finished() {
  std::lock_guard<std::mutex> lock(mutex_);
  ++finished_;
  changed_.notify_all();
}

bool Standstill::polls(std::uint64_t running) {
  std::lock_guard<std::mutex> lock(mutex_);
  some_polled_ = true;
  if (++polling_ < running) return false;
  polling_ = 0;
  ++round;
  if (++complete_rounds_ == 2) since_ = std::chrono::steady_clock::now();
  return complete_rounds_ >= 2;
}

void Standstill::begin_again() {
  std::lock_guard<std::mutex> lock(mutex_);
  some_polled_ = false;
  polling_ = complete_rounds_ = 0;
  ++round;
}

// ---- Blocks ----

void Worker::run(Launch& launch) {
  prepare(launch);
  current_worker = this;
  Fiber::current = &main_fiber_;
  trace.begin_run();
  {
    const Interrupts here(Interrupts::come);
    if (begin_block()) {
      Fiber::switch_to(spare_fiber());
      if (returned_ < thread_count_ && !launch.failed) report_deadlock();
      if (launch.config.cooperative) launch.grid_barrier.block_finished();
    }
  }
  trace.end_run(launch.failed);
  if (launch.failed) restart_fibers();
  const std::string overrun = shared.overrun();
  if (!overrun.empty() && !launch.failed.exchange(true)) {
    launch.error = cudaErrorIllegalAddress;
    report_memory(launch.config, {"shared array", overrun});
  }
  if (launch.config.cooperative && Fiber::stack_count() > kMaxIdleStacks) {
    spare_fibers_.clear();
    fibers_.clear();
  }
  current_worker = nullptr;
}

void Worker::prepare(Launch& launch) {
  launch_ = &launch;
  ++launches_;
  has_run_block_ = false;
  blockDim = launch.config.block;
  gridDim = launch.config.grid;
  shared.begin_launch(launch.config.dynamic_shared);

  const Order order = settings().order;
  const bool same_block =
      blockDim.x == indexed_block_.x && blockDim.y == indexed_block_.y && blockDim.z == indexed_block_.z;
  if (same_block && order == order_) return;
  order_ = order;
  thread_count_ = launch.threads;
  indexed_block_ = blockDim;
  uint3 index{0, 0, 0};
  for (unsigned i = 0; i < thread_count_; ++i) {
    threads_[i].index = index;
    if (++index.x < blockDim.x) continue;
    index.x = 0;
    if (++index.y < blockDim.y) continue;
    index.y = 0;
    ++index.z;
  }
  order_threads();
}

// Returns false when no block is left.
bool Worker::begin_block() {
  if (launch_->failed.load(std::memory_order_relaxed)) return false;
  if (launch_->config.cooperative && has_run_block_) return false;
  const std::uint64_t taken_before = launch_->taken.fetch_add(1, std::memory_order_relaxed);
  if (taken_before >= launch_->blocks) return false;
  block_ = pick_block(taken_before);
  has_run_block_ = true;
  yields_ = rests_ = 0;
  has_helper_ = false;

  const dim3 grid = launch_->config.grid;
  blockIdx.x = static_cast<unsigned>(block_ % grid.x);
  blockIdx.y = static_cast<unsigned>(block_ / grid.x % grid.y);
  blockIdx.z = static_cast<unsigned>(block_ / grid.x / grid.y);

  started_ = returned_ = arrived_ = converging_ = 0;
  ring_begin_ = ring_end_ = 0;
  divergent_ = start_one_ = at_grid_barrier_ = false;
  votes_ = 0;
  for (unsigned warp = 0; warp * kWarpSize < thread_count_; ++warp) warps_[warp] = {};
  shared.begin_block();
  async_copies.begin_block();
  trace.begin_block(block_, thread_count_, shared);
  if (order_ == Order::random) {
    random_state_ = settings().seed * 0x2545f4914f6cdd1d + block_;
    order_threads();
  }
  return true;
}

// Returns the next block. In reverse order that is the last one left, which shows kernels that rely on an earlier block
// having run. Once a block seems to wait for an earlier one (note_poll()), it is the first one left.
std::uint64_t Worker::pick_block(std::uint64_t taken_before) {
  if (order_ != Order::reverse) return taken_before;
  if (launch_->only_in_order.load(std::memory_order_relaxed)) return launch_->in_order.fetch_add(1);
  return launch_->blocks - 1 - launch_->in_reverse.fetch_add(1);
}

// Sets the order in which threads start, and continue after a barrier.
void Worker::order_threads() {
  for (unsigned i = 0; i < thread_count_; ++i) {
    start_order_[i] = static_cast<std::uint16_t>(order_ == Order::reverse ? thread_count_ - 1 - i : i);
  }
  if (order_ != Order::random) return;
  for (unsigned i = thread_count_; i > 1; --i) std::swap(start_order_[i - 1], start_order_[random() % i]);
}

// splitmix64
std::uint64_t Worker::random() {
  std::uint64_t z = random_state_ += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return z ^ z >> 31;
}

bool Worker::copies_now() {
  if (trace.on()) return false;  // the trace follows each copy to the wait for it
  return order_ == Order::reverse || (order_ == Order::random && random() % 2 == 0);
}

// ---- Fibers ----

void Worker::fiber_entry() { current_worker->run_threads(); }

// The loop of a fiber: starts threads one after another. Another fiber takes over only when a thread waits, so a kernel
// without barriers runs on one fiber.
void Worker::run_threads() {
  for (;;) {
    if (should_start_thread()) {
      run_next_thread();
    } else if (has_ready()) {
      park_and_switch_to(resume_ready());
    } else if (returned_ < thread_count_ || !begin_block()) {
      park_and_switch_to(main_fiber_);  // a deadlock, or the end
    }
  }
}

void Worker::run_next_thread() {
  enter_thread(start_order_[started_++]);
  launch_->body(launch_->context);
  finish_thread();
}

// Switches away from a fiber that has no thread, and keeps it as a spare one.
void Worker::park_and_switch_to(Fiber& next) {
  spare_fibers_.push_back(Fiber::current);
  Fiber::switch_to(next);
}

Fiber& Worker::spare_fiber() {
  if (spare_fibers_.empty()) {
    const std::size_t colour = fibers_.size() % kColours * kColourStep;
    fibers_.push_back(std::make_unique<Fiber>(settings().stack_size, colour, &Worker::fiber_entry));
    return *fibers_.back();
  }
  Fiber* fiber = spare_fibers_.back();
  spare_fibers_.pop_back();
  return *fiber;
}

// Returns the fiber to run when the current CUDA thread cannot continue. Ready threads come before new ones: their
// stacks are in the cache, and fewer fibers are needed.
Fiber& Worker::pick_next() {
  if (should_start_thread()) return spare_fiber();
  return has_ready() ? resume_ready() : main_fiber_;
}

Fiber& Worker::resume_ready() {
  enter_thread(pop_ready());
  return *threads_[current_].fiber;
}

void Worker::enter_thread(unsigned thread) {
  current_ = thread;
  trace.enter(thread);
  threads_[thread].state = ThreadState::running;
  threadIdx = threads_[thread].index;
}

bool Worker::should_start_thread() {
  if (started_ == thread_count_) return false;
  if (start_one_) {
    start_one_ = false;
    return true;
  }
  return !has_ready() || (order_ == Order::random && random() % 2 == 0);
}

// Abandons the suspended threads of a failed launch.
void Worker::restart_fibers() {
  spare_fibers_.clear();
  for (const auto& fiber : fibers_) {
    fiber->restart();
    spare_fibers_.push_back(fiber.get());
  }
  for (Thread& thread : threads_) thread.state = ThreadState::returned;
}

// ---- Ready threads ----

void Worker::push_back(unsigned thread) {
  threads_[thread].state = ThreadState::ready;
  ring_[ring_end_++ % kRingSize] = static_cast<std::uint16_t>(thread);
}

void Worker::push_front(unsigned thread) {
  threads_[thread].state = ThreadState::ready;
  ring_[--ring_begin_ % kRingSize] = static_cast<std::uint16_t>(thread);
}

unsigned Worker::pop_ready() {
  if (order_ == Order::random) {
    const unsigned chosen = ring_begin_ + static_cast<unsigned>(random() % (ring_end_ - ring_begin_));
    std::swap(ring_[chosen % kRingSize], ring_[ring_begin_ % kRingSize]);
  }
  return ring_[ring_begin_++ % kRingSize];
}

// ---- Waiting ----

void Worker::block_current(ThreadState state, const Where& where) {
  Thread& thread = threads_[current_];
  thread.state = state;
  thread.where = &where;
  thread.fiber = Fiber::current;
  trace.stop(current_);
}

void Worker::wait() {
  if (converging_ != 0) resolve_convergence(current_ / kWarpSize);
  Fiber& next = pick_next();
  if (&next != Fiber::current) Fiber::switch_to(next);
}

void Worker::finish_thread() {
  threads_[current_].state = ThreadState::returned;
  if (++returned_ == thread_count_) ++launch_->finished;
  launch_->standstill.progress();
  trace.returned(current_);
  const unsigned warp = current_ / kWarpSize;
  warps_[warp].returned |= 1u << current_ % kWarpSize;
  if (warps_[warp].waiting != 0) recheck_collectives(warp);
  if (converging_ != 0) resolve_convergence(warp);
  if (arrived_ != 0 && barrier_is_complete()) {
    trace.block_barrier();
    release_barrier();
  }
}

// As on a GPU, threads that have returned count as arrived, and all barriers of the block count as the same one.
bool Worker::barrier_is_complete() {
  if (arrived_ + returned_ < thread_count_ || (at_grid_barrier_ && returned_ != 0)) return false;
  if (divergent_) {
    if (at_grid_barrier_ || warps_differ_at_barrier())
      fail({"barriers differ", "threads of one block wait at different barriers"});
    warn_once({"barriers differ",
               "warps of one block wait at different barriers, which CUDA does not define, though GPUs go on"},
              *first_arrival_, current_);
  }
  if (returned_ != 0) {
    warn_once({"returned",
               "some threads returned while others wait at a barrier: a GPU goes on without them since Volta, an older "
               "one may hang; what they should have done is missing"},
              *first_arrival_, current_);
  }
  return true;
}

// Returns true if lanes of one warp wait at different places.
bool Worker::warps_differ_at_barrier() const {
  for (unsigned warp = 0; warp * kWarpSize < thread_count_; ++warp) {
    const Where* first = nullptr;
    for (unsigned i = warp * kWarpSize; i < std::min(thread_count_, (warp + 1) * kWarpSize); ++i) {
      if (threads_[i].state != ThreadState::at_block_barrier) continue;
      if (first != nullptr && !same_place(*first, *threads_[i].where)) return true;
      first = threads_[i].where;
    }
  }
  return false;
}

// Prints a warning once for each place in the program, as if `thread` were running.
void Worker::warn_once(const Problem& what, const Where& where, unsigned thread) {
  static std::mutex mutex;
  static auto& warned = *new std::vector<Where>;
  std::lock_guard<std::mutex> lock(mutex);
  for (const Where& other : warned) {
    if (same_place(other, where)) return;
  }
  warned.push_back(where);
  const uint3 own = threadIdx;
  threadIdx = threads_[thread].index;
  report(*this, {what.cause, what.text, place(where)}, "warning");
  threadIdx = own;
}

// Returns true for the last thread to arrive.
bool Worker::arrive_at_barrier(ThreadState state, const Where& where) {
  block_current(state, where);
  if (state == ThreadState::at_grid_barrier) at_grid_barrier_ = true;
  if (arrived_ == 0) {
    first_arrival_ = &where;
  } else if (!same_place(*first_arrival_, where)) {
    divergent_ = true;
  }
  ++arrived_;
  return barrier_is_complete();
}

void Worker::release_barrier() {
  barrier_votes_ = votes_;
  unanimous_ = votes_ == static_cast<int>(arrived_);
  arrived_ = 0;
  votes_ = 0;
  divergent_ = at_grid_barrier_ = false;
  if (order_ == Order::random) order_threads();
  for (unsigned i = 0; i < thread_count_; ++i) {
    if (threads_[start_order_[i]].state != ThreadState::returned) push_back(start_order_[i]);
  }
}

int Worker::block_barrier(BarrierVote vote, bool predicate, const Where& where) {
  votes_ += predicate;
  if (arrive_at_barrier(ThreadState::at_block_barrier, where)) {
    trace.block_barrier();
    release_barrier();
  }
  wait();
  switch (vote) {
    case BarrierVote::all:
      return unanimous_;
    case BarrierVote::any:
      return barrier_votes_ != 0;
    case BarrierVote::count:
    case BarrierVote::none:
      break;
  }
  return barrier_votes_;
}

void Worker::grid_barrier(const Where& where) {
  const bool last = arrive_at_barrier(ThreadState::at_grid_barrier, where);
  if (!launch_->config.cooperative)
    fail({"grid barrier", "a grid barrier in a kernel that was not launched as cooperative"});
  if (last) {
    trace.before_grid_wait();
    const GridBarrier::Outcome outcome = launch_->grid_barrier.wait(launch_->blocks, launch_->failed);
    trace.after_grid_wait();
    switch (outcome) {
      case GridBarrier::Outcome::passed:
        trace.grid_barrier();
        release_barrier();
        break;
      case GridBarrier::Outcome::stuck:
        fail({"grid barrier", "some blocks returned while others wait at the grid barrier"});
      case GridBarrier::Outcome::launch_failed:
        leave_launch();
    }
  }
  wait();
}

void Worker::yield(const void* polled) {
  if (launch_->failed.load(std::memory_order_relaxed)) leave_launch();
  if (!launch_->config.cooperative) note_poll(polled);
  trace.pass_on();
  Thread& thread = threads_[current_];
  thread.fiber = Fiber::current;
  push_back(current_);
  thread.state = ThreadState::yielding;
  if (converging_ != 0) resolve_convergence(current_ / kWarpSize);
  start_one_ = started_ < thread_count_;  // else two spinning threads would keep the others from starting
  Fiber& next = start_one_ ? spare_fiber() : pick_next();
  const bool others_wait = &next == Fiber::current;
  if (others_wait || yields_ % thread_count_ == 0) rest();
  if (!others_wait) Fiber::switch_to(next);
}

// Called when every thread of the block that can run has polled: perhaps the block waits for another one.
void Worker::rest() {
  if (!launch_->config.cooperative && ++rests_ == kOften) {
    const std::uint64_t running = std::min<std::uint64_t>(launch_->taken, launch_->blocks) - launch_->finished;
    if (launch_->standstill.polls(running)) report_standstill();
  }
  if (!has_helper_ || trace.on()) return std::this_thread::yield();
  const auto nap = kNap * launch_->helpers.load();
  std::this_thread::sleep_for(nap);  // else waiting blocks would take the CPU time of working ones
  count_nap(nap + kWaking);
}

// Counts a poll. Perhaps all running blocks wait for one that has not started; a helper is added to start it.
void Worker::note_poll(const void* polled) {
  const bool one_has_waited = launch_->only_in_order.load(std::memory_order_relaxed);
  if (++yields_ >= (one_has_waited ? kLessPatience : kPatience) && !has_helper_) {
    has_helper_ = launch_->only_in_order = true;
    add_helper(*launch_);
  }
  const void*& before = threads_[current_].polled;
  const bool goes_on = polled != nullptr && polled != before;  // such as a loop over the flags of earlier blocks
  if (polled != nullptr) before = polled;
  if (goes_on && rests_ >= kOften) launch_->standstill.progress();
  const unsigned round = launch_->standstill.round.load(std::memory_order_relaxed);
  if (goes_on || round != round_) rests_ = 0;
  round_ = round;
}

void Worker::report_standstill() {
  const std::uint64_t taken = launch_->taken;
  const bool all_started = taken >= launch_->blocks;
  if (all_started ? !launch_->standstill.lasts(kSpinning) : launch_->helpers < most_helpers(*launch_)) return;
  char line[1024] = "";
  find_source_line(nullptr, line, sizeof line);
  threads_[current_].state = ThreadState::yielding;
  if (all_started) {
    fail({"deadlock",
          "deadlock: all threads that have not returned wait, and those that spin wait for memory that no thread "
          "changes",
          line},
         cudaErrorLaunchTimeout);
  }
  fail({"block waits",
        "all blocks that run wait for others, but " + std::to_string(launch_->blocks - taken) + " of " +
            std::to_string(launch_->blocks) + " blocks have not started: they start as others end",
        line},
       cudaErrorLaunchTimeout);
}

void Worker::trap(const Where& where) {
  block_current(ThreadState::trapped, where);
  fail({"trap", "the kernel executed a trap"});
}

// ---- Failure ----

void Worker::fail(Problem problem, cudaError_t error) {
  if (!launch_->failed.exchange(true)) {
    launch_->error = error;
    report(*this, problem);
  }
  for (std::string* text : {&problem.text, &problem.at}) std::string().swap(*text);  // destructors will not run here
  leave_launch();
}

void Worker::leave_launch() {
  Fiber::switch_to(main_fiber_);
  abort();  // fibers of a failed launch are restarted, never resumed
}

void Worker::report_deadlock() {
  const auto end = threads_ + thread_count_;
  const bool in_warp =
      std::any_of(threads_, end, [](const Thread& thread) { return thread.state == ThreadState::at_warp_collective; });
  const char* problem = "deadlock";
  if (in_warp) {
    problem = "deadlock: a warp collective waits for lanes that never arrive";
  } else if (returned_ > 0) {
    problem = "some threads returned while others wait at a barrier";
  }
  if (!launch_->failed.exchange(true)) report(*this, {"deadlock", problem});
}

std::vector<bool> Worker::started_threads() const {
  std::vector<bool> started(thread_count_, true);
  for (unsigned i = started_; i < thread_count_; ++i) started[start_order_[i]] = false;
  return started;
}

// ---- Called by kernels ----

int block_barrier(BarrierVote vote, bool predicate, const Where& where) {
  return active_worker(where.what).block_barrier(vote, predicate, where);
}

void grid_barrier(const Where& where) { active_worker(where.what).grid_barrier(where); }

bool is_cooperative_launch() { return active_worker("is_valid of a grid").launch().config.cooperative; }

void yield(const void* polled) {
  if (current_worker != nullptr) current_worker->yield(polled);
}

void launch_bounds(unsigned max, unsigned, unsigned) {
  Worker& worker = active_worker("__launch_bounds__");
  if (worker.thread_count() <= max) return;
  char problem[120];
  snprintf(problem, sizeof problem, "a block of %u threads, but the kernel has __launch_bounds__(%u)",
           worker.thread_count(), max);
  worker.fail({"launch", problem}, cudaErrorLaunchOutOfResources);
}

void reference_parameter(const char* name, const char* file, int line) {
  active_worker("a reference parameter")
      .fail({"host memory",
             std::string("parameter ") + name + " is a reference, to a variable in host memory: pass it by value",
             place({"", file, line})},
            cudaErrorIllegalAddress);
}

void trap(const Where& where) { active_worker(where.what).trap(where); }

unsigned thread_rank_in_block() { return active_worker("the rank of a thread").current_thread(); }

unsigned lane_id() { return active_worker("the rank of a thread").current_thread() % kWarpSize; }

}  // namespace cuda_emu
