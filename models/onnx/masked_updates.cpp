#include "models/onnx/masked_updates.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "models/onnx/node_order.hpp"
#include "models/onnx/number_types.hpp"
#include "models/onnx/own_ops.hpp"

namespace cohort::onnx {

namespace {

/// The mask that was widened, and by which axes; the mask itself where it was not.
struct Widened {
  std::string mask;
  std::vector<std::int64_t> axes;
};

/// Whether the node's attribute is `value`, which is also what it is where it is left out.
template <class T>
bool has_or_lacks(const Node& node, const char* name, const T& value) {
  const auto found = node.attributes.find(name);
  if (found == node.attributes.end()) return true;
  const auto* const given = std::get_if<T>(&found->second);
  return given != nullptr && *given == value;
}

/// What the nodes of a graph compute.
class MaskSearch {
 public:
  explicit MaskSearch(const Graph& graph) : graph_(graph) {
    for (const Node& node : graph.nodes) {
      for (const std::string& output : node.outputs) {
        if (!output.empty()) writers_.emplace(output, &node);
      }
    }
  }

  /// The node in place of a ScatterND, if it is such an update.
  [[nodiscard]] std::optional<Node> update_of(const Node& node) const {
    if (node.op_type != "ScatterND" || !node.domain.empty() || node.inputs.size() != 3) return std::nullopt;
    if (!has_or_lacks(node, "reduction", std::string("none"))) return std::nullopt;
    const std::optional<std::string> mask = listed(node.inputs[1]);
    if (!mask) return std::nullopt;
    Node update = node;
    update.op_type = kMaskedUpdate;
    update.domain = kOwnDomain;
    update.attributes.clear();
    if (const auto values = first_of(node.inputs[2], *mask)) {
      update.inputs = {node.inputs[0], *mask, *values};
      update.attributes["in_order"] = std::int64_t{1};
      return update;
    }
    const Widened before = before_widening(*mask);
    const auto row = repeated(node.inputs[2], *mask, before.mask);
    if (!row) return std::nullopt;
    update.inputs = {node.inputs[0], *mask, *row, before.mask};
    update.attributes["axes"] = before.axes;
    return update;
  }

 private:
  [[nodiscard]] const Node* writer(const std::string& name, std::string_view op_type) const {
    const auto found = writers_.find(name);
    const bool is_it = found != writers_.end() && found->second->domain.empty() && found->second->op_type == op_type &&
                       !found->second->inputs.empty();
    return is_it ? found->second : nullptr;
  }

  /// A constant of whole numbers.
  [[nodiscard]] std::optional<std::vector<std::int64_t>> whole(const std::string& name) const {
    const Constant* constant = nullptr;
    if (const auto initialiser = graph_.constants.find(name); initialiser != graph_.constants.end()) {
      constant = &initialiser->second;
    } else if (const auto found = writers_.find(name);
               found != writers_.end() && found->second->op_type == "Constant") {
      for (const auto& [key, value] : found->second->attributes) {
        if (const auto* list = std::get_if<std::vector<std::int64_t>>(&value)) return *list;
        if (const auto* number = std::get_if<std::int64_t>(&value)) return std::vector{*number};
        constant = std::get_if<Constant>(&value);
      }
    }
    if (constant == nullptr || constant->integers() == nullptr) return std::nullopt;
    return *constant->integers();
  }
  [[nodiscard]] bool is_whole(const Node& node, std::size_t input, std::int64_t value) const {
    return input < node.inputs.size() && whole(node.inputs[input]) == std::vector{value};
  }
  [[nodiscard]] bool is_left_out(const Node& node, std::size_t input) const {
    return input >= node.inputs.size() || node.inputs[input].empty();
  }

  /// The mask whose places `indices` [K, rank] are.
  [[nodiscard]] std::optional<std::string> listed(const std::string& indices) const {
    const Node* const turned = writer(indices, "Transpose");
    if (turned == nullptr) return std::nullopt;
    if (!has_or_lacks(*turned, "perm", std::vector<std::int64_t>{1, 0})) return std::nullopt;
    const Node* const places = writer(turned->inputs[0], "NonZero");
    return places != nullptr ? std::optional(places->inputs[0]) : std::nullopt;
  }

  /// `name` without ops of these types, which leave its elements as they are.
  [[nodiscard]] std::string without(std::string name, std::initializer_list<std::string_view> types) const {
    for (;;) {
      const auto node = std::find_if(types.begin(), types.end(),
                                     [&](std::string_view type) { return writer(name, type) != nullptr; });
      if (node == types.end()) return name;
      name = writer(name, *node)->inputs[0];
    }
  }

  /// Of an Expand of an Unsqueeze its input.
  [[nodiscard]] Widened before_widening(const std::string& mask) const {
    const std::string narrow = without(mask, {"Expand"});
    const Node* const unsqueezed = writer(narrow, "Unsqueeze");
    if (narrow == mask || unsqueezed == nullptr) return {mask, {}};
    std::optional<std::vector<std::int64_t>> axes;
    if (const auto attribute = unsqueezed->attributes.find("axes"); attribute != unsqueezed->attributes.end()) {
      if (const auto* list = std::get_if<std::vector<std::int64_t>>(&attribute->second)) axes = *list;
    } else if (unsqueezed->inputs.size() > 1) {
      axes = whole(unsqueezed->inputs[1]);
    }
    if (!axes) return {mask, {}};
    return {unsqueezed->inputs[0], *std::move(axes)};
  }

  /// Whether `name` is how many places a mask has.
  [[nodiscard]] bool is_count(const std::string& name, const std::string& mask) const {
    const std::string count = without(name, {"Unsqueeze", "Squeeze", "Reshape", "Cast", "Identity"});
    if (const Node* const picked = writer(count, "Gather"); picked != nullptr && is_whole(*picked, 1, 0)) {
      const Node* const shape = writer(picked->inputs[0], "Shape");
      return shape != nullptr && has_or_lacks(*shape, "start", std::int64_t{0}) && listed(shape->inputs[0]) == mask;
    }
    const Node* const sum = writer(count, "ReduceSum");
    const bool is_of_all = sum != nullptr && is_left_out(*sum, 1) && sum->attributes.count("axes") == 0;
    return is_of_all && without(sum->inputs[0], {"Cast", "Reshape"}) == mask;
  }

  /// What `updates` has the first rows of, as many as the mask has places.
  [[nodiscard]] std::optional<std::string> first_of(const std::string& updates, const std::string& mask) const {
    const Node* const slice = writer(updates, "Slice");
    if (slice == nullptr || slice->inputs.size() < 3 || !is_whole(*slice, 1, 0)) return std::nullopt;
    const bool is_of_rows = is_left_out(*slice, 3) || is_whole(*slice, 3, 0);
    const bool is_dense = is_left_out(*slice, 4) || is_whole(*slice, 4, 1);
    if (!is_of_rows || !is_dense || !is_count(slice->inputs[2], mask)) return std::nullopt;
    return slice->inputs[0];
  }

  /// What `updates` repeats for each place of the mask, or of the mask before it was widened.
  [[nodiscard]] std::optional<std::string> repeated(const std::string& updates, const std::string& mask,
                                                    const std::string& narrow) const {
    const Node* const flat = writer(updates, "Reshape");
    const bool is_flat = flat != nullptr && is_whole(*flat, 1, -1);
    const Node* const expand = writer(is_flat ? flat->inputs[0] : updates, "Expand");
    if (expand == nullptr || expand->inputs.size() < 2) return std::nullopt;
    const auto counts = [&](const std::string& name) { return is_count(name, mask) || is_count(name, narrow); };
    const Node* const shape = writer(expand->inputs[1], "Concat");
    if (shape == nullptr) return counts(expand->inputs[1]) ? std::optional(expand->inputs[0]) : std::nullopt;
    const bool is_rest_known = std::all_of(shape->inputs.begin() + 1, shape->inputs.end(),
                                           [&](const std::string& name) { return whole(name).has_value(); });
    return is_rest_known && counts(shape->inputs[0]) ? std::optional(expand->inputs[0]) : std::nullopt;
  }

  const Graph& graph_;
  std::map<std::string, const Node*> writers_;
};

/// Lists of places, and what is made of them, that nothing reads any longer.
void leave_out_lists(Graph& graph) {
  const std::set<std::string_view> types = {"NonZero",   "Transpose", "Shape",    "Gather",  "Slice",
                                            "Unsqueeze", "Expand",    "Squeeze",  "Concat",  "Reshape",
                                            "ReduceSum", "Cast",      "Identity", "Constant"};
  for (bool changed = true; changed;) {
    std::set<std::string> read(graph.outputs.begin(), graph.outputs.end());
    for (const Node& node : graph.nodes) {
      for (const std::string& name : reads_of(node)) read.insert(name);
    }
    const std::size_t removed = std::erase_if(graph.nodes, [&](const Node& node) {
      return types.count(node.op_type) > 0 &&
             std::none_of(node.outputs.begin(), node.outputs.end(),
                          [&](const std::string& output) { return read.count(output) > 0; });
    });
    changed = removed > 0;
  }
}

}  // namespace

void recognise_masked_updates(Graph& graph) {
  const auto lists = [](const Node& node) { return node.op_type == "NonZero"; };
  if (std::none_of(graph.nodes.begin(), graph.nodes.end(), lists)) return;
  std::vector<std::pair<std::size_t, Node>> found;
  {
    const MaskSearch search(graph);
    for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
      if (auto update = search.update_of(graph.nodes[i])) found.emplace_back(i, *std::move(update));
    }
  }
  if (found.empty()) return;
  for (auto& [i, update] : found) graph.nodes[i] = std::move(update);
  leave_out_lists(graph);
}

namespace {

/// Rows of `values` in the order of the places that take them, and any others elsewhere.
std::string in_order(OwnOps& ops, const std::string& mask, const Shape& x) {
  const std::string flags = ops.add("Reshape", {mask, ops.integers({-1})});
  const std::string ones = ops.add("Cast", {flags}, {{"to", std::int64_t{Type::kInt64}}});
  const std::string counted = ops.add("CumSum", {ones, ops.integers({0})});
  const std::string places = ops.add("Max", {ops.add("Sub", {counted, ops.integers({1})}), ops.integers({0})});
  const std::string rows = ops.add("Gather", {ops.input(2), places}, {{"axis", std::int64_t{0}}});
  return ops.add("Reshape", {rows, ops.integers(x)});
}

/// The values that all places take, without the axis that counts places. Errors: kInvalidInput where they differ from
/// place to place.
Result<std::string> row_of(OwnOps& ops, const Shape& x) {
  NodeImport& import = ops.import();
  COHORT_TRY(const Shape narrow, import.shape(3));
  COHORT_TRY(Shape row, import.shape(2));
  COHORT_TRY(const std::vector<std::int64_t> axes, import.integer_list("axes", {}));
  COHORT_TRY(const std::vector<std::int64_t> widened, normalize_axes(axes, narrow.size() + axes.size()));
  for (std::size_t i = 0; i < widened.size(); ++i) {
    if (widened[i] != static_cast<std::int64_t>(narrow.size() + i))
      return fail(ErrorCode::kInvalidInput, "rows picked by a mask that has no first axes are not supported");
  }
  const std::size_t behind = x.size() - narrow.size();  // no mask has more axes than x
  while (row.size() > behind && row.front() == 1) row.erase(row.begin());
  if (row.size() > behind)
    return fail(ErrorCode::kInvalidInput, "values {} for each place of a mask {} are not supported; one row for all is",
                to_string(row), to_string(narrow));
  return ops.add("Reshape", {ops.input(2), ops.integers(row)});
}

}  // namespace

Result<void> make_masked_update(OwnOps& ops) {
  NodeImport& import = ops.import();
  COHORT_TRY(const Shape x, import.shape(0));
  COHORT_TRY(const Shape mask, import.shape(1));
  if (mask.size() > x.size() || !std::equal(mask.begin(), mask.end(), x.begin()))
    return fail(ErrorCode::kInvalidInput, "a mask {} does not fit {}", to_string(mask), to_string(x));
  const std::string flags = ops.add("Cast", {ops.input(1)}, {{"to", std::int64_t{Type::kBool}}});
  COHORT_TRY(const std::int64_t each, import.integer("in_order", 0));
  std::string values;
  if (each != 0) {
    COHORT_TRY(const Shape rows, import.shape(2));
    const bool fits = !rows.empty() && std::equal(rows.begin() + 1, rows.end(), x.begin() + std::ssize(mask), x.end());
    if (!fits)
      return fail(ErrorCode::kInvalidInput, "values {} for the places of a mask {} do not fit {}", to_string(rows),
                  to_string(mask), to_string(x));
    values = in_order(ops, flags, x);
  } else {
    COHORT_TRY(values, row_of(ops, x));
  }
  Shape wide_shape = mask;
  wide_shape.resize(x.size(), 1);
  const std::string wide = ops.add("Reshape", {flags, ops.integers(wide_shape)});
  ops.give(ops.add("Where", {wide, values, ops.input(0)}));
  return {};
}

}  // namespace cohort::onnx
