// Tests the command line: what it accepts, and the one-line messages for everything else.
#include "catch.hpp"
#include "runner/options.hpp"
#include "runner/progress.hpp"
#include "program.hpp"

#include <unistd.h>

#include <fstream>
#include <sstream>

using namespace ladder;

namespace {

Outcome run(const std::string& arguments) { return run_program(STEP_PROGRAM, arguments); }

void require_usage_error(const std::string& arguments, const std::string& text) {
  const Outcome outcome = run(arguments);
  INFO(arguments << ": " << outcome.output);
  CHECK(outcome.status == 2);
  CHECK(outcome.has(text));
  CHECK(outcome.output.find('\n') == outcome.output.size() - 1);  // one line
}

}  // namespace

TEST_CASE("numbers") {
  CHECK(parse_number("--n", "0", 10) == 0);
  CHECK(parse_number("--n", "10", 10) == 10);
  CHECK(parse_number("--n", "2^10", 1 << 20) == 1024);
  CHECK(parse_number("--n", "10^3", 1 << 20) == 1000);
  CHECK(parse_number("--n", "0^5", 1 << 20) == 0);
  for (const char* bad : {"", "-5", "+5", "abc", "1e99", "1e3", "11", " 1", "1 ", "0x10", "2^", "^2", "2^64", "2^-1",
                          "99999999999999999999", "3^3^3", "1.5"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_number("--n", bad, 10), UsageError);
  }
}

TEST_CASE("scalars") {
  CHECK(parse_scalar("--alpha", "1") == 1);
  CHECK(parse_scalar("--alpha", "-2.5e-1") == -0.25f);
  for (const char* bad : {"", " 1", "1x", "nan", "inf", "1e99", "one"}) {
    INFO(bad);
    CHECK_THROWS_AS(parse_scalar("--alpha", bad), UsageError);
  }
}

TEST_CASE("bad usage gets one line that names the option, and exit status 2") {
  require_usage_error("--n=-5", "--n: '-5' is not a whole number from 0 to 68719476736");
  require_usage_error("--n=abc", "--n: 'abc'");
  require_usage_error("--n=1e99", "--n: '1e99'");
  require_usage_error("--n=", "--n: ''");
  require_usage_error("--n", "--n needs a value");
  require_usage_error("--bogus", "unknown option '--bogus'");
  require_usage_error("--check=yes", "--check takes no value");
  require_usage_error("--seed=x", "--seed: 'x'");
  require_usage_error("--check --bench", "--check and --bench");
  require_usage_error("--once --check", "--once goes with neither");
  require_usage_error("--misaligned", "--misaligned goes with --once");
  require_usage_error("--only=sum_8", "--only: this program has no step 'sum_8'");
  require_usage_error("--only=sum_08_warp_shuffle,", "--only: this program has no step ''");
  require_usage_error("--random=0", "--random: at least 1 shape");
  require_usage_error("--random=few", "--random: 'few'");
  require_usage_error("--first=1", "--first goes with --random");
  for (const char* other : {"--n=1", "--small", "--bench", "--once", "--trace"}) {
    require_usage_error(std::string("--random=1 ") + other, "--random draws the sizes");
  }
  for (const char* option :
       {"--smallest-first", "--brief", "--random-data", "--aligned", "--zeroed", "--lenient", "--seconds=1"}) {
    require_usage_error(option, "go with --check");
  }
  require_usage_error("--data=random", "--data goes with --check or --trace");
  require_usage_error("--events --json", "--events goes with --trace --json");
  require_usage_error("--launch-only --check", "--launch-only goes with none of --check");
  require_usage_error("--timeout=-1", "--timeout: '-1'");
  require_usage_error("1024", "unknown option '1024'");
  require_usage_error("--n=2^36", "n=68719476736: needs ");
}

TEST_CASE("LADDER_MEMORY: the default size is skipped by name where it does not fit, a size asked for is refused") {
  setenv("LADDER_MEMORY", "1M", 1);
  const Outcome skipped = run("");
  INFO(skipped.output);
  CHECK(skipped.status == 77);
  CHECK(skipped.has("sum_08_warp_shuffle: skipped, n=131085: needs "));
  require_usage_error("--n=1000000", "n=1000000: needs ");
  setenv("LADDER_MEMORY", "8GB", 1);
  require_usage_error("", "LADDER_MEMORY: '8GB' is not a size");
  unsetenv("LADDER_MEMORY");
}

TEST_CASE("good usage") {
  const Outcome help = run("--help");
  CHECK(help.status == 0);
  CHECK(help.has("--n=N"));

  for (const char* arguments :
       {"--n=1000", "--n 1000", "--n=0", "--n=2^10 --seed=7", "--check --n=33", "--n=33 --only=sum_08_warp_shuffle",
        "--n=33 --timeout=600", "--n=33 --quiet", "--n=2^20 --skip-slow"}) {
    const Outcome outcome = run(arguments);
    INFO(arguments << ": " << outcome.output);
    CHECK(outcome.status == 0);
    CHECK(outcome.has("PASS"));
  }

  const Outcome json = run("--json --n=1025");
  CHECK(json.status == 0);
  CHECK(json.output.find("{\"family\": \"reduce\", \"kernel\": \"sum\", \"step\": \"08_warp_shuffle\"") == 0);
  CHECK(json.output.find("\"size\": {\"n\": 1025}") != std::string::npos);
  CHECK(json.output.find("\"verified\": true}") != std::string::npos);

  CHECK(run("--check --random-data --n=33").has("PASS, 2 checks"));
  CHECK(run("--json --small").has("\"size\": {\"n\": 131085}"));
  CHECK(run("--json --small --n=33").has("\"size\": {\"n\": 33}"));
}

TEST_CASE("--random checks at small random shapes, the same for the same seed") {
  const Outcome one = run("--check --random=7");
  INFO(one.output);
  CHECK(one.status == 0);
  CHECK(one.has("sum_08_warp_shuffle: PASS, "));
  CHECK(one.has(" checks at 7 random shapes\n"));
  const auto size = [](const std::string& arguments) {
    const std::string output = run("--json --check --random=1 " + arguments).output;
    const std::size_t begin = output.find("\"size\": ");
    return output.substr(begin, output.find('}', begin) - begin);
  };
  CHECK(size("--seed=3").find("\"size\": {\"n\": ") == 0);
  CHECK(size("--seed=3") == size("--seed=3"));
  CHECK(size("--seed=3") != size("--seed=4"));
  CHECK(size("--seed=3") != size("--seed=3 --first=1"));

  const Outcome bug = run_program(BUG_PROGRAM, "--check --random=40");
  INFO(bug.output);
  CHECK(bug.status == 1);
  CHECK(bug.has("FAIL, random shape "));
}

TEST_CASE("--once runs each step once, and says that it checks nothing") {
  for (const std::string options : {"--once --n=1025", "--once --misaligned --n=1025"}) {
    const Outcome once = run(options);
    INFO(once.output);
    CHECK(once.status == 0);
    CHECK(once.output == "sum_08_warp_shuffle: run once, n=1025, not checked\n");
    const Outcome json = run(options + " --json");
    CHECK(json.has("\"step\": \"08_warp_shuffle\""));
    CHECK(json.has("\"size\": {\"n\": 1025}"));
    CHECK(!json.has("verified"));
  }
  const Outcome all = run_program(LADDER_PROGRAM, "--once --rows=100 --cols=100");
  CHECK(all.has("add_2d_01_"));
  CHECK(all.has("add_2d_03_loop_over_rows: run once, rows=100 cols=100, not checked\n"));
}

TEST_CASE("a step whose grid is too small is skipped in its ladder, by name, and alone bad usage") {
  const std::string why = "--rows: this step takes at most 524280, 65535 blocks of 8 in gridDim.y\n";
  for (const std::string options : {"--rows=524281 --cols=1", "--check --rows=524281 --cols=1"}) {
    const Outcome all = run_program(LADDER_PROGRAM, options);
    INFO(all.output);
    CHECK(all.status == 0);
    CHECK(all.has("add_2d_02_columns_on_x: skipped, " + why));
    CHECK(!all.has("add_2d_02_columns_on_x: PASS"));
    CHECK(!all.has("add_2d_02_columns_on_x  "));
    CHECK(all.has("add_2d_03_loop_over_rows"));

    const Outcome alone = run_program(SMALL_GRID_PROGRAM, options);
    INFO(alone.output);
    CHECK(alone.status == 2);
    CHECK(alone.has(why));
  }
  CHECK(run_program(SMALL_GRID_PROGRAM, "--check --rows=524280 --cols=1").status == 0);
}

TEST_CASE("--record says for scripts what became of each step") {
  const std::string path = "record." + std::to_string(getpid());
  const auto record = [&](const std::string& program, const std::string& arguments) {
    run_program(program, arguments + " --record=" + path);
    std::ifstream file(path);
    std::stringstream text;
    text << file.rdbuf();
    std::remove(path.c_str());
    return Outcome{0, text.str()};
  };
  CHECK(record(STEP_PROGRAM, "--n=33").has("\"verified\": true"));
  const Outcome bug = record(BUG_PROGRAM, "--check --smallest-first");
  INFO(bug.output);
  CHECK(bug.has("\"verified\": false, \"failure\": {\"what\": \"value\""));
  for (const char* fact : {"\"size\": \"n=1\"", "\"options\": [\"--n=1\"]", "\"data\": ", "\"buffer\": \"out\"",
                           "\"index\": 0", "\"got\": ", "\"want\": "}) {
    CHECK(bug.has(fact));
  }
  CHECK(record(LADDER_PROGRAM, "--rows=524281 --cols=1").has("\"skipped\": \"--rows: this step takes at most 524280"));
}

#ifdef CUDA_EMU
TEST_CASE("--launch-only starts no thread") {
  CHECK(run("--launch-only --n=2^30").has("sum_08_warp_shuffle: launches"));
}
#endif

TEST_CASE("names") {
  CHECK(parse_names("a") == std::vector<std::string>{"a"});
  CHECK(parse_names("a,b") == std::vector<std::string>{"a", "b"});
  CHECK(parse_names("a,") == std::vector<std::string>{"a", ""});
  CHECK(parse_names("") == std::vector<std::string>{""});
}

// Runs `body` in a child process, which should end before `body` returns.
template <typename Body>
Outcome run_alone(const Body& body) {
  int ends[2];
  REQUIRE(pipe(ends) == 0);
  std::fflush(nullptr);
  const pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    body();
    _exit(0);
  }
  close(ends[1]);
  Outcome outcome{};
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;) outcome.output.append(buffer, n);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return outcome;
}

TEST_CASE("a task that takes too long ends the program") {
  const Outcome outcome = run_alone([] {
    Progress progress(1);
    progress.begin("sum_01_atomic", "checking n=8");
    sleep(30);
  });
  INFO(outcome.output);
  CHECK(outcome.status == kTimedOut);
  CHECK(outcome.has("sum_01_atomic: FAIL, not done after 1 s: checking n=8"));
}

TEST_CASE("a step that takes too long may be left out") {
  const Outcome outcome = run_alone([] {
    Progress progress(0);
    progress.begin("sum_01_atomic", "first run");
    progress.give_up_after(0.5, [] { std::puts("sum_01_atomic: left out"); });
    sleep(30);
    _exit(1);
  });
  CHECK(outcome.status == 0);
  CHECK(outcome.output == "sum_01_atomic: left out\n");
}

TEST_CASE("a step that was fast enough is not left out") {
  const Outcome outcome = run_alone([] {
    Progress progress(0);
    progress.begin("sum_01_atomic", "first run");
    progress.give_up_after(0.5, [] { std::puts("sum_01_atomic: left out"); });
    progress.begin("sum_01_atomic", "checking");
    usleep(1000000);
  });
  CHECK(outcome.status == 0);
  CHECK(outcome.output.empty());
}

TEST_CASE("a task without a limit goes on") {
  const Outcome outcome = run_alone([] {
    Progress progress(1);
    progress.begin("sum", "making inputs", 0);
    usleep(1500000);
  });
  CHECK(outcome.status == 0);
  CHECK(outcome.output.empty());
}
