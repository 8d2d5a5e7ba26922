// Which threads a cuda::atomic, cuda::barrier or cuda::pipeline is for.
#pragma once

namespace cuda {

enum thread_scope { thread_scope_thread, thread_scope_block, thread_scope_device, thread_scope_system };

}  // namespace cuda
