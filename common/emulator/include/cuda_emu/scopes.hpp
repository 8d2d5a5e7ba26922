// The scopes of cuda::atomic, cuda::barrier and cuda::pipeline: the threads that use the object.
#pragma once

namespace cuda {

enum thread_scope { thread_scope_thread, thread_scope_block, thread_scope_device, thread_scope_system };

}  // namespace cuda
