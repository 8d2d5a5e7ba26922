// The experts that one thread has chosen for one token: a sorted list in registers, as in top_k 02.
#pragma once
#include "../key_index.cuh"
#include "moe_route.cuh"

template <int kMost>
struct BestExperts {
  int key[kMost], expert[kMost];  // greatest key first; of equal keys, the lower expert

  __device__ BestExperts() {
#pragma unroll
    for (int i = 0; i < kMost; ++i) key[i] = no_element().key, expert[i] = 0;
  }

  // Must be called with experts in ascending order, so that of equal logits the first one stays in front.
  __device__ void offer(float logit, int e) {
    const int k = argmax_key(logit);
    if (k <= key[kMost - 1]) return;
#pragma unroll
    for (int i = kMost - 1; i >= 0; --i) {
      if (i > 0 && k > key[i - 1]) {
        key[i] = key[i - 1], expert[i] = expert[i - 1];
      } else if (k > key[i]) {
        key[i] = k, expert[i] = e;
      }
    }
  }

  // Returns the logit, except that a -0 becomes +0.
  __device__ float logit(int i) const { return __int_as_float(key[i] ^ (key[i] >> 31 & 0x7fffffff)); }

  // Stores the token's k experts and the softmax of their logits.
  __device__ void store(int* chosen, float* weights, int k) const {
    float exps[kMost], sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < k) sum += exps[i] = expf(logit(i) - logit(0));
    }
#pragma unroll
    for (int i = 0; i < kMost; ++i) {
      if (i < k) chosen[i] = expert[i], weights[i] = exps[i] / sum;
    }
  }
};
