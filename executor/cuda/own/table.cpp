#include "executor/cuda/own/table.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include "executor/cuda/own/grid.hpp"

namespace cohort::cuda::own {
namespace {

/// Of a conversion, which has two: that of its result, so that equal ones share a launch.
DataType type_of(const KernelArguments& kernel) {
  return std::visit(
      [](const auto& arguments) {
        if constexpr (requires { arguments.y_type; }) {
          return arguments.y_type;
        } else {
          return arguments.type;
        }
      },
      kernel);
}

KernelArguments table_of(const std::vector<const KernelArguments*>& kernels, WeightStore& store) {
  TableArguments table;
  table.type = type_of(*kernels[0]);
  table.kind = static_cast<std::int32_t>(kernels[0]->index());
  table.count = static_cast<std::int32_t>(kernels.size());
  std::vector<std::int32_t> first_block;
  std::vector<std::byte> parts;
  for (const KernelArguments* kernel : kernels) {
    const auto [blocks, threads] = std::visit([](const auto& arguments) { return grid_of(arguments); }, *kernel);
    first_block.push_back(table.blocks);
    table.blocks += blocks;
    table.threads = std::max(table.threads, threads);
    std::visit(
        [&](const auto& arguments) {
          const auto* const bytes = reinterpret_cast<const std::byte*>(&arguments);
          parts.insert(parts.end(), bytes, bytes + sizeof arguments);
        },
        *kernel);
  }
  table.parts = store.add(parts);
  table.first_block = static_cast<const std::int32_t*>(store.add(std::as_bytes(std::span(first_block))));
  return table;
}

}  // namespace

std::vector<KernelArguments> tabled(const std::vector<std::vector<KernelArguments>>& parts, WeightStore& store) {
  std::size_t stages = 0;
  for (const auto& kernels : parts) stages = std::max(stages, kernels.size());
  std::vector<KernelArguments> launches;
  for (std::size_t stage = 0; stage < stages; ++stage) {
    std::map<std::pair<std::size_t, DataType>, std::vector<const KernelArguments*>> alike;
    for (const auto& kernels : parts) {
      if (stage < kernels.size()) alike[{kernels[stage].index(), type_of(kernels[stage])}].push_back(&kernels[stage]);
    }
    for (const auto& [kind, kernels] : alike)
      launches.push_back(kernels.size() == 1 ? *kernels[0] : table_of(kernels, store));
  }
  return launches;
}

}  // namespace cohort::cuda::own
