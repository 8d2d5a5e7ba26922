// The arguments of an attention call, for the any_shape programs.
#pragma once
#include "any_shape.cuh"

template <typename T>
struct AttentionCall {
  const T *Q, *K, *V;
  T* O;
  std::size_t heads, queries, keys;
  int d;
  bool causal;
  Shape shape() const {
    const std::size_t width = d, masked = causal;
    return {heads, queries, keys, width, masked, alignment(Q), alignment(K), alignment(V), alignment(O)};
  }
  template <typename Visit>
  void outputs(const Visit& visit) {
    visit(O, heads * queries * d, false);
  }
};

// Adapts a step's launch function to a candidate's.
template <typename T,
          void (*kLaunch)(const T*, const T*, const T*, T*, std::size_t, std::size_t, std::size_t, int, bool)>
void launch_call(const AttentionCall<T>& c) {
  kLaunch(c.Q, c.K, c.V, c.O, c.heads, c.queries, c.keys, c.d, c.causal);
}

template <typename T>
bool accepts_all(const AttentionCall<T>&) {
  return true;
}
