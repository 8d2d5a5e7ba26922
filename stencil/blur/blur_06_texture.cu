// Problem:  steps 01 to 05 clamp indices with instructions.
// Idea:     let the texture unit clamp. A texture object has the image's address, size and pitch, and the address mode.
//           An image that exceeds its limits is copied in pieces into pitched memory.
// Expect:   0.17 to 0.23 of a copy (H200): 9 fetches per pixel, and an SM's four texture units return at most 4 texels
//           per clock: 132 x 4 x 1.98 GHz / 9 = 116 pixels per ns, 930 GB/s.
// Measured: 0.62x step 05, 0.19 of a copy at 8192x8192 (H200); 0.62x, 0.26 (H100).
// Why:      as computed: 76 % of all stalls wait for the texture unit's queue (ncu).
// Next:     three pixels, one below the other, use the same row sum. Which thread could keep it in a register?
// needs: gpu
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;
// of a piece with its halo; every GPU supports textures of 131072 x 65000 texels
constexpr std::size_t kMaxCols = 1 << 16, kMaxRows = 1 << 15;

// Blurs a piece of rows x cols pixels, not counting its halo. `pitch` is that of `out`. Texel centres are at i + 0.5.
__global__ void blur_texture(cudaTextureObject_t in, float* __restrict__ out, int rows, int cols, long long pitch) {
  const int row = blockIdx.y * kTileY + threadIdx.y;
  const int col = blockIdx.x * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWindow; ++i) {
#pragma unroll
    for (int j = 0; j < kWindow; ++j) sum += tex2D<float>(in, col + j + 0.5f, row + i + 0.5f);
  }
  out[row * pitch + col] = sum * kNinth;
}

// Returns a clamping texture of the image at `in`. The last one is cached: creating one takes the host microseconds.
static cudaTextureObject_t texture_of(const float* in, std::size_t rows, std::size_t cols, std::size_t pitch_bytes) {
  static cudaTextureObject_t texture = 0;
  static cudaResourceDesc current = {};
  cudaResourceDesc image = {};
  image.resType = cudaResourceTypePitch2D;
  image.res.pitch2D = {const_cast<float*>(in), cudaCreateChannelDesc<float>(), cols, rows, pitch_bytes};
  const auto& a = image.res.pitch2D;
  const auto& b = current.res.pitch2D;
  if (texture && a.devPtr == b.devPtr && a.width == b.width && a.height == b.height &&
      a.pitchInBytes == b.pitchInBytes) {
    return texture;
  }
  if (texture) {
    CUDA_CHECK(cudaDeviceSynchronize());  // a kernel may still use the old one
    CUDA_CHECK(cudaDestroyTextureObject(std::exchange(texture, 0)));
  }
  cudaTextureDesc access = {};
  access.addressMode[0] = access.addressMode[1] = cudaAddressModeClamp;
  access.filterMode = cudaFilterModePoint;
  access.readMode = cudaReadModeElementType;
  CUDA_CHECK(cudaCreateTextureObject(&texture, &image, &access, nullptr));
  current = image;
  return texture;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
  // cudaDevAttrTextureAlignment and cudaDevAttrTexturePitchAlignment of every GPU so far
  constexpr std::size_t halo = kWindow - 1, image_alignment = 512, pitch_alignment = 32;
  const bool fits = reinterpret_cast<std::uintptr_t>(in) % image_alignment == 0 &&
                    cols * sizeof(float) % pitch_alignment == 0 && cols <= kMaxCols && rows <= kMaxRows;
  const std::size_t step_x = fits ? kMaxCols : kMaxCols - halo, step_y = fits ? kMaxRows : kMaxRows - halo;
  for (std::size_t row = 0; row < rows; row += step_y) {
    for (std::size_t col = 0; col < cols; col += step_x) {
      const std::size_t piece_rows = std::min(step_y, rows - row), piece_cols = std::min(step_x, cols - col);
      const std::size_t from_rows = std::min(piece_rows + halo, rows - row);  // the halo ends at the image's edge
      const std::size_t from_cols = std::min(piece_cols + halo, cols - col);
      const float* from = in;
      std::size_t pitch = cols * sizeof(float);
      if (!fits) {  // copy the piece and its halo into pitched memory
        pitch = ceil_div(from_cols * sizeof(float), image_alignment) * image_alignment;
        float* copy = scratch<float>(pitch / sizeof(float) * from_rows + image_alignment / sizeof(float));
        copy += (image_alignment - reinterpret_cast<std::uintptr_t>(copy) % image_alignment) % image_alignment /
                sizeof(float);
        CUDA_CHECK(cudaMemcpy2DAsync(copy, pitch, in + row * cols + col, cols * sizeof(float),
                                     from_cols * sizeof(float), from_rows, cudaMemcpyDeviceToDevice));
        from = copy;
      }
      const dim3 block(kTileX, kTileY), grid(ceil_div(piece_cols, kTileX), ceil_div(piece_rows, kTileY));
      blur_texture<<<grid, block>>>(texture_of(from, from_rows, from_cols, pitch), out + row * cols + col,
                                    static_cast<int>(piece_rows), static_cast<int>(piece_cols),
                                    static_cast<long long>(cols));
      CUDA_CHECK(cudaGetLastError());
    }
  }
}

LADDER_STEP(Blur, launch);
