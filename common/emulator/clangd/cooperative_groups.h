#pragma once

#include_next <cooperative_groups.h>

namespace cooperative_groups {

struct cluster_group {
  static void sync();
  static void barrier_arrive();
  static void barrier_wait();
  static unsigned block_rank();
  static unsigned num_blocks();
  static unsigned thread_rank();
  static unsigned num_threads();
  template <class T>
  static T* map_shared_rank(T* pointer, unsigned rank);
};
cluster_group this_cluster();

}  // namespace cooperative_groups
