#include "request.hpp"

#include <algorithm>

namespace cuda_emu::trace {
namespace {

template <class Action>
void for_each_lane(unsigned lanes, Action action) {
  for (; lanes != 0; lanes &= lanes - 1) action(static_cast<unsigned>(__builtin_ctz(lanes)));
}

// A sorted set of values.
struct Values {
  std::array<std::uint64_t, 64> value;
  unsigned count = 0;

  void add(std::uint64_t v) {
    if (count == 0 || v > value[count - 1]) {
      value[count++] = v;
      return;
    }
    const auto end = value.begin() + count;
    const auto place = std::lower_bound(value.begin(), end, v);
    if (*place == v) return;
    std::copy_backward(place, end, end + 1);
    *place = v;
    ++count;
  }
};

// Returns true if for each active lane the lane ^ distance is inactive or at the same address.
bool in_pairs(const Request& request, unsigned lanes, unsigned distance) {
  bool all = true;
  for_each_lane(lanes, [&](unsigned lane) {
    const unsigned other = lane ^ distance;
    if (request.lanes >> other & 1) all &= request.address[lane] == request.address[other];
  });
  return all;
}

bool served_together(const Request& request, unsigned lanes) {
  return in_pairs(request, lanes, 1) || in_pairs(request, lanes, 2);
}

// Returns the wavefronts of one access of the given lanes: the maximum number of words in one bank.
unsigned passes_of(const Request& request, unsigned lanes, bool atomic, unsigned first_pass,
                   std::array<int, 32>* pass) {
  // 32 lanes of 4 bytes, 16 of 8, 8 of 16, or twice as many that share addresses: at most 64 words
  std::array<std::uint64_t, 64> word_at;
  std::array<unsigned char, 64> rank;
  std::array<unsigned char, kBanks> in_bank{};
  unsigned words = 0;
  unsigned most = 0;
  const unsigned words_per_lane = std::max(1u, request.width / kBankBytes);
  for_each_lane(lanes, [&](unsigned lane) {
    int last = 0;
    for (unsigned w = 0; w < words_per_lane; ++w) {
      const std::uint64_t word = request.address[lane] / kBankBytes + w;
      unsigned found = words;
      if (!atomic && in_bank[word % kBanks] != 0) {
        for (found = 0; found < words && word_at[found] != word; ++found) {
        }
      }
      if (found == words) {
        word_at[words] = word;
        rank[words++] = in_bank[word % kBanks]++;
        most = std::max<unsigned>(most, in_bank[word % kBanks]);
      }
      last = std::max<int>(last, rank[found]);
    }
    if (pass != nullptr) (*pass)[lane] = static_cast<int>(first_pass) + last;
  });
  return most;
}

}  // namespace

Cost sectors(const Request& request) {
  Values touched;
  Values addresses;
  for_each_lane(request.lanes, [&](unsigned lane) {
    const std::uint64_t address = request.address[lane];
    touched.add(address / kSectorBytes);
    touched.add((address + request.width - 1) / kSectorBytes);
    addresses.add(address);
  });
  return {touched.count, (addresses.count * request.width + kSectorBytes - 1) / kSectorBytes};
}

Cost wavefronts(const Request& request, bool atomic, std::array<int, 32>* pass) {
  Cost cost;
  const auto serve = [&](unsigned lanes) {
    if ((lanes & request.lanes) == 0) return;
    cost.units += passes_of(request, lanes & request.lanes, atomic, cost.units, pass);
    ++cost.ideal;
  };
  if (request.width <= 4) {
    serve(~0u);
  } else if (request.width == 8) {
    if (!atomic && served_together(request, request.lanes)) {
      serve(~0u);
    } else {
      serve(0x0000ffffu);
      serve(0xffff0000u);
    }
  } else {
    for (const unsigned half : {0x0000ffffu, 0xffff0000u}) {
      if (!atomic && served_together(request, request.lanes & half)) {
        serve(half);
      } else {
        serve(half & 0x00ff00ffu);
        serve(half & 0xff00ff00u);
      }
    }
  }
  return cost;
}

Cost words(const Request& request) {
  Values touched;
  for_each_lane(request.lanes, [&](unsigned lane) { touched.add(request.address[lane] / kBankBytes); });
  return {touched.count, 1};
}

unsigned same_address(const Request& request) {
  unsigned most = 0;
  for (unsigned rest = request.lanes; rest != 0;) {
    const std::uint64_t address = request.address[static_cast<unsigned>(__builtin_ctz(rest))];
    unsigned together = 0;
    for_each_lane(rest, [&](unsigned lane) { together |= request.address[lane] == address ? 1u << lane : 0u; });
    most = std::max(most, static_cast<unsigned>(__builtin_popcount(together)));
    rest &= ~together;
  }
  return most;
}

}  // namespace cuda_emu::trace
