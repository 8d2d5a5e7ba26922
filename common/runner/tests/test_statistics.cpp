// Tests the statistics with a fake clock: order statistics, the stop rule, and turns.
#include "catch.hpp"
#include "runner/statistics.hpp"

#include <map>
#include <set>

using namespace ladder;

namespace {

std::vector<Sample> samples(const std::vector<double>& us, double mhz = 0) {
  std::vector<Sample> all;
  for (const double t : us) all.push_back({t, mhz});
  return all;
}

// Samples of 1, 2, ... n us, unsorted.
std::vector<Sample> one_to(std::size_t n) {
  std::vector<double> us;
  for (std::size_t i = 0; i < n; ++i) us.push_back(static_cast<double>((i * 7 + 3) % n + 1));
  return samples(us);
}

}  // namespace

TEST_CASE("median, minimum and spread") {
  const Timing none = summarize({});
  CHECK(none.samples == 0);

  const Timing odd = summarize(one_to(9));
  CHECK(odd.samples == 9);
  CHECK(odd.median_us == Approx(5));
  CHECK(odd.min_us == 1);
  CHECK(odd.spread == Approx((7.0 - 3.0) / 5));

  CHECK(summarize(one_to(10)).median_us == Approx(5.5));
  CHECK(summarize(samples({4})).median_us == 4);
  CHECK(summarize(samples({4, 2})).median_us == Approx(3));

  // A single slow sample hardly moves the median and the spread.
  std::vector<double> us(99, 10.0);
  us.push_back(1e6);
  CHECK(summarize(samples(us)).median_us == 10);
  CHECK(summarize(samples(us)).spread == 0);
}

TEST_CASE("a few samples have no spread") {
  CHECK(summarize(samples({5, 5, 5})).spread < 0);
  CHECK(summarize(samples({1, 2, 3, 4, 5, 6, 7})).spread < 0);
  CHECK(summarize(samples({1, 2, 3, 4, 5, 6, 7, 8})).spread > 0);
  CHECK(summarize(samples(std::vector<double>(8, 0.0))).spread < 0);  // 0 / 0
}

TEST_CASE("clocks") {
  CHECK(summarize(samples({1, 2, 3})).sm_mhz == 0);
  std::vector<Sample> mixed = {{1, 1980}, {2, 1400}, {3, 0}, {4, 1900}};
  const Timing timing = summarize(mixed, 1485);
  CHECK(timing.sm_mhz == Approx(1900));
  CHECK(timing.throttled == 1);
  CHECK(summarize(mixed).throttled == 0);
}

TEST_CASE("the error of the median") {
  // For 1 to 100 the median is 50.5; sqrt(100) / 2 = 5 ranks from it are 45.5 and 55.5.
  CHECK(median_error(one_to(100)) == Approx(5 / 50.5));
  CHECK(median_error(samples(std::vector<double>(25, 3.0))) == 0);
  // Outliers, a quarter of the samples, do not change it. The mean would need many more samples.
  std::vector<double> us(60, 10.0);
  us.insert(us.end(), 20, 1000.0);
  CHECK(median_error(samples(us)) == 0);
}

TEST_CASE("the stop rule looks at the median, the number and the time spent") {
  const StopRule rule;
  const std::vector<Sample> steady = samples(std::vector<double>(30, 10.0));
  const std::vector<Sample> few(steady.begin(), steady.begin() + 24);
  CHECK(rule.enough(steady, 300));
  CHECK_FALSE(rule.enough(few, 240));
  CHECK_FALSE(rule.enough(one_to(30), 300));
  CHECK(rule.enough(one_to(400), 300));
  CHECK(rule.enough(samples({3e5, 3e5, 3e5}), 9e5));
  CHECK_FALSE(rule.enough(samples({9e5, 9e5}), 18e5));

  // Two speeds, 60 and 40 of 100 samples: the median is the first one, though the mean's error is 2 %.
  std::vector<double> two(60, 10.0);
  two.insert(two.end(), 40, 15.0);
  CHECK(rule.enough(samples(two), 1200));
}

TEST_CASE("turns: everybody once a round, in another order each time, nobody after it has settled") {
  constexpr std::size_t count = 5;
  std::vector<Contestant> contestants(count);
  std::vector<std::size_t> order;
  std::map<std::size_t, std::size_t> calls;
  for (std::size_t c = 0; c < count; ++c) {
    contestants[c].cold = [&, c] {
      order.push_back(c);
      const std::size_t call = calls[c]++;
      // The last one never settles: it becomes slower and slower.
      return Sample{c + 1 < count ? 10.0 * static_cast<double>(c + 1) : 100.0 + static_cast<double>(call), 0};
    };
  }
  Interleaving(0).time(contestants);
  for (std::size_t c = 0; c + 1 < count; ++c) {
    CHECK(contestants[c].cold_timing.samples == 25);
    CHECK(contestants[c].cold_timing.median_us == Approx(10.0 * static_cast<double>(c + 1)));
  }
  CHECK(contestants.back().cold_timing.samples == 400);

  std::set<std::vector<std::size_t>> rounds;
  std::set<std::pair<std::size_t, std::size_t>> neighbours;
  for (std::size_t round = 0; round < 25; ++round) {
    const std::vector<std::size_t> turn(order.begin() + round * count, order.begin() + (round + 1) * count);
    CHECK(std::set<std::size_t>(turn.begin(), turn.end()).size() == count);
    rounds.insert(turn);
    for (std::size_t i = 1; i < count; ++i) neighbours.insert({turn[i - 1], turn[i]});
  }
  CHECK(rounds.size() > 12);
  CHECK(neighbours.size() == count * (count - 1));  // each one follows each other one at least once
  for (const Contestant& contestant : contestants) CHECK(contestant.warm_timing.samples == 0);
}

TEST_CASE("samples at a low clock are taken again, three times, then kept and counted") {
  std::vector<Contestant> contestants(2);
  std::size_t calls = 0, hot_calls = 0;
  contestants[0].cold = [&] { return ++calls % 2 == 1 ? Sample{99, 1000} : Sample{10, 1900}; };  // recovers
  contestants[1].cold = [&] { return ++hot_calls, Sample{50, 1000}; };                           // does not
  Interleaving(1485).time(contestants);
  CHECK(contestants[0].cold_timing.samples == 25);
  CHECK(contestants[0].cold_timing.throttled == 0);
  CHECK(contestants[0].cold_timing.min_us == 10);
  CHECK(contestants[0].cold_timing.median_us == 10);
  CHECK(calls == 50);
  CHECK(contestants[1].cold_timing.samples == 25);
  CHECK(contestants[1].cold_timing.throttled == 25);
  CHECK(contestants[1].cold_timing.sm_mhz == 1000);
  CHECK(hot_calls == 75);
}

TEST_CASE("time spent on dropped samples counts too") {
  std::vector<Contestant> contestants(1);
  std::size_t calls = 0;
  contestants[0].cold = [&] { return ++calls, Sample{1e5 + static_cast<double>(calls), 1000}; };
  Interleaving(1485).time(contestants);
  CHECK(contestants[0].cold_timing.samples == 3);  // three tries each: 0.9 s, the budget is 0.6
  CHECK(calls == 9);
}

TEST_CASE("warm times") {
  std::vector<Contestant> contestants(4);
  std::vector<std::vector<int>> launches(4);
  const double us[] = {10, 1000, 1e6, 10};
  for (std::size_t c = 0; c < 4; ++c) {
    contestants[c].cold = [&, c] { return Sample{us[c], 0}; };
    contestants[c].warm = [&, c](int count) {
      launches[c].push_back(count);
      return Sample{c == 3 ? -1 : us[c] / 2, 0};
    };
  }
  Interleaving(0).time(contestants);
  CHECK(launches[0] == std::vector<int>(7, 50));  // 5 ms, but at most 50 launches
  CHECK(launches[1] == std::vector<int>(7, 5));
  CHECK(launches[2] == std::vector<int>(1, 1));  // too long for more than one round
  CHECK(launches[3].size() == 1);                // cannot be measured
  CHECK(contestants[0].warm_timing.median_us == 5);
  CHECK(contestants[0].warm_timing.samples == 7);
  CHECK(contestants[3].warm_timing.samples == 0);
}
