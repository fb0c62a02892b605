#include "planning/members.hpp"

#include <filesystem>

#include "models/onnx/onnx_file.hpp"

namespace cohort {

Result<LoadedMembers> LoadedMembers::load(std::span<const Member> members) {
  LoadedMembers result;
  std::map<ModelSource, const LoadedModel*> first;
  for (const Member& member : members) {
    const auto found = first.find(member.source);
    const bool from_file = onnx::is_file(member.source.model);
    if (found != first.end() && from_file) {
      result.models_.models.push_back(&found->second->model);
      result.models_.weights.push_back(&found->second->weights);
      continue;
    }
    auto loaded = onnx::load(member.source, member.seed);
    if (!loaded) return in_context(fmt::format("member {}", member.name), loaded.error());
    result.loaded_.push_back(std::make_unique<LoadedModel>(std::move(*loaded)));
    const LoadedModel* own = result.loaded_.back().get();
    result.models_.models.push_back(&first.emplace(member.source, own).first->second->model);
    result.models_.weights.push_back(&own->weights);
  }
  return result;
}

Result<std::vector<const Model*>> ModelStructures::of(std::span<const Member> members) {
  const std::scoped_lock lock(mutex_);
  std::vector<const Model*> models;
  for (const Member& member : members) {
    std::unique_ptr<const Model>& model = by_source_[member.source];
    if (!model) {
      auto loaded = onnx::load(member.source, member.seed);
      if (!loaded) return in_context(fmt::format("member {}", member.name), loaded.error());
      model = std::make_unique<const Model>(std::move(loaded->model));
    }
    models.push_back(model.get());
  }
  return models;
}

std::string base_name(const std::string& model) { return std::filesystem::path(model).stem().string(); }

}  // namespace cohort
