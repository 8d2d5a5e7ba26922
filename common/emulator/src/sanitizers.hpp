// Detects AddressSanitizer and wraps the part of its interface that the emulator uses. Without it the functions do
// nothing.
#pragma once

#include <cstddef>

#if defined(__SANITIZE_ADDRESS__)
#define CUDA_EMU_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define CUDA_EMU_ASAN 1
#endif
#endif

#ifdef CUDA_EMU_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace cuda_emu {

#ifdef CUDA_EMU_ASAN
constexpr bool kAsan = true;
inline void poison(const void* memory, std::size_t size) { __asan_poison_memory_region(memory, size); }
inline void unpoison(const void* memory, std::size_t size) { __asan_unpoison_memory_region(memory, size); }
#else
constexpr bool kAsan = false;
inline void poison(const void*, std::size_t) {}
inline void unpoison(const void*, std::size_t) {}
#endif

}  // namespace cuda_emu
