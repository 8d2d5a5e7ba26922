// Matrices of bytes for TMA.
#pragma once
#include "tensor_map.cuh"

// Returns a tensor map with boxes of box_rows x 128 bytes. Its elements are pairs of bytes, so columns count pairs. TMA
// takes rows of whole 16-byte chunks; others are copied and end with zeros. Tag: as for scratch(). k must not be 0.
template <typename Tag, typename Byte>
CUtensorMap map_of_bytes(const Byte* data, std::size_t rows, std::size_t k, unsigned box_rows) {
  static_assert(sizeof(Byte) == 1, "bytes");
  std::size_t ld = k;
  data = rows_for_tma<Tag>(data, rows, k, ld);
  return tensor_map(reinterpret_cast<const std::uint16_t*>(data), rows, ld / 2, ld / 2, box_rows);
}

// Adds a remark where a step must copy A or B.
template <typename Problem>
class WithByteMaps : public Problem {
 public:
  using Problem::Problem;
  std::string remark(const ladder::Arrays& device, const ladder::Size& size) const override {
    const bool taken =
        tma_takes(device.at<const std::uint8_t>(0), size[2]) && tma_takes(device.at<const std::uint8_t>(1), size[2]);
    return taken ? "" : "A or B copied to 16-byte aligned rows first, which TMA needs";
  }
};
