// Checks that each planted bug of bugs.cu is caught in the modes that must catch it: by a wrong result or a crash in
// the plain build, in certain thread orders, or by a sanitizer's report that names kernel, block and thread.
#include "catch.hpp"
#include "program.hpp"
#include "sanitized.hpp"
#include "skip.hpp"

#include <string>
#include <vector>

namespace {

constexpr int kWrongResult = 3;
const std::vector<std::string> kForwardAndRandom = {"forward", "random:1", "random:2", "random:3"};
const std::vector<std::string> kReverseAndRandom = {"reverse", "random:1", "random:2", "random:3"};
const std::vector<std::string> kLateCopies = {"forward", "random:1", "random:2"};
const std::vector<std::string> kEveryOrder = {"forward", "reverse", "random:1", "random:2", "random:3"};

// Requires a wrong result when threads run in these orders.
void wrong_result(const std::string& bug, const std::vector<std::string>& orders) {
  for (const auto& order : orders) {
    const Outcome outcome = run_program(BUGS_PROGRAM, bug, "CUDA_EMU_ORDER=" + order);
    INFO("order " << order << "\n" << outcome.output);
    CHECK(outcome.status == kWrongResult);
  }
}

// Requires that a sanitizer stops the program and reports `what`, in a kernel unless `kernel` is empty.
void sanitizer_report(const std::string& bug, const std::string& what, const std::string& kernel,
                      const std::string& block_and_thread = "") {
  if (!kSanitized) {
    skip_test(bug + ": this build has no sanitizers");
    return;
  }
  const Outcome outcome = run_program(BUGS_PROGRAM, bug, "CUDA_EMU_WORKERS=1");
  INFO(outcome.output);
  CHECK(outcome.status != 0);
  CHECK(outcome.status != kWrongResult);
  CHECK(outcome.has(what));
  CHECK(outcome.has("bugs.cu:"));
  if (kernel.empty()) return;
  CHECK(outcome.has("cuda_emu: in kernel " + kernel + ", block ("));
  CHECK(outcome.has(block_and_thread));
}

}  // namespace

TEST_CASE("tree_without_first_barrier") { wrong_result("tree_without_first_barrier", kForwardAndRandom); }
TEST_CASE("tree_without_loop_barrier") { wrong_result("tree_without_loop_barrier", kForwardAndRandom); }
TEST_CASE("left_neighbour_without_barrier") { wrong_result("left_neighbour_without_barrier", kReverseAndRandom); }
TEST_CASE("gemm_without_second_barrier") { wrong_result("gemm_without_second_barrier", kEveryOrder); }
TEST_CASE("warp_tail_without_syncwarp") { wrong_result("warp_tail_without_syncwarp", kForwardAndRandom); }
TEST_CASE("half_written") { wrong_result("half_written", kEveryOrder); }
TEST_CASE("copy_without_wait") { wrong_result("copy_without_wait", kLateCopies); }
TEST_CASE("copy_without_barrier") { wrong_result("copy_without_barrier", kForwardAndRandom); }
TEST_CASE("copy_into_tile_in_use") { wrong_result("copy_into_tile_in_use", kEveryOrder); }
TEST_CASE("previous_block_without_wait") { wrong_result("previous_block_without_wait", {"reverse"}); }
TEST_CASE("sum_without_atomic") {
  skip_test("sum_without_atomic: only the race check of the traced build can catch it");
}

TEST_CASE("global_read_past_end") {
  sanitizer_report("global_read_past_end", "AddressSanitizer", "global_read_past_end",
                   "block (3,0,0), thread (233,0,0)");
}
TEST_CASE("missing_guard") {
  if (!kSanitized) {
    const Outcome outcome = run_program(BUGS_PROGRAM, "missing_guard");
    INFO(outcome.output);
    CHECK(outcome.has("device memory was written outside an allocation of 4004 bytes, at byte 4004"));
    CHECK(outcome.has("kernel missing_guard, launched at "));
    return;
  }
  sanitizer_report("missing_guard", "AddressSanitizer", "missing_guard", "block (3,0,0), thread (233,0,0)");
}
TEST_CASE("float4_tail") {
  sanitizer_report("float4_tail", "AddressSanitizer", "float4_tail", "block (0,0,0), thread (250,0,0)");
}
TEST_CASE("use_after_free") {
  sanitizer_report("use_after_free", "AddressSanitizer", "copy", "block (0,0,0), thread (0,0,0)");
}
TEST_CASE("missing_free") { sanitizer_report("missing_free", "detected memory leaks", ""); }
TEST_CASE("shared_write_past_array") {
  sanitizer_report("shared_write_past_array", "runtime error: index 64 out of bounds", "shared_write_past_array",
                   "thread (63,0,0)");
}
TEST_CASE("shared_write_past_pointer") {
  sanitizer_report("shared_write_past_pointer", "AddressSanitizer", "shared_write_past_pointer", "thread (63,0,0)");
}
TEST_CASE("dynamic_shared_write_past_end") {
  sanitizer_report("dynamic_shared_write_past_end", "AddressSanitizer", "dynamic_shared_write_past_end",
                   "thread (63,0,0)");
}
TEST_CASE("shared_row_overflow") {
  sanitizer_report("shared_row_overflow", "runtime error: index 32 out of bounds", "shared_row_overflow",
                   "thread (0,0,0)");
}
TEST_CASE("float4_misaligned") {
  if (kSanitized) {
    sanitizer_report("float4_misaligned", "misaligned address", "float4_misaligned", "thread (0,0,0)");
  } else {
    const Outcome outcome = run_program(BUGS_PROGRAM, "float4_misaligned");
    INFO(outcome.output);
    CHECK(outcome.status == kWrongResult);
    CHECK(outcome.has("misaligned address 0x"));
    CHECK(outcome.has("bugs.cu:"));
    CHECK(outcome.has("in thread (0,0,0)"));
    CHECK(outcome.has("kernel float4_misaligned"));
  }
}
TEST_CASE("index_overflow") {
  sanitizer_report("index_overflow", "signed integer overflow", "index_overflow", "thread (0,0,0)");
}
TEST_CASE("host_reads_device_memory") { sanitizer_report("host_reads_device_memory", "AddressSanitizer", ""); }
