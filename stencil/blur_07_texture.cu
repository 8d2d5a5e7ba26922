// Steps 01 to 06 clamp indices by hand. Idea: leave it to the texture unit. A texture object describes an image in
// memory: its address, size and pitch, and what an index outside means. With cudaAddressModeClamp tex2D at x = cols
// gives the last column. In exchange each row must start at a multiple of texturePitchAlignment (32 bytes on every GPU
// so far), the image at one of textureAlignment (512), and it may have 131072 x 65000 texels at most. So an image that
// does not fit is copied, piece by piece with its halo, into pitched memory. The object is kept: making one costs the
// host microseconds.
// Expect: less than step 02: a texture read is one 4-byte texel per lane at a lower rate than loads have, 9 per pixel.
// Its caches are the loads' caches since Volta. What textures still give is filtering, clamping, formats.
// Next question: coordinates are floats, so which column is x = 16777217? (None: above 2^24 they skip; limits keep
// far below that. And + 0.5 asks for a texel's middle.)
// needs: gpu
#include "blur.cuh"

constexpr int kTileX = 32, kTileY = 8;
constexpr std::size_t kMaxCols = 1 << 16, kMaxRows = 1 << 15;  // of a piece, halo included; every GPU takes these

// The piece begins at the texture's first texel and is cols x rows without the halo; `pitch` is that of `out`.
__global__ void blur_texture(cudaTextureObject_t in, float* __restrict__ out, int rows, int cols, long long pitch,
                             unsigned tiles_x) {
  const int row = static_cast<int>(blockIdx.x / tiles_x) * kTileY + threadIdx.y;
  const int col = static_cast<int>(blockIdx.x % tiles_x) * kTileX + threadIdx.x;
  if (row >= rows || col >= cols) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < kWindow; ++i) {
#pragma unroll
    for (int j = 0; j < kWindow; ++j) sum += tex2D<float>(in, col + j + 0.5f, row + i + 0.5f);
  }
  out[row * pitch + col] = sum * kNinth;
}

// A clamping texture of the image at `in`, the same object again for the same image.
static cudaTextureObject_t texture_of(const float* in, std::size_t rows, std::size_t cols, std::size_t pitch_bytes) {
  static cudaTextureObject_t texture = 0;
  static cudaResourceDesc now = {};
  cudaResourceDesc image = {};
  image.resType = cudaResourceTypePitch2D;
  image.res.pitch2D = {const_cast<float*>(in), cudaCreateChannelDesc<float>(), cols, rows, pitch_bytes};
  const auto& a = image.res.pitch2D;
  const auto& b = now.res.pitch2D;
  if (texture && a.devPtr == b.devPtr && a.width == b.width && a.height == b.height &&
      a.pitchInBytes == b.pitchInBytes) {
    return texture;
  }
  if (texture) {
    CUDA_CHECK(cudaDeviceSynchronize());  // a kernel may still use the old one
    CUDA_CHECK(cudaDestroyTextureObject(std::exchange(texture, 0)));
  }
  cudaTextureDesc how = {};
  how.addressMode[0] = how.addressMode[1] = cudaAddressModeClamp;
  how.filterMode = cudaFilterModePoint;
  how.readMode = cudaReadModeElementType;
  CUDA_CHECK(cudaCreateTextureObject(&texture, &image, &how, nullptr));
  now = image;
  return texture;
}

static void launch(const float* in, float* out, std::size_t rows, std::size_t cols) {
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
      if (!fits) {
        pitch = ceil_div(from_cols * sizeof(float), image_alignment) * image_alignment;
        float* copy = scratch<float>(pitch / sizeof(float) * from_rows + image_alignment / sizeof(float));
        copy += (image_alignment - reinterpret_cast<std::uintptr_t>(copy) % image_alignment) % image_alignment /
                sizeof(float);
        CUDA_CHECK(cudaMemcpy2DAsync(copy, pitch, in + row * cols + col, cols * sizeof(float),
                                     from_cols * sizeof(float), from_rows, cudaMemcpyDeviceToDevice));
        from = copy;
      }
      const auto tiles_x = static_cast<unsigned>(ceil_div(piece_cols, kTileX));
      const auto tiles_y = static_cast<unsigned>(ceil_div(piece_rows, kTileY));
      blur_texture<<<tiles_x * tiles_y, dim3(kTileX, kTileY)>>>(
          texture_of(from, from_rows, from_cols, pitch), out + row * cols + col, static_cast<int>(piece_rows),
          static_cast<int>(piece_cols), static_cast<long long>(cols), tiles_x);
      CUDA_CHECK(cudaGetLastError());
    }
  }
}

LADDER_STEP(Blur, launch);
