// Decode attention over a paged KV cache.
// Like attention_decode, but K and V are stored in pages of page_size tokens, and any sequence may own a page. Key j of
// sequence s is token j % page_size of page table[s][j / page_size].
// practice: medium, next attention_decode_int8
#pragma once
#include "decode_problem.cuh"

class AttentionDecodePaged : public DecodeProblem {
 public:
  // q and out are sequences x (kv_heads * groups) x 128, K and V pages x page_size x kv_heads x 128, row-major without
  // gaps. page_size is a power of 2 from 16 to 256. A row of the table has `width` pages. Those after a sequence's last
  // key are invalid, such as -1; the rest of that key's page may hold anything. Sequences may share pages. Arrays do
  // not overlap and need only be aligned to an element. Any dimension except page_size may be 0.
  using Launch = void (*)(const __nv_bfloat16* q, const __nv_bfloat16* K, const __nv_bfloat16* V, const int* lengths,
                          const int* table, float* out, std::size_t sequences, std::size_t kv_heads, std::size_t groups,
                          std::size_t width, std::size_t page_size);

  explicit AttentionDecodePaged(Launch launch) : launch_(launch) {}

  const char* kernel() const override { return "attention_decode_paged"; }
  // page = 0 means 16.
  std::vector<ladder::Dim> dims() const override {
    std::vector<ladder::Dim> all = DecodeProblem::dims();
    all.push_back({"page", 0, 0, 256});
    return all;
  }
  std::vector<ladder::Buffer> buffers(const ladder::Size& size) const override {
    const std::size_t page = page_size(size);
    if (page < 16 || (page & (page - 1)) != 0) throw ladder::UsageError("--page: must be 16, 32, 64, 128 or 256");
    const double pages = static_cast<double>(size[0]) * static_cast<double>(width(size));
    if (pages >= 2147483648.0) throw ladder::UsageError("--keys: there must be fewer than 2^31 pages");
    std::vector<ladder::Buffer> all = inputs(size, pages * static_cast<double>(page));
    all.push_back(ladder::input<int>("table", size[0] * width(size)));
    all.push_back(result(size));
    return all;
  }
  void run(const ladder::Arrays& device, const ladder::Size& size) const override {
    launch_(device.at<const __nv_bfloat16>(0), device.at<const __nv_bfloat16>(1), device.at<const __nv_bfloat16>(2),
            device.at<const int>(3), device.at<const int>(4), device.at<float>(5), size[0], size[1], size[2],
            width(size), page_size(size));
  }
  double element(const ladder::Size& size, const ladder::Pattern& pattern, std::uint64_t seed, std::size_t buffer,
                 std::size_t i, std::size_t n) const override {
    if (buffer != kTable) return DecodeProblem::element(size, pattern, seed, buffer, i, n);
    const std::size_t sequence = i / width(size), page = i % width(size);
    if (page * page_size(size) >= length_of(size, sequence)) return -1;
    return static_cast<double>(size[0] * width(size) - 1 - (page * size[0] + sequence));
  }

  // Like attention_decode's sizes, with lengths around a page and pages of every size.
  std::vector<ladder::Size> test_sizes() const override {
    return {{0, 2, 4, 5, 0, 0},    {3, 0, 4, 5, 0, 0},     {3, 2, 0, 5, 0, 0},    {3, 2, 4, 0, 0, 0},
            {1, 1, 1, 1, 0, 0},    {2, 1, 1, 2, 1, 0},     {3, 2, 4, 15, 0, 0},   {2, 3, 2, 16, 0, 0},
            {3, 1, 8, 17, 1, 0},   {2, 2, 3, 24, 0, 32},   {5, 1, 4, 31, 1, 32},  {4, 2, 1, 33, 1, 32},
            {1, 2, 7, 63, 0, 64},  {2, 1, 5, 65, 0, 64},   {1, 1, 12, 129, 0, 0}, {1, 1, 17, 100, 0, 128},
            {4, 2, 3, 131, 1, 64}, {1, 3, 4, 300, 0, 256}, {3, 1, 2, 1100, 1, 0}, {1, 1, 1, 2105, 0, 128}};
  }
  // More than 2^31 elements in K alone, in one long sequence; then in K, V, q and out, in many sequences.
  std::vector<ladder::Size> huge_sizes() const override {
    return {{1, 8, 4, (1 << 21) + 35, 0, 0}, {(1 << 17) + 3, 8, 16, 5, 1, 0}};
  }
  std::vector<ladder::Size> bench_sizes() const override {
    return {{64, 8, 4, 4096, 0, 0}, {64, 8, 4, 4096, 0, 256}, {256, 8, 4, 2048, 1, 0}, {1, 8, 4, 131072, 0, 0}};
  }
  ladder::Size random_size(ladder::Draw& draw, double bytes) const override {
    const std::size_t groups = 1 + draw.below(16);
    ladder::Size size = draw_lengths(draw, bytes, {0, 0, groups, 0, draw.below(2), 16});
    while (2 * size[5] <= std::min<std::size_t>(size[3], 256) && draw.coin()) size.dims[5] *= 2;
    return size;
  }

 private:
  static constexpr std::size_t kTable = 4;
  static std::size_t page_size(const ladder::Size& size) { return size[5] == 0 ? 16 : size[5]; }
  static std::size_t width(const ladder::Size& size) { return ceil_div(size[3], page_size(size)); }

  // Sequences take pages in turn, from the last page down, as if they grew in step.
  Token token_of(const ladder::Size& size, std::size_t slot) const override {
    const std::size_t taken = size[0] * width(size) - 1 - slot / page_size(size);
    return {taken % size[0], taken / size[0] * page_size(size) + slot % page_size(size)};
  }
  std::size_t slot_of(const ladder::Arrays& host, const ladder::Size& size, Token token) const override {
    const int page = host.at<const int>(kTable)[token.sequence * width(size) + token.key / page_size(size)];
    return static_cast<std::size_t>(page) * page_size(size) + token.key % page_size(size);
  }

  Launch launch_;
};
