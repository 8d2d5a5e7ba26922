# Catch2 as installed (2.13 or 3.x), else 3.x fetched.
find_package(Catch2 QUIET)
if(NOT Catch2_FOUND)
  include(FetchContent)
  FetchContent_Declare(Catch2 GIT_REPOSITORY https://github.com/catchorg/Catch2.git GIT_TAG v3.7.1 GIT_SHALLOW ON)
  FetchContent_MakeAvailable(Catch2)
endif()
