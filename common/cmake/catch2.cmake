# ladder_catch2: the installed Catch2 (2.13 or 3.x), else 3.x, fetched. CATCH2_MAJOR is for runner/tests/catch.hpp.
find_package(Catch2 QUIET)
if(NOT Catch2_FOUND)
  include(FetchContent)
  FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git GIT_TAG v3.7.1 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(Catch2)
  set(Catch2_VERSION 3.7.1)
endif()
string(REGEX MATCH "^[0-9]+" major ${Catch2_VERSION})
add_library(ladder_catch2 INTERFACE)
target_link_libraries(ladder_catch2 INTERFACE Catch2::Catch2)
target_compile_definitions(ladder_catch2 INTERFACE CATCH2_MAJOR=${major})

# Precompiles what every test includes.
file(CONFIGURE OUTPUT test_headers.cpp CONTENT "" @ONLY)
add_library(ladder_test_headers OBJECT ${CMAKE_BINARY_DIR}/test_headers.cpp)
target_include_directories(ladder_test_headers PRIVATE ${LADDER_COMMON}/runner/tests)
target_link_libraries(ladder_test_headers PRIVATE ladder_catch2 ladder_options)
target_precompile_headers(ladder_test_headers PRIVATE
  ${LADDER_COMMON}/runner/tests/catch.hpp ${LADDER_COMMON}/runner/check.hpp)
