#include <algorithm>
#include <map>

#include "models/onnx/converters.hpp"

// Einsum as transposes, matrix products and sums: operands are multiplied from left to right, and a label that no
// later operand and no output has is summed over as soon as possible.

namespace cohort::onnx {

namespace {

/// One character for each dimension: letters, and for those of an ellipsis digits, the last of them '0'.
using Labels = std::string;

struct Equation {
  std::vector<Labels> operands;
  Labels result;
};

bool has(const Labels& labels, char label) { return labels.find(label) != Labels::npos; }

/// The labels for which `is_wanted` holds, in their order.
template <class IsWanted>
Labels those(const Labels& labels, const IsWanted& is_wanted) {
  Labels kept;
  std::copy_if(labels.begin(), labels.end(), std::back_inserter(kept), is_wanted);
  return kept;
}

Labels ellipsis_labels(std::size_t count) {
  Labels labels;
  for (std::size_t i = count; i > 0; --i) labels += static_cast<char>('0' + i - 1);
  return labels;
}

/// A part of the equation with its ellipsis, if it has one, as `count` digits.
Result<Labels> labels_of(const std::string& part, std::size_t count) {
  const std::size_t at = part.find("...");
  Labels labels = part;
  if (at != std::string::npos) labels.replace(at, 3, ellipsis_labels(count));
  for (std::size_t i = 0; i < part.size(); ++i) {
    const bool is_letter = (part[i] >= 'a' && part[i] <= 'z') || (part[i] >= 'A' && part[i] <= 'Z');
    if (!is_letter && (at == std::string::npos || i < at || i >= at + 3))
      return fail(ErrorCode::kInvalidInput, "equation term {} holds {}, where only letters and one ... may stand", part,
                  part[i]);
  }
  for (const char label : labels) {
    if (std::count(labels.begin(), labels.end(), label) > 1)
      return fail(ErrorCode::kInvalidInput, "equation term {} has {} twice, which is not supported", part, label);
  }
  return labels;
}

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator) parts.emplace_back();
    if (c != separator) parts.back() += c;
  }
  return parts;
}

/// Without an arrow the result has the ellipsis, then each letter that stands once, in alphabetical order.
Labels implied_result(const std::vector<Labels>& operands, std::size_t ellipsis) {
  std::map<char, int> uses;
  for (const Labels& labels : operands) {
    for (const char label : labels) ++uses[label];
  }
  Labels result = ellipsis_labels(ellipsis);
  for (const auto& [label, count] : uses) {
    if (count == 1 && label > '9') result += label;
  }
  return result;
}

/// Operands of these ranks.
Result<Equation> parse(std::string text, const std::vector<std::size_t>& ranks) {
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::size_t arrow = text.find("->");
  const auto parts = split(text.substr(0, arrow), ',');
  if (parts.size() != ranks.size())
    return fail(ErrorCode::kInvalidInput, "equation {} has {} operands, the node {}", text, parts.size(), ranks.size());
  Equation equation;
  std::size_t ellipsis = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const bool has_ellipsis = parts[i].find("...") != std::string::npos;
    const std::size_t letters = parts[i].size() - (has_ellipsis ? 3 : 0);
    if (letters > ranks[i] || (!has_ellipsis && letters != ranks[i]) || ranks[i] - letters > 10)
      return fail(ErrorCode::kInvalidInput, "equation term {} does not fit an operand of {} dimensions", parts[i],
                  ranks[i]);
    ellipsis = std::max(ellipsis, ranks[i] - letters);
    COHORT_TRY(equation.operands.emplace_back(), labels_of(parts[i], ranks[i] - letters));
  }
  if (arrow == std::string::npos) {
    equation.result = implied_result(equation.operands, ellipsis);
    return equation;
  }
  COHORT_TRY(equation.result, labels_of(text.substr(arrow + 2), ellipsis));
  for (const char label : equation.result) {
    const bool is_known = std::any_of(equation.operands.begin(), equation.operands.end(),
                                      [&](const Labels& labels) { return has(labels, label); });
    if (!is_known)
      return fail(ErrorCode::kInvalidInput, "{} of the result of equation {} is in no operand", label, text);
  }
  return equation;
}

/// A tensor whose dimensions have these labels.
struct Term {
  TensorId tensor{};
  Labels labels;
};

class Einsum {
 public:
  explicit Einsum(NodeImport& node) : node_(node) {}

  Result<void> convert() {
    COHORT_TRY(const std::string text, node_.text("equation", ""));
    std::vector<std::size_t> ranks;
    for (std::size_t i = 0; i < node_.input_count(); ++i) {
      COHORT_TRY(const Shape shape, node_.shape(i));
      COHORT_TRY(const ElementType element, node_.element(i));
      if (element != ElementType::kFloat32) return fail(ErrorCode::kInvalidInput, "of whole numbers is not supported");
      ranks.push_back(shape.size());
    }
    COHORT_TRY(const Equation equation, parse(text, ranks));
    COHORT_CHECK(read_extents(equation));
    COHORT_TRY(Term result, operand(equation, 0));
    for (std::size_t i = 1; i < equation.operands.size(); ++i) {
      COHORT_TRY(const Term next, operand(equation, i));
      Labels later = equation.result;
      for (std::size_t j = i + 1; j < equation.operands.size(); ++j) later += equation.operands[j];
      COHORT_TRY(result, product(result, next, later));
    }
    COHORT_TRY(result, summed(result, equation.result));
    if (ops_ == 0 && result.labels == equation.result) return convert_identity(node_);
    COHORT_TRY(result, permuted(result, equation.result));
    node_.set_result(result.tensor);
    return {};
  }

 private:
  std::string suffix(std::string_view what) { return fmt::format("{}{}", what, ops_++); }

  [[nodiscard]] Shape shape_of(const Labels& labels) const {
    Shape shape;
    for (const char label : labels) shape.push_back(extents_.at(label));
    return shape;
  }

  /// Dimensions of an ellipsis are broadcast; letters have one extent each.
  Result<void> read_extents(const Equation& equation) {
    for (std::size_t i = 0; i < equation.operands.size(); ++i) {
      COHORT_TRY(const Shape shape, node_.shape(i));
      for (std::size_t d = 0; d < shape.size(); ++d) {
        const char label = equation.operands[i][d];
        std::int64_t& extent = extents_.emplace(label, shape[d]).first->second;
        const bool repeats = label <= '9' && (extent == 1 || shape[d] == 1);
        if (extent != shape[d] && !repeats)
          return fail(ErrorCode::kInvalidInput, "label {} has {} entries in one operand and {} in another", label,
                      extent, shape[d]);
        if (extent == 1) extent = shape[d];
      }
    }
    return {};
  }

  /// Without dimensions of one entry that others repeat.
  Result<Term> operand(const Equation& equation, std::size_t i) {
    COHORT_TRY(const TensorId tensor, node_.tensor(i));
    const Shape shape = node_.shape_of(tensor);
    Labels labels;
    for (std::size_t d = 0; d < shape.size(); ++d) {
      if (shape[d] == extents_.at(equation.operands[i][d])) labels += equation.operands[i][d];
    }
    return reshaped({tensor, labels}, shape_of(labels));
  }

  Result<Term> reshaped(Term term, const Shape& shape) {
    if (node_.shape_of(term.tensor) == shape) return term;
    COHORT_TRY(term.tensor, node_.emit_reshape(suffix("shaped"), term.tensor, shape));
    return term;
  }

  /// Summed over the labels that `needed` lacks.
  Result<Term> summed(Term term, const Labels& needed) {
    Reduce reduce{ReduceKind::kSum, {}, false};
    for (std::size_t d = 0; d < term.labels.size(); ++d) {
      if (!has(needed, term.labels[d])) reduce.axes.push_back(static_cast<std::int64_t>(d));
    }
    if (reduce.axes.empty()) return term;
    COHORT_TRY(term.tensor, node_.emit(suffix("sum"), std::move(reduce), {term.tensor}));
    term.labels = those(term.labels, [&](char label) { return has(needed, label); });
    return term;
  }

  Result<Term> permuted(Term term, const Labels& labels) {
    if (term.labels == labels) return term;
    Transpose transpose;
    for (const char label : labels) transpose.permutation.push_back(static_cast<std::int64_t>(term.labels.find(label)));
    COHORT_TRY(term.tensor, node_.emit(suffix("permuted"), std::move(transpose), {term.tensor}));
    term.labels = labels;
    return term;
  }

  /// Of two terms, summed over what `later`, the labels that are still needed, lacks.
  Result<Term> product(Term a, Term b, const Labels& later) {
    COHORT_TRY(a, summed(a, later + b.labels));
    COHORT_TRY(b, summed(b, later + a.labels));
    const Labels batch = those(a.labels, [&](char l) { return has(b.labels, l) && has(later, l); });
    const Labels contracted = those(a.labels, [&](char l) { return has(b.labels, l) && !has(later, l); });
    const Labels rows = those(a.labels, [&](char l) { return !has(b.labels, l); });
    const Labels columns = those(b.labels, [&](char l) { return !has(a.labels, l); });
    Term result{{}, batch + rows + columns};
    if (contracted.empty()) {
      COHORT_TRY(a, permuted(a, batch + rows));
      COHORT_TRY(b, permuted(b, batch + columns));
      Shape widened = shape_of(batch + rows);
      widened.resize(result.labels.size(), 1);
      COHORT_TRY(a, reshaped(a, widened));
      widened = shape_of(batch);
      widened.resize(batch.size() + rows.size(), 1);
      for (const char label : columns) widened.push_back(extents_.at(label));
      COHORT_TRY(b, reshaped(b, widened));
      COHORT_TRY(result.tensor, node_.emit(suffix("product"), Binary{BinaryKind::kMul}, {a.tensor, b.tensor}));
      return result;
    }
    MatMul multiply;
    COHORT_TRY(a, as_matrices(a, batch, rows, contracted, multiply.transpose_a));
    COHORT_TRY(b, as_matrices(b, batch, contracted, columns, multiply.transpose_b));
    COHORT_TRY(result.tensor, node_.emit(suffix("product"), multiply, {a.tensor, b.tensor}));
    return reshaped(result, shape_of(result.labels));
  }

  /// Stacked matrices [batch, rows, columns], or [batch, columns, rows] where the term has them so.
  Result<Term> as_matrices(Term term, const Labels& batch, const Labels& rows, const Labels& columns,
                           bool& is_transposed) {
    is_transposed = term.labels == batch + columns + rows && term.labels != batch + rows + columns;
    COHORT_TRY(term, permuted(term, is_transposed ? term.labels : batch + rows + columns));
    Shape shape = shape_of(batch);
    shape.push_back(element_count(shape_of(is_transposed ? columns : rows)));
    shape.push_back(element_count(shape_of(is_transposed ? rows : columns)));
    return reshaped(term, shape);
  }

  NodeImport& node_;
  std::map<char, std::int64_t> extents_;
  std::size_t ops_ = 0;
};

}  // namespace

Result<void> convert_einsum(NodeImport& node) { return Einsum(node).convert(); }

}  // namespace cohort::onnx
