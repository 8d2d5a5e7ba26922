// Decides the order in which contestants are timed and when each has enough samples, and evaluates the samples. Needs
// no GPU; tests/test_statistics.cpp uses a fake clock.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <random>
#include <vector>

namespace ladder {

// One timing, and the mean SM clock during it; 0 if unknown.
struct Sample {
  double us = 0;
  double sm_mhz = 0;
};

// A summary of samples.
struct Timing {
  std::size_t samples = 0;
  double median_us = 0, min_us = 0;
  double spread = -1;         // interquartile range over the median; below 0: too few samples
  double sm_mhz = 0;          // median clock; 0: unknown
  std::size_t throttled = 0;  // samples kept although their clock was below the floor
};

// Returns element q (n - 1) of n sorted values, interpolated, for q from 0 to 1.
inline double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

// Returns the times of the samples, sorted.
inline std::vector<double> sorted_us(const std::vector<Sample>& samples) {
  std::vector<double> us;
  for (const Sample& sample : samples) us.push_back(sample.us);
  std::sort(us.begin(), us.end());
  return us;
}

// Summarizes the samples. Those with a clock below `floor_mhz` count as throttled.
inline Timing summarize(const std::vector<Sample>& samples, double floor_mhz = 0) {
  constexpr std::size_t enough_for_quartiles = 8;
  Timing timing;
  timing.samples = samples.size();
  if (samples.empty()) return timing;
  const std::vector<double> us = sorted_us(samples);
  timing.min_us = us.front();
  timing.median_us = quantile(us, 0.5);
  const bool spread_known = us.size() >= enough_for_quartiles && timing.median_us > 0;
  if (spread_known) timing.spread = (quantile(us, 0.75) - quantile(us, 0.25)) / timing.median_us;
  std::vector<double> clocks;
  for (const Sample& sample : samples) {
    if (sample.sm_mhz <= 0) continue;
    clocks.push_back(sample.sm_mhz);
    timing.throttled += sample.sm_mhz < floor_mhz;
  }
  std::sort(clocks.begin(), clocks.end());
  if (!clocks.empty()) timing.sm_mhz = quantile(clocks, 0.5);
  return timing;
}

// Returns the standard error of the median, relative to the median. Of n samples, the number below the true median is
// binomial with standard deviation sqrt(n) / 2, so the samples that far on either side of the middle enclose two
// standard errors.
inline double median_error(const std::vector<Sample>& samples) {
  const std::vector<double> us = sorted_us(samples);
  const double n = static_cast<double>(us.size()), step = std::sqrt(n) / 2 / std::max(n - 1, 1.0);
  return (quantile(us, std::min(0.5 + step, 1.0)) - quantile(us, std::max(0.5 - step, 0.0))) / 2 / quantile(us, 0.5);
}

// Decides when a contestant has enough samples.
struct StopRule {
  std::size_t least = 25, most = 400;
  double error = 1e-3;     // of the median, relative
  double budget_us = 6e5;  // device time per contestant; `least_ever` samples are always taken
  std::size_t least_ever = 3;

  bool enough(const std::vector<Sample>& samples, double spent_us) const {
    if (samples.size() < least_ever) return false;
    if (spent_us > budget_us || samples.size() >= most) return true;
    return samples.size() >= least && median_error(samples) < error;
  }
};

// Something to time. warm() may return a sample with us < 0 if it can't be measured; it is then not called again.
struct Contestant {
  std::function<Sample()> cold;                   // one run with a cold L2
  std::function<Sample(int launches)> warm = {};  // per launch, of several back to back; optional
  Timing cold_timing = {}, warm_timing = {};
};

// Times all contestants in turns, in a new random order each round, so that none always follows the same neighbour and
// its heat or cache contents. A sample with the SM clock below `floor_mhz` is dropped and repeated. After three tries
// it is kept and counts as throttled.
class Interleaving {
 public:
  explicit Interleaving(double floor_mhz, StopRule rule = {}, unsigned seed = 1)
      : floor_mhz_(floor_mhz), rule_(rule), random_(seed) {}

  void time(std::vector<Contestant>& contestants) {
    std::vector<std::vector<Sample>> cold(contestants.size()), warm(contestants.size());
    std::vector<double> spent_us(contestants.size(), 0);
    std::vector<std::size_t> turns = all(contestants);
    while (!turns.empty()) {
      std::shuffle(turns.begin(), turns.end(), random_);
      for (const std::size_t c : turns) {
        const auto sample = [&] {
          const Sample one = contestants[c].cold();
          spent_us[c] += one.us;
          return one;
        };
        take(sample, cold[c]);
      }
      const auto done = [&](std::size_t c) { return rule_.enough(cold[c], spent_us[c]); };
      turns.erase(std::remove_if(turns.begin(), turns.end(), done), turns.end());
    }
    for (std::size_t c = 0; c < contestants.size(); ++c) {
      contestants[c].cold_timing = summarize(cold[c], floor_mhz_);
    }

    turns = all(contestants);
    for (int round = 0; round < kWarmRounds; ++round) {
      std::shuffle(turns.begin(), turns.end(), random_);
      const auto left_out = [&](std::size_t c) {
        return !contestants[c].warm || (round > 0 && contestants[c].cold_timing.median_us > kOneRoundAboveUs);
      };
      turns.erase(std::remove_if(turns.begin(), turns.end(), left_out), turns.end());
      std::vector<std::size_t> without;
      for (const std::size_t c : turns) {
        const int launches = static_cast<int>(std::clamp(kWarmUs / contestants[c].cold_timing.median_us, 1.0, 50.0));
        if (!take([&] { return contestants[c].warm(launches); }, warm[c])) without.push_back(c);
      }
      for (const std::size_t c : without) turns.erase(std::find(turns.begin(), turns.end(), c));
    }
    for (std::size_t c = 0; c < contestants.size(); ++c) {
      contestants[c].warm_timing = summarize(warm[c], floor_mhz_);
    }
  }

 private:
  static constexpr int kTries = 3, kWarmRounds = 7;
  static constexpr double kWarmUs = 5e3;           // duration of launches back to back, at most 50 of them
  static constexpr double kOneRoundAboveUs = 2e5;  // runs that take longer get one round

  static std::vector<std::size_t> all(const std::vector<Contestant>& contestants) {
    std::vector<std::size_t> turns(contestants.size());
    for (std::size_t c = 0; c < turns.size(); ++c) turns[c] = c;
    return turns;
  }

  template <typename TakeSample>
  bool take(const TakeSample& sample, std::vector<Sample>& samples) const {
    Sample one;
    for (int tries = 0; tries < kTries; ++tries) {
      one = sample();
      if (one.us < 0) return false;
      if (one.sm_mhz <= 0 || one.sm_mhz >= floor_mhz_) break;
    }
    samples.push_back(one);
    return true;
  }

  double floor_mhz_;
  StopRule rule_;
  std::mt19937 random_;
};

}  // namespace ladder
