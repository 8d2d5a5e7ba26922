// GELU by the tanh formula, on the device.
#pragma once

// Returns z / 2 (1 + tanh t) = z / (1 + exp(-2 t)), t = sqrt(2 / pi) (z + 0.044715 z^3), exp(-2 t) = 2^(-2 log2(e) t).
// With 1 + tanh t, z = -4 would give 1 - 0.99997 and lose most digits. If the power is infinite, the result is -0.
__device__ inline float gelu_tanh(float z) {
  return __fdividef(z, 1.0f + exp2f(z * (-2.30220820f - 0.102943240f * z * z)));
}
