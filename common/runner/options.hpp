// Parses the command line. Every error in it is a UsageError.
#pragma once
#include "problem.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

namespace ladder {

struct Options {
  bool sized = false;  // a dimension or scalar, or --small, was given
  Size size;           // with defaults filled in
  std::uint64_t seed = 1;
  std::vector<std::string> only;      // names of steps; empty: all
  std::string printed;                // file for what steps print; empty: standard output
  std::string record;                 // file for verdicts as JSON; empty: none
  std::string data;                   // with --check or --trace: only this kind; empty: all, or the first for --trace
  std::size_t random = 0, first = 0;  // number of random shapes, and number of the first one
  unsigned seconds = 0;               // with --check: CPU time after which no other size is begun; 0: no limit
  unsigned timeout = 0;               // seconds for one step's check at one size; 0: no limit
  bool check = false, bench = false, json = false, help = false, device = false, exact_buffers = false, quiet = false,
       skip_slow = false, once = false, misaligned = false, trace = false, smallest_first = false, brief = false,
       random_data = false, lenient = false, aligned = false, zeroed = false, launch_only = false, events = false;
};

// Parses a whole number from 0 to `max`, plain or as a power such as 2^28.
inline std::size_t parse_number(const std::string& option, const std::string& text, std::size_t max) {
  const auto fail = [&]() -> std::size_t {
    throw UsageError(option + ": '" + text + "' is not a whole number from 0 to " + std::to_string(max) +
                     " (2^28 is understood too)");
  };
  const auto digits = [&](const std::string& s) -> std::size_t {
    if (s.empty() || s.size() > 19) return fail();
    for (const char c : s) {
      if (!std::isdigit(static_cast<unsigned char>(c))) return fail();
    }
    return std::strtoull(s.c_str(), nullptr, 10);
  };
  std::size_t value = 1;
  const std::size_t caret = text.find('^');
  if (caret == std::string::npos) {
    value = digits(text);
    if (value > max) return fail();
    return value;
  }
  const std::size_t base = digits(text.substr(0, caret)), exponent = digits(text.substr(caret + 1));
  if (exponent > 63) return fail();
  for (std::size_t i = 0; i < exponent; ++i) {
    if (base != 0 && value > max / base) return fail();
    value *= base;
  }
  if (value > max) return fail();
  return value;
}

// Parses a finite number such as 1, -0.5 or 1e-3.
inline float parse_scalar(const std::string& option, const std::string& text) {
  char* end = nullptr;
  const float value = std::strtof(text.c_str(), &end);
  if (text.empty() || *end != '\0' || std::isspace(static_cast<unsigned char>(text[0])) || !std::isfinite(value)) {
    throw UsageError(option + ": '" + text + "' is not a finite number");
  }
  return value;
}

// "a,b" -> {"a", "b"}
inline std::vector<std::string> parse_names(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t begin = 0, end; begin <= text.size(); begin = end + 1) {
    end = std::min(text.find(',', begin), text.size());
    names.push_back(text.substr(begin, end - begin));
  }
  return names;
}

// Returns the index of the dimension or scalar that `option` sets, or all.size() if there is none.
template <typename Named>
std::size_t index_of(const std::vector<Named>& all, const std::string& option) {
  std::size_t i = 0;
  while (i < all.size() && option != std::string("--") + all[i].name) ++i;
  return i;
}

inline Options parse_options(int argc, char** argv, const std::vector<Dim>& dims, const std::vector<Scalar>& scalars,
                             bool gpu) {
  Options options;
  for (const Dim& d : dims) options.size.dims.push_back(gpu ? d.gpu_default : d.cpu_default);
  for (const Scalar& s : scalars) options.size.scalars.push_back(s.default_value);
  for (int i = 1; i < argc; ++i) {
    const std::string argument = argv[i];
    const std::size_t equals = argument.find('=');
    const std::string name = argument.substr(0, equals);
    const auto is_flag = [&](const char* flag) {
      if (name != flag) return false;
      if (equals != std::string::npos) throw UsageError(name + " takes no value");
      return true;
    };
    if (is_flag("--check")) {
      options.check = true;
    } else if (is_flag("--smallest-first")) {
      options.smallest_first = true;
    } else if (is_flag("--brief")) {
      options.brief = true;
    } else if (is_flag("--random-data")) {
      options.random_data = true;
    } else if (is_flag("--aligned")) {
      options.aligned = true;
    } else if (is_flag("--zeroed")) {
      options.zeroed = true;
    } else if (is_flag("--lenient")) {
      options.lenient = true;
    } else if (is_flag("--launch-only")) {
      options.launch_only = true;
    } else if (is_flag("--bench")) {
      options.bench = true;
    } else if (is_flag("--json")) {
      options.json = true;
    } else if (is_flag("--device")) {
      options.device = true;
    } else if (is_flag("--exact-buffers")) {
      options.exact_buffers = true;
    } else if (is_flag("--skip-slow")) {
      options.skip_slow = true;
    } else if (is_flag("--once")) {
      options.once = true;
    } else if (is_flag("--misaligned")) {
      options.misaligned = true;
    } else if (is_flag("--quiet")) {
      options.quiet = true;
    } else if (is_flag("--trace")) {
      options.trace = true;
    } else if (is_flag("--events")) {
      options.events = true;
    } else if (is_flag("--small")) {
      for (std::size_t d = 0; d < dims.size(); ++d) options.size.dims[d] = dims[d].cpu_default;
      options.sized = true;
    } else if (is_flag("--help") || is_flag("-h")) {
      options.help = true;
    } else {
      const std::size_t dim = index_of(dims, name), scalar = index_of(scalars, name);
      const bool known = name == "--seed" || name == "--only" || name == "--timeout" || name == "--random" ||
                         name == "--first" || name == "--printed" || name == "--record" || name == "--data" ||
                         name == "--seconds";
      if (dim == dims.size() && scalar == scalars.size() && !known) {
        throw UsageError("unknown option '" + argument + "'; see --help");
      }
      if (equals == std::string::npos && i + 1 == argc) throw UsageError(name + " needs a value");
      const std::string value = equals == std::string::npos ? argv[++i] : argument.substr(equals + 1);
      if (name == "--seed") {
        options.seed = parse_number(name, value, std::numeric_limits<std::uint64_t>::max() >> 1);
      } else if (name == "--only") {
        options.only = parse_names(value);
      } else if (name == "--printed") {
        options.printed = value;
      } else if (name == "--record") {
        options.record = value;
      } else if (name == "--data") {
        options.data = value;
      } else if (name == "--seconds") {
        options.seconds = static_cast<unsigned>(parse_number(name, value, 1000000));
      } else if (name == "--timeout") {
        options.timeout = static_cast<unsigned>(parse_number(name, value, 1000000));
      } else if (name == "--random") {
        options.random = parse_number(name, value, 1000000);
        if (options.random == 0) throw UsageError("--random: at least 1 shape");
      } else if (name == "--first") {
        options.first = parse_number(name, value, 1000000000);
      } else if (dim < dims.size()) {
        options.size.dims[dim] = parse_number(name, value, dims[dim].max);
        options.sized = true;
      } else {
        options.size.scalars[scalar] = parse_scalar(name, value);
        options.sized = true;
      }
    }
  }
  const bool how_to_check = options.smallest_first || options.brief || options.random_data || options.lenient ||
                            options.aligned || options.zeroed || options.seconds > 0;
  if (how_to_check && !options.check)
    throw UsageError(
        "--smallest-first, --brief, --random-data, --aligned, --zeroed, --lenient and --seconds go with --check");
  if (!options.data.empty() && !options.check && !options.trace)
    throw UsageError("--data goes with --check or --trace");
  if (options.events && !(options.trace && options.json)) throw UsageError("--events goes with --trace --json");
  if (options.launch_only && (options.check || options.bench || options.once || options.trace || options.random > 0))
    throw UsageError("--launch-only goes with none of --check, --bench, --once, --trace and --random");
  if (options.check && options.bench) throw UsageError("--check and --bench exclude each other");
  if (options.once && (options.check || options.bench))
    throw UsageError("--once goes with neither --check nor --bench");
  if (options.trace && (options.check || options.bench || options.once))
    throw UsageError("--trace goes with none of --check, --bench and --once");
  if (options.random > 0 && (options.sized || options.bench || options.once || options.trace))
    throw UsageError("--random draws the sizes: neither a size nor --bench, --once and --trace go with it");
  if (options.first > 0 && options.random == 0) throw UsageError("--first goes with --random");
  if (options.misaligned && !options.once && !options.trace)
    throw UsageError("--misaligned goes with --once or --trace");
  return options;
}

}  // namespace ladder
