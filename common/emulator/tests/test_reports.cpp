// Checks the reports: for errors with barriers and warp collectives, which threads wait, where, and for which; for
// endless loops and crashes, the thread and the line; for a bad setting, one line.
#include "catch.hpp"
#include "program.hpp"
#include "sanitized.hpp"
#include "skip.hpp"

#include <csignal>
#include <fstream>
#include <string>
#include <vector>

namespace {

// Returns "reports.cu:<line>" for the line with the comment "at: <name>".
std::string at(const std::string& name) {
  std::ifstream source(REPORTS_SOURCE);
  std::string line;
  for (int number = 1; std::getline(source, line); ++number) {
    const auto mark = line.find("// at: " + name);
    if (mark != std::string::npos && line.size() == mark + 7 + name.size())
      return "reports.cu:" + std::to_string(number);
  }
  FAIL("no line marked " << name);
  return "";
}

// Returns true if a line of the output contains all of these.
bool has_line(const Outcome& outcome, const std::vector<std::string>& parts) {
  std::size_t begin = 0;
  while (begin < outcome.output.size()) {
    const auto end = outcome.output.find('\n', begin);
    const std::string line = outcome.output.substr(begin, end - begin);
    bool all = true;
    for (const auto& part : parts) all = all && line.find(part) != std::string::npos;
    if (all) return true;
    if (end == std::string::npos) break;
    begin = end + 1;
  }
  return false;
}

// Runs a case that must fail with a report about the kernel that has lines with these parts.
void check_report(const std::string& name, const std::vector<std::vector<std::string>>& lines) {
  const Outcome outcome = run_program(REPORTS_PROGRAM, name);
  INFO(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(outcome.has("cuda_emu: error: "));
  CHECK(outcome.has("result: cudaErrorLaunchFailure"));
  CHECK(outcome.has("while failed: cudaErrorLaunchFailure, cudaErrorLaunchFailure"));
  CHECK(outcome.has("after reset: cudaSuccess, 31"));
  for (const auto& parts : lines) {
    std::string wanted;
    for (const auto& part : parts) wanted += part + " ... ";
    INFO("a line with " << wanted);
    CHECK(has_line(outcome, parts));
  }
}

}  // namespace

// Runs a case whose launch continues, as on a GPU, with one warning that has lines with these parts.
void check_warning(const std::string& name, const std::vector<std::vector<std::string>>& lines,
                   const std::string& result) {
  const Outcome outcome = run_program(REPORTS_PROGRAM, name);
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(outcome.has("cuda_emu: warning: "));
  CHECK(!outcome.has("cuda_emu: error: "));
  CHECK(outcome.output.find("warning") == outcome.output.rfind("warning"));
  CHECK(outcome.has("result: cudaSuccess"));
  CHECK(outcome.has(result));
  for (const auto& parts : lines) CHECK(has_line(outcome, parts));
}

TEST_CASE("return before a block barrier") {
  check_warning(
      "early_return",
      {{"warning: some threads returned while others wait at a barrier"},
       {"kernel early_return", at("early_return_launch"), "grid (2,1,1)", "block (128,1,1)", "in block (1,0,0)"},
       {"72 threads", "__syncthreads", at("early_return"), "(0,0,0)-(71,0,0)"},
       {"56 threads", "returned", "(72,0,0)-(127,0,0)"}},
      "the last two got 198 199");
}

TEST_CASE("votes at a barrier after a return") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "endless_after_return");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(outcome.has("the last two got 4 4"));
}

TEST_CASE("barriers on different lines, each warp at one") {
  check_warning("barriers_by_warp",
                {{"warning: warps of one block wait at different barriers"},
                 {"64 threads", "__syncthreads", at("by_warp_first"), "(0,0,0)-(63,0,0)"},
                 {"64 threads", "__syncthreads", at("by_warp_second"), "(64,0,0)-(127,0,0)"}},
                "the last two got 17 17");
}

namespace {

// Runs a case whose launch must fail with this error and a message that contains the text.
void check_failure(const std::string& name, const std::string& error, const std::string& text) {
  const Outcome outcome = run_program(REPORTS_PROGRAM, name);
  INFO(outcome.output);
  CHECK(outcome.status == 1);
  CHECK(outcome.has("cuda_emu: error: " + text));
  CHECK(outcome.has("result: " + error));
  CHECK(outcome.has("after reset: cudaSuccess, 31"));
}

}  // namespace

TEST_CASE("a local variable that was never written is not 0") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "read_uninitialised");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(outcome.has("zero: 0"));
}

TEST_CASE("a float that an integer cannot hold") {
  if (kSanitized) return skip_test("floats outside an integer: the build with sanitizers does not look at them");
  const Outcome outcome = run_program(REPORTS_PROGRAM, "outside_unsigned_char");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(has_line(outcome, {"cuda_emu: warning: ", at("float_cast"), "'float' is outside 'unsigned char'"}));
  CHECK(has_line(outcome, {"in kernel outside_unsigned_char", "block (0,0,0), thread ("}));
  CHECK(outcome.output.find("warning") == outcome.output.rfind("warning"));
}

TEST_CASE("more threads than __launch_bounds__") {
  check_failure("bounded", "cudaErrorLaunchOutOfResources",
                "a block of 65 threads, but the kernel has __launch_bounds__(64)");
}

TEST_CASE("a kernel gets a pointer to host memory") {
  if (kSanitized) return skip_test("host pointers: AddressSanitizer's build does not look at arguments");
  for (const char* name : {"host_pointer", "heap_pointer"}) {
    check_failure(name, "cudaErrorIllegalAddress",
                  "argument 1 of kernel writes is a pointer to host memory: a kernel needs one from cudaMalloc");
  }
}

TEST_CASE("host code writes a __constant__ variable") {
  if (kSanitized) return skip_test("host code that writes device variables: only in the plain build");
  check_failure("host_writes_constant", "cudaErrorLaunchFailure",
                "host code wrote weights, a variable of the device, where kernels do not see it: use "
                "cudaMemcpyToSymbol");
}

TEST_CASE("shared memory written past a variable") {
  if (kSanitized) return skip_test("shared memory past a variable: AddressSanitizer reports it by itself");
  check_failure("shared_overrun", "cudaErrorIllegalAddress",
                "shared memory was written 0 bytes past the end of a variable of 16 bytes");
  check_failure("dynamic_forgotten", "cudaErrorIllegalAddress",
                "extern __shared__ memory was written, but the launch asks for none: k<<<grid, block, bytes>>>");
}

TEST_CASE("a reference as a kernel's parameter") {
  check_failure("reference", "cudaErrorIllegalAddress", "parameter n is a reference, to a variable in host memory");
}

TEST_CASE("a program that never asks whether its launches failed") {
  for (const char* name : {"nobody_asks", "nobody_asks_too_many"}) {
    const Outcome outcome = run_program(REPORTS_PROGRAM, name);
    INFO(outcome.output);
    CHECK(outcome.status == 1);
    CHECK(outcome.has("cuda_emu: error: a launch failed and the program never asked"));
  }
}

TEST_CASE("barriers on different lines") {
  check_report("divergent_barriers", {{"different barriers"},
                                      {"80 threads", "__syncthreads", at("divergent_first"), "(0,0,0)-(39,0,0)"},
                                      {"48 threads", "__syncthreads", at("divergent_second"), "(40,0,0)-(63,0,0)"}});
}

TEST_CASE("lanes of one warp with different masks") {
  // the upper half completes its own collective and continues; the lower half waits for it for ever
  check_report("different_masks", {{"never arrive"},
                                   {"32 threads", "__shfl_xor_sync", "0xffffffff", at("masks_all")},
                                   {"32 threads", "__syncthreads", at("masks_barrier")}});
}

TEST_CASE("a mask without the caller") {
  check_report("caller_not_in_mask",
               {{"mask that does not name"}, {"__shfl_xor_sync", "0x0000ffff", at("not_in_mask")}});
}

TEST_CASE("different operations with one mask") {
  check_report("different_operations", {{"different warp collectives"},
                                        {"16 threads", "__syncwarp", "0xffffffff", at("operations_sync")},
                                        {"16 threads", "__shfl_xor_sync", "0xffffffff", at("operations_shuffle")}});
}

TEST_CASE("a shuffle with a width that is no power of two") {
  check_report("odd_width", {{"not a power of two"}, {"__shfl_down_sync", at("odd_width")}});
}

TEST_CASE("a collective in one branch, a block barrier after") {
  check_report("collective_in_one_branch", {{"never arrive"},
                                            {"32 threads", "__shfl_xor_sync", "0xffffffff", at("branch_shuffle")},
                                            {"32 threads", "__syncthreads", at("branch_barrier")}});
}

TEST_CASE("a mask may name lanes that have returned, but their values are undefined") {
  check_warning("exited_lanes",
                {{"warning: lane 8 reads lane 16, which has returned"},
                 {"16 threads wait", "__shfl_down_sync", at("exited_lanes"), "(0,0,0)-(15,0,0)"},
                 {"16 threads returned", "(16,0,0)-(31,0,0)"}},
                "lane 0 got 8, lane 12 got -1");
}

TEST_CASE("a lane's own value where a shuffle ends, and votes of those that are left") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "no_lane_beyond");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(!outcome.has("cuda_emu: "));
}

TEST_CASE("a block returns before a grid barrier") {
  check_report("returned_block", {{"some blocks returned while others wait"}, {"sync", at("returned_block")}});
}

TEST_CASE("a grid barrier in an ordinary launch") {
  check_report("grid_barrier_without_cooperation", {{"cooperative"}, {"sync", at("not_cooperative")}});
}

namespace {

// Runs a case that must end the program inside a kernel.
Outcome check_end(const std::string& name, const std::string& cause, const std::string& where,
                  const std::string& environment) {
  const Outcome outcome = run_program(REPORTS_PROGRAM, name, environment);
  INFO(outcome.output);
  CHECK(outcome.has("cuda_emu: error: " + cause));
  CHECK(outcome.has("cuda_emu: in kernel " + where));
  return outcome;
}

constexpr int kTimedOut = 124;

}  // namespace

TEST_CASE("blocks that wait for blocks which start only when they end") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "waits_for_all_blocks");
  INFO(outcome.output);
  CHECK(outcome.has("cuda_emu: error: all blocks that run wait for others, but 872 of 1000 blocks have not started"));
  CHECK(outcome.has("result: cudaErrorLaunchTimeout"));
  CHECK(outcome.has("cause: block waits"));
  CHECK(has_line(outcome, {"where: ", at("waits_for_all_blocks")}));
  CHECK(outcome.has("after reset: cudaSuccess, 31"));
}

TEST_CASE("as many blocks as the device holds may wait for each other") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "waits_for_resident_blocks");
  INFO(outcome.output);
  CHECK(outcome.status == 0);
  CHECK(!outcome.has("cuda_emu: "));
}

TEST_CASE("an endless loop") {
  const Outcome outcome =
      check_end("endless_loop", "timed out: ", "endless_loop, block (2,0,0), thread (37,0,0)", "CUDA_EMU_TIMEOUT=1");
  INFO(outcome.output);
  CHECK(outcome.status == kTimedOut);
  CHECK(has_line(outcome, {"cuda_emu: at ", at("endless_loop")}));
}

TEST_CASE("an endless loop with a barrier") {
  const Outcome outcome =
      check_end("endless_barriers", "timed out: ", "endless_barriers, block (0,0,0)", "CUDA_EMU_TIMEOUT=1");
  INFO(outcome.output);
  CHECK(outcome.status == kTimedOut);
  CHECK(has_line(outcome, {"cuda_emu: at ", at("endless_barriers")}));
}

TEST_CASE("endless loops that poll memory, in all blocks") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "endless_polls");
  INFO(outcome.output);
  CHECK(outcome.has("cuda_emu: error: deadlock: all threads that have not returned wait"));
  CHECK(outcome.has("result: cudaErrorLaunchTimeout"));
  CHECK(outcome.has("cause: deadlock"));
  CHECK(has_line(outcome, {"where: ", at("endless_polls")}));
}

TEST_CASE("a lock whose owner waits for the lanes that spin") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "warp_waits_in_lock");
  INFO(outcome.output);
  CHECK(outcome.has("cuda_emu: error: deadlock: all threads that have not returned wait"));
  CHECK(outcome.has("result: cudaErrorLaunchTimeout"));
}

TEST_CASE("Ctrl-C in an endless loop") {
  for (const char* workers : {"1", "2"}) {
    const Outcome outcome = check_end("interrupt", "SIGINT: ", "endless_loop, block (2,0,0), thread (37,0,0)",
                                      std::string("CUDA_EMU_WORKERS=") + workers);
    INFO(outcome.output);
    CHECK(outcome.status == 128 + SIGINT);
    CHECK(has_line(outcome, {"cuda_emu: at ", at("endless_loop")}));
  }
}

TEST_CASE("a wild read is no stack overflow") {
  const Outcome outcome = check_end("wild_read", "SIGSEGV: a misaligned or invalid address",
                                    "wild_read, block (0,0,0), thread (1,0,0)", "");
  INFO(outcome.output);
  CHECK(has_line(outcome, {"cuda_emu: at ", at("wild_read")}));
}

TEST_CASE("a stack overflow") {
  check_end("stack_overflow", "stack overflow: ", "stack_overflow, block (0,0,0), thread (0,0,0)", "");
}

TEST_CASE("a bad setting gets one line and exit status 2") {
  for (const char* bad : {"CUDA_EMU_ORDER=backward", "CUDA_EMU_ORDER=random:", "CUDA_EMU_ORDER=random:x",
                          "CUDA_EMU_ORDER=", "CUDA_EMU_WORKERS=0", "CUDA_EMU_WORKERS=17", "CUDA_EMU_WORKERS=two",
                          "CUDA_EMU_STACK=1", "CUDA_EMU_STACK=-64", "CUDA_EMU_TIMEOUT=1s", "CUDA_EMU_TIMEOUT=-1",
                          "CUDA_EMU_MULTIPROCESSORS=0", "CUDA_EMU_FILL=0"}) {
    const Outcome outcome = run_program(REPORTS_PROGRAM, "exited_lanes", bad);
    INFO(bad << ": " << outcome.output);
    CHECK(outcome.status == 2);
    const std::string setting = bad;
    const auto equals = setting.find('=');
    CHECK(outcome.output.find("cuda_emu: error: " + setting.substr(0, equals) + "='" + setting.substr(equals + 1) +
                              "': expected ") == 0);
    CHECK(outcome.output.find('\n') == outcome.output.size() - 1);
  }
}

TEST_CASE("random alone is an order") {
  const Outcome outcome = run_program(REPORTS_PROGRAM, "divergent_barriers", "CUDA_EMU_ORDER=random");
  INFO(outcome.output);
  CHECK(outcome.has("CUDA_EMU_ORDER=random:1"));
}
