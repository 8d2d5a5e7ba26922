// Includes Catch2's header, version 2 or 3; see catch2.cmake.
#pragma once
#if CATCH2_MAJOR >= 3
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
