// Records that a test cannot run here; the program then exits with 77 unless a test fails.
#pragma once
#include <string>

void skip_test(const std::string& why);
