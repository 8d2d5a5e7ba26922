// Problem:  in step 04 sincosf takes about 40 instructions to be within 2 ulp.
// Idea:     __sincosf: one instruction each in the special function unit. From -pi to pi the absolute error is at most
//           2^-21.19, which is many ulp if the result is near 0. Outside that range it grows with the angle.
// Expect:   2 to 4x step 04 at 2^26, 0.4 to 0.6 of a copy: 16 results per element, and the special function units of an
//           SM give 16 per clock: 257 us on an H200 (computed).
// Measured: 2.42x step 04, 0.48 of a copy at 2^26 (H200); 2.43x, 0.66 (H100).
// Next:     what else does -use_fast_math change? (Division, square roots, powf, subnormals, in the whole file.)
#include "math.cuh"

__global__ void math_intrinsics(const float* __restrict__ x, float* __restrict__ y, std::size_t n) {
  const std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = x[i];
  float sum = 0.0f;
  for (int k = 1; k <= kTerms; ++k) {
    float sine, cosine;
    __sincosf(0.125f * k * v, &sine, &cosine);
    sum += sine + cosine;
  }
  y[i] = v * v * v * sum;
}

static void launch(const float* x, float* y, std::size_t n) {
  if (n == 0) return;
  math_intrinsics<<<ceil_div(n, 256), 256>>>(x, y, n);
  CUDA_CHECK(cudaGetLastError());
}

// Raises *worst to the error of `got`, in ulp, if that is larger.
__device__ static void note(float* worst, float got, double want) {
  const double ulp = ldexp(1.0, max(ilogb(want), -126) - 23);
  atomicMax(reinterpret_cast<int*>(worst), __float_as_int(static_cast<float>(fabs(got - want) / ulp)));
}

__global__ void math_errors(float* worst) {  // 2^24 arguments up to 3
  const float v = 3.0f * static_cast<float>(blockIdx.x * blockDim.x + threadIdx.x + 1) / (1 << 24);
  const double w = v;
  note(worst, sinf(v), sin(w));
  note(worst + 1, __sinf(v), sin(w));
  note(worst + 2, expf(v), exp(w));
  note(worst + 3, __expf(v), exp(w));
  note(worst + 4, logf(v), log(w));
  note(worst + 5, __logf(v), log(w));
  note(worst + 6, powf(v, 3.0f), w * w * w);
  note(worst + 7, __powf(v, 3.0f), w * w * w);
  note(worst + 8, 1.0f / v, 1.0 / w);
  note(worst + 9, __fdividef(1.0f, v), 1.0 / w);
}

class Intrinsics : public Math {
 public:
  Intrinsics() : Math(launch, Functions::intrinsic) {}
  std::vector<ladder::Figure> figures(const ladder::Arrays&, const ladder::Size&) const override {
    const DeviceBuffer<float> worst(10);
    float ulp[10] = {};
    CUDA_CHECK(cudaMemcpy(worst.get(), ulp, sizeof ulp, cudaMemcpyHostToDevice));
    math_errors<<<(1 << 24) / 256, 256>>>(worst.get());
    CUDA_CHECK(cudaMemcpy(ulp, worst.get(), sizeof ulp, cudaMemcpyDeviceToHost));
    return {{"sinf_ulp", ulp[0]},     {"__sinf_ulp", ulp[1]},    {"expf_ulp", ulp[2]}, {"__expf_ulp", ulp[3]},
            {"logf_ulp", ulp[4]},     {"__logf_ulp", ulp[5]},    {"powf_ulp", ulp[6]}, {"__powf_ulp", ulp[7]},
            {"division_ulp", ulp[8]}, {"__fdividef_ulp", ulp[9]}};
  }
};

LADDER_STEP(Intrinsics);
