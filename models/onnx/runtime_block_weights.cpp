#include "models/onnx/converters.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/own_ops.hpp"

// Products with weights of few bits, in blocks that have a scale of their own, as language models have them.

namespace cohort::onnx {

namespace {

// Inputs of MatMulNBits, and of GatherBlockQuantized, which has scales and zero points in the same places.
enum Input : std::size_t { kX, kLevels, kScales, kZeros, kGroups, kBias };
constexpr std::size_t kTable = 0, kIndices = 1;

struct Blocks {
  std::int64_t inner = 0, outputs = 0, bits = 4, size = 0;  ///< K, N, bits of a weight, weights of a block

  [[nodiscard]] bool has_bits() const { return bits == 2 || bits == 4 || bits == 8; }
  [[nodiscard]] std::int64_t count() const { return (inner + size - 1) / size; }  ///< of an output
  /// Bytes of `values` side by side.
  [[nodiscard]] std::int64_t bytes(std::int64_t values) const { return (values * bits + 7) / 8; }
  /// Value `i` of those packed in bytes from `first` on, the first in the lowest bits.
  [[nodiscard]] float value(const std::vector<std::int64_t>& packed, std::int64_t first, std::int64_t i) const {
    const std::int64_t byte = packed[static_cast<std::size_t>(first + i * bits / 8)];
    return static_cast<float>(byte >> (i * bits % 8) & ((std::int64_t{1} << bits) - 1));
  }
};

Result<Blocks> blocks_of(NodeImport& import) {
  constexpr std::int64_t kMost = std::int64_t{1} << 30;
  Blocks blocks;
  COHORT_TRY(blocks.inner, import.integer("K", 0));
  COHORT_TRY(blocks.outputs, import.integer("N", 0));
  COHORT_TRY(blocks.bits, import.integer("bits", 4));
  COHORT_TRY(blocks.size, import.integer("block_size", 0));
  import.ignore("accuracy_level");
  const auto fits = [](std::int64_t value) { return value > 0 && value < kMost; };
  if (fits(blocks.inner) && fits(blocks.outputs) && fits(blocks.size) && blocks.has_bits() &&
      blocks.size * blocks.bits % 8 == 0)
    return blocks;
  return fail(ErrorCode::kInvalidInput,
              "{} x {} weights of {} bits in blocks of {} are not supported: bits are 2, 4 or 8, blocks whole bytes",
              blocks.inner, blocks.outputs, blocks.bits, blocks.size);
}

/// Errors: kInvalidInput where the constant `what` has another number of values.
Result<void> check_count(std::size_t count, std::int64_t expected, std::string_view what) {
  if (count == static_cast<std::size_t>(expected)) return {};
  return fail(ErrorCode::kInvalidInput, "{} has {} values, not {}", what, count, expected);
}

/// The zero point of each block, [N, blocks].
Result<std::vector<float>> zero_points(NodeImport& import, const Blocks& blocks) {
  const std::int64_t count = blocks.outputs * blocks.count();
  std::vector<float> zeros(static_cast<std::size_t>(count), static_cast<float>(std::int64_t{1} << (blocks.bits - 1)));
  if (!import.has_input(kZeros)) return zeros;
  const Constant* const given = import.needed_constant(kZeros);
  if (given == nullptr) return fail(ErrorCode::kInvalidInput, "zero points must be constant");
  if (given->integers() == nullptr) {
    COHORT_CHECK(check_count(given->floats()->size(), count, "zero_points"));
    return *given->floats();
  }
  const std::int64_t row = blocks.bytes(blocks.count());
  COHORT_CHECK(check_count(given->integers()->size(), blocks.outputs * row, "zero_points"));
  for (std::int64_t n = 0; n < blocks.outputs; ++n) {
    for (std::int64_t b = 0; b < blocks.count(); ++b)
      zeros[static_cast<std::size_t>(n * blocks.count() + b)] = blocks.value(*given->integers(), n * row, b);
  }
  return zeros;
}

std::vector<std::int64_t> blocks_in_order(const Blocks& blocks) {
  std::vector<std::int64_t> of(static_cast<std::size_t>(blocks.inner));
  for (std::size_t k = 0; k < of.size(); ++k) of[k] = static_cast<std::int64_t>(k) / blocks.size;
  return of;
}

/// The block of each of the K weights of an output.
Result<std::vector<std::int64_t>> blocks_of_columns(NodeImport& import, const Blocks& blocks) {
  std::vector<std::int64_t> of = blocks_in_order(blocks);
  if (!import.has_input(kGroups)) return of;
  // ONNX Runtime 1.32 takes no notice of zero points beside them, and computes something else for 2 bits.
  if (import.has_input(kZeros) || blocks.bits != 4)
    return fail(ErrorCode::kInvalidInput, "input {} (g_idx) is supported for 4 bits without zero points only", kGroups);
  COHORT_TRY(const std::vector<std::int64_t> groups, import.integers(kGroups, "g_idx"));
  if (groups.size() < of.size())
    return fail(ErrorCode::kInvalidInput, "g_idx has {} values, not {}", groups.size(), of.size());
  for (std::size_t k = 0; k < of.size(); ++k) {
    of[k] = groups[k];
    if (of[k] < 0 || of[k] >= blocks.count())
      return fail(ErrorCode::kInvalidInput, "g_idx names block {} of {}", of[k], blocks.count());
  }
  return of;
}

/// Calls visit(weight) for the weights, whose levels are input `input`: for each of N outputs K of them.
template <class Visit>
Result<void> for_each_weight(NodeImport& import, const Blocks& blocks, std::size_t input,
                             const std::vector<std::int64_t>& blocks_of_columns, const Visit& visit) {
  const std::int64_t row = blocks.count() * blocks.bytes(blocks.size);
  const Constant* const levels = import.needed_constant(input);
  if (levels == nullptr || levels->integers() == nullptr)
    return fail(ErrorCode::kInvalidInput, "weights must be constant whole numbers");
  COHORT_CHECK(check_count(levels->integers()->size(), blocks.outputs * row, "the constant of weights"));
  COHORT_TRY(const Constant* const scales, import.floats(kScales, "scales"));
  COHORT_CHECK(check_count(scales->floats()->size(), blocks.outputs * blocks.count(), "scales"));
  COHORT_TRY(const std::vector<float> zeros, zero_points(import, blocks));
  for (std::int64_t n = 0; n < blocks.outputs; ++n) {
    for (std::int64_t k = 0; k < blocks.inner; ++k) {
      const auto block = static_cast<std::size_t>(n * blocks.count() + blocks_of_columns[static_cast<std::size_t>(k)]);
      const float level = blocks.value(*levels->integers(), n * row, k);
      visit((level - zeros[block]) * (*scales->floats())[block]);
    }
  }
  return {};
}

/// The weights in input `input`, [N, K].
Result<std::vector<float>> weights_of(NodeImport& import, const Blocks& blocks, std::size_t input) {
  COHORT_CHECK(import.claim(blocks.inner * blocks.outputs));
  std::vector<std::int64_t> of_columns = blocks_in_order(blocks);
  if (input == kLevels) {
    COHORT_TRY(of_columns, blocks_of_columns(import, blocks));
  }
  std::vector<float> values;
  values.reserve(static_cast<std::size_t>(blocks.inner * blocks.outputs));
  COHORT_CHECK(for_each_weight(import, blocks, input, of_columns, [&](float weight) { values.push_back(weight); }));
  return values;
}

/// Rows of a table whose values are packed in bytes along its last axis.
Result<Blocks> blocks_of_table(NodeImport& import) {
  Blocks blocks;
  COHORT_TRY(blocks.bits, import.integer("bits", 4));
  COHORT_TRY(blocks.size, import.integer("block_size", 128));
  COHORT_TRY(const std::int64_t gathered, import.integer("gather_axis", 0));
  COHORT_TRY(const std::int64_t quantized, import.integer("quantize_axis", 1));
  const Constant* const table = import.needed_constant(kTable);
  if (table == nullptr || table->type != Type::kUint8 || table->shape.size() != 2)
    return fail(ErrorCode::kInvalidInput, "takes a constant matrix of uint8 only");
  const bool by_row = gathered == 0 && (quantized == 1 || quantized == -1);
  if (!by_row || !blocks.has_bits() || blocks.size < 16)
    return fail(
        ErrorCode::kInvalidInput,
        "rows of {} bits in blocks of {} with gather_axis {} and quantize_axis {} are not supported: bits are 2, "
        "4 or 8, blocks 16 and more, axes 0 and 1",
        blocks.bits, blocks.size, gathered, quantized);
  blocks.outputs = table->shape[0];
  blocks.inner = table->shape[1] * 8 / blocks.bits;
  if (blocks.inner < 1 || blocks.outputs < 1 || blocks.inner % blocks.size != 0)
    return fail(ErrorCode::kInvalidInput, "{} rows of {} values do not divide into blocks of {}", blocks.outputs,
                blocks.inner, blocks.size);
  return blocks;
}

}  // namespace

Result<void> make_block_gather(OwnOps& ops) {
  COHORT_TRY(const Blocks blocks, blocks_of_table(ops.import()));
  COHORT_TRY(std::vector<float> values, weights_of(ops.import(), blocks, kTable));
  const std::string table =
      ops.add("Constant", {}, {{"value", make_constant({blocks.outputs, blocks.inner}, std::move(values))}});
  ops.give(ops.add("Gather", {table, ops.input(kIndices)}, {{"axis", std::int64_t{0}}}));
  return {};
}

// Not by way of ONNX's MatMul, whose weights lie the other way round: they would be turned twice.
Result<void> convert_block_matmul(NodeImport& node) {
  COHORT_TRY(const Blocks blocks, blocks_of(node));
  COHORT_TRY(const TensorId x, node.tensor(kX));
  if (node.shape_of(x).empty()) return fail(ErrorCode::kInvalidInput, "takes no scalars");
  COHORT_TRY(std::vector<float> values, weights_of(node, blocks, kLevels));
  COHORT_TRY(const TensorId w, node.weight(kLevels, {blocks.outputs, blocks.inner}, std::move(values)));
  COHORT_TRY(TensorId y, product_of_rows(node, "", x, {w}));
  if (node.has_input(kBias)) {
    COHORT_TRY(const TensorId bias, node.tensor(kBias));
    COHORT_TRY(y, node.emit("bias", Binary{BinaryKind::kAdd}, {y, bias}));
  }
  node.set_result(y);
  return {};
}

}  // namespace cohort::onnx
