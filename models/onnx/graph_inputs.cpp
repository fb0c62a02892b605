#include "models/onnx/graph_inputs.hpp"

#include <algorithm>
#include <charconv>

#include "models/onnx/number_types.hpp"

namespace cohort::onnx {

namespace {

/// Names that exporters give the minibatch wherever it stands.
constexpr std::string_view kMinibatchNames[] = {"N", "batch", "batch_size", "minibatch"};

bool is_minibatch_name(std::string_view name) {
  return std::find(std::begin(kMinibatchNames), std::end(kMinibatchNames), name) != std::end(kMinibatchNames);
}

/// Some exporters write one name, as "?", for all open dimensions.
std::int64_t times_open(const GraphInput& input, const std::string& name) {
  return std::count_if(input.shape->begin(), input.shape->end(),
                       [&](const Dimension& dimension) { return !dimension.extent && dimension.name == name; });
}

std::string way_out(const GraphInput& input, std::size_t axis, const std::string& name) {
  if (name.empty()) return fmt::format("leaves dimension {} open; set it with --dim {}:{}=N", axis, input.name, axis);
  std::string text =
      fmt::format("leaves dimension {} open, which the file calls {}; set it with --dim {}=N", axis, name, name);
  const std::string& first = input.shape->front().name;
  if (is_minibatch_name(name) && first != name)
    text += fmt::format(" (or, if it is the minibatch and {} is not, --dim {}=N)", first, first);
  if (times_open(input, name) > 1) text += fmt::format(", or it alone with --dim {}:{}=N", input.name, axis);
  return text;
}

std::vector<std::string_view> elements_of(std::string_view text) {
  std::vector<std::string_view> elements;
  while (true) {
    const std::size_t comma = text.find(',');
    elements.push_back(text.substr(0, comma));
    if (comma == std::string_view::npos) return elements;
    text.remove_prefix(comma + 1);
  }
}

template <class Number>
std::optional<Number> number(std::string_view text) {
  if constexpr (std::is_same_v<Number, std::int64_t>) {
    if (text == "true") return 1;
    if (text == "false") return 0;
  }
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [read, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && read == end ? std::optional(value) : std::nullopt;
}

/// The shape of `count` values, of which one stands for all.
Result<Shape> shape_for(const GraphInput& input, std::int64_t count) {
  if (!input.shape) return count == 1 ? Shape{} : Shape{count};
  Shape shape;
  std::size_t open = input.shape->size();
  for (std::size_t i = 0; i < input.shape->size(); ++i) {
    const Dimension& dimension = (*input.shape)[i];
    if (!dimension.extent && open != input.shape->size())
      return fail(ErrorCode::kInvalidInput, "has more than one open dimension, so that its shape is not known");
    if (!dimension.extent) open = i;
    shape.push_back(dimension.extent.value_or(1));
  }
  COHORT_CHECK(check_shape(shape, 0));
  const std::int64_t known = element_count(shape);
  if (open != shape.size() && count % known == 0) shape[open] = count / known;
  if (count != 1 && element_count(shape) != count)
    return fail(ErrorCode::kInvalidInput, "has shape {}; its value must be one number or {}, not {}", to_string(shape),
                element_count(shape), count);
  return shape;
}

template <class Number>
Result<Constant> constant_of(const GraphInput& input, const std::string& text, std::string_view kind) {
  constexpr std::int64_t kMost = std::int64_t{1} << 24;
  std::vector<Number> values;
  for (const std::string_view element : elements_of(text)) {
    const auto value = number<Number>(element);
    if (!value)
      return fail(
          ErrorCode::kInvalidInput, "{} {} or a list of them with commas, not \"{}\"",
          input.type == 0 ? std::string("needs") : fmt::format("is {}; its value must be", type_name(input.type)), kind,
          text);
    values.push_back(*value);
  }
  COHORT_TRY(Shape shape, shape_for(input, std::ssize(values)));
  const std::int64_t count = element_count(shape);
  if (count > kMost) return fail(ErrorCode::kInvalidInput, "has {} elements; at most {} can be set", count, kMost);
  if (values.size() == 1) values.assign(static_cast<std::size_t>(count), Number(values[0]));
  return make_constant(std::move(shape), std::move(values));
}

bool are_whole(const std::string& text) {
  const auto elements = elements_of(text);
  return std::all_of(elements.begin(), elements.end(),
                     [](std::string_view element) { return number<std::int64_t>(element).has_value(); });
}

}  // namespace

Result<Constant> fixed_value(const GraphInput& tensor, const std::string& text) {
  const bool whole = tensor.type == 0 ? are_whole(text) : is_whole(tensor.type);
  if (!whole) return constant_of<float>(tensor, text, "a number");
  COHORT_TRY(Constant constant, constant_of<std::int64_t>(tensor, text, "a whole number"));
  const std::optional<Range> range = range_of(tensor.type);
  for (const std::int64_t value : *constant.integers()) {
    if (range && wrapped(value, *range) != value)
      return fail(ErrorCode::kInvalidInput, "is {}, which has no {}", type_name(tensor.type), value);
  }
  constant.type = tensor.type;
  return constant;
}

const std::pair<const std::string, std::int64_t>* given_dim(const GraphInput& input, std::size_t axis,
                                                            const ReadOptions& options) {
  auto found = options.dims.find(fmt::format("{}:{}", input.name, axis));
  const std::string& name = (*input.shape)[axis].name;
  if (found == options.dims.end() && !name.empty()) found = options.dims.find(name);
  return found != options.dims.end() ? &*found : nullptr;
}

InputShapes::InputShapes(const Graph& graph, const ReadOptions& options) : options_(options) {
  minibatch_names_.insert(std::begin(kMinibatchNames), std::end(kMinibatchNames));
  std::set<std::string> repeated;
  std::vector<GraphInput> inputs = graph.inputs;
  inputs.insert(inputs.end(), graph.left_out.begin(), graph.left_out.end());
  for (const GraphInput& input : inputs) {
    if (!input.shape || input.shape->empty() || input.is_computed) continue;
    if (!input.shape->front().extent) minibatch_names_.insert(input.shape->front().name);
    for (const Dimension& dimension : *input.shape) {
      if (times_open(input, dimension.name) > 1) repeated.insert(dimension.name);
    }
  }
  for (const std::string& name : repeated) minibatch_names_.erase(name);
  minibatch_names_.erase(std::string());
  for (const GraphInput& input : graph.left_out) {
    for (std::size_t i = 0; input.shape && i < input.shape->size(); ++i) {
      if ((*input.shape)[i].extent) continue;
      used_.insert((*input.shape)[i].name);
      used_.insert(fmt::format("{}:{}", input.name, i));
    }
  }
}

bool InputShapes::is_minibatch(const GraphInput& input, std::size_t axis) const {
  if (axis == 0 && !input.is_computed) return true;
  const std::string& name = (*input.shape)[axis].name;
  if (minibatch_names_.count(name) == 0) return false;
  if (!is_minibatch_name(name)) return true;
  // [batch_size, N]: where the first dimension is the minibatch by another name, N is a number of something else.
  const Dimension& first = input.shape->front();
  const bool is_set = options_.dims.count(first.name) > 0 || options_.dims.count(input.name + ":0") > 0;
  return first.extent || first.name.empty() || first.name == name || is_set;
}

Result<Shape> InputShapes::of(const GraphInput& input) {
  if (!input.shape) return fail(ErrorCode::kInvalidInput, "the file gives no shape for input {}", input.name);
  Shape shape;
  for (std::size_t i = 0; i < input.shape->size(); ++i) {
    const Dimension& dimension = (*input.shape)[i];
    const auto* const given = given_dim(input, i, options_);
    if (dimension.extent) {
      shape.push_back(*dimension.extent);
    } else if (given != nullptr) {
      shape.push_back(given->second);
      used_.insert(given->first);
    } else if (is_minibatch(input, i)) {
      shape.push_back(options_.minibatch);
    } else {
      return fail(ErrorCode::kInvalidInput, "input {} {}", input.name, way_out(input, i, dimension.name));
    }
  }
  if (auto checked = check_shape(shape, 0); !checked) return in_context("input " + input.name, checked.error());
  return shape;
}

Result<void> InputShapes::all_used() const {
  for (const auto& [name, extent] : options_.dims) {
    if (used_.count(name) == 0) return fail(ErrorCode::kInvalidInput, "no input has an open dimension called {}", name);
  }
  return {};
}

Result<std::set<std::string>> fix_inputs(Graph& graph, const ReadOptions& options) {
  std::set<std::string> others;
  for (const auto& fixed : options.fixed) {
    const std::string &name = fixed.first, &text = fixed.second;
    const auto set = [&](std::string_view kind, const GraphInput& tensor) -> Result<void> {
      auto value = fixed_value(tensor, text);
      if (!value) return fail(ErrorCode::kInvalidInput, "{} {} {}", kind, name, value.error().message);
      graph.constants.insert_or_assign(name, *std::move(value));
      return {};
    };
    const auto take = [&](std::vector<GraphInput>& inputs) -> Result<bool> {
      const auto found =
          std::find_if(inputs.begin(), inputs.end(), [&](const GraphInput& input) { return input.name == name; });
      if (found == inputs.end()) return false;
      COHORT_CHECK(set("input", *found));
      inputs.erase(found);
      return true;
    };
    COHORT_TRY(const bool is_input, take(graph.inputs));
    if (is_input) continue;
    COHORT_TRY(const bool is_default, take(graph.defaulted));
    if (is_default) continue;
    if (const auto weight = graph.constants.find(name); weight != graph.constants.end()) {
      COHORT_CHECK(set("tensor", tensor_of(name, weight->second.type, weight->second.shape)));
    } else {
      others.insert(name);
    }
  }
  return others;
}

}  // namespace cohort::onnx
