// Times steps, step 00 and the ceiling in turns. GPU only.
#pragma once
#include "bench.cuh"
#include "places.hpp"
#include "printed.hpp"
#include "report.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <vector>

namespace ladder {

inline const Step* vendor_step() {
  for (const Step& step : steps()) {
    if (step.is_vendor()) return &step;
  }
  return nullptr;
}

// Returns the timings of the steps, in their order, followed by the ceiling's.
inline std::vector<Contestant> time_in_turns(const std::vector<const Step*>& timed, const Size& size, Places& places,
                                             Clock& clock, const Device& device, const StopRule& rule = {},
                                             bool warm = true) {
  constexpr double low_clock = 0.75;  // of the boost clock
  const Unprinted timing;
  const Problem& problem = *timed.front()->problem;
  for (const Step* step : timed) step->problem->run(places.arrays_of(*step), size);  // loads code, allocates scratch
  CUDA_CHECK(cudaDeviceSynchronize());
  require_free(problem, size, static_cast<double>(plan_ceiling(problem, size).bytes_each));
  const std::unique_ptr<OwnCeiling> ceiling = make_ceiling(problem, size);
  ceiling->run();
  CUDA_CHECK(cudaDeviceSynchronize());

  std::deque<bool> waits(timed.size() + 1, false);
  std::vector<Contestant> contestants;
  const auto add = [&](bool on_device, const std::function<void()>& prepare, const std::function<void()>& run) {
    Contestant contestant;
    bool& waits_inside = waits[contestants.size()];
    contestant.cold = [&clock, prepare, run, &waits_inside] { return clock.cold(prepare, run, waits_inside); };
    // No warm time for steps that move data to the device: back to back they would find it there.
    if (on_device && warm) {
      contestant.warm = [&clock, run, &waits_inside](int launches) {
        return waits_inside ? Sample{-1, 0} : clock.warm(run, launches);
      };
    }
    contestants.push_back(contestant);
  };
  for (const Step* step : timed) {
    const Arrays& arrays = places.arrays_of(*step);
    const auto prepare = [&own = *step->problem, &arrays, &size] { own.prepare(arrays, size); };
    const auto run = [&own = *step->problem, &arrays, &size] { own.run(arrays, size); };
    add(step->problem->place() == Place::device, prepare, run);
  }
  add(
      false, [] {}, [&] { ceiling->run(); });
  Interleaving(low_clock * device.boost_mhz, rule).time(contestants);
  for (Contestant& contestant : contestants) contestant.cold = nullptr, contestant.warm = nullptr;  // capture locals
  return contestants;
}

// Stores the results of time_in_turns. rows[r] belongs to timed[r]; `timed` may have more steps than there are rows.
inline void put_timings(const std::vector<Row*>& rows, const std::vector<const Step*>& timed,
                        const std::vector<Contestant>& contestants) {
  const Contestant* vendor_times = nullptr;
  for (std::size_t c = 0; c < timed.size(); ++c) {
    if (timed[c]->is_vendor()) vendor_times = &contestants[c];
  }
  for (std::size_t r = 0; r < rows.size(); ++r) {
    Row& row = *rows[r];
    row.cold = contestants[r].cold_timing;
    row.warm = contestants[r].warm_timing;
    row.of_ceiling = contestants.back().cold_timing.median_us / row.cold.median_us;
    if (vendor_times) row.vs_vendor = vendor_times->cold_timing.median_us / row.cold.median_us;
    if (vendor_times && vendor_times->warm_timing.samples > 0 && row.warm.samples > 0) {
      row.warm_vs_vendor = vendor_times->warm_timing.median_us / row.warm.median_us;
    }
  }
}

}  // namespace ladder
