// CUDA 12 dropped this header, which clang's own CUDA headers up to version 15 include; .clangd lets them find it here.
