// A test that cannot run here says so; the program then exits with 77 unless something failed.
#pragma once
#include <string>

void skip_test(const std::string& why);
