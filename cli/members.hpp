#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "executor/run/batch_run.hpp"
#include "models/model.hpp"
#include "simulator/plan/plan.hpp"

namespace cohort {

/// The models of a plan's members, loaded. Members of one source share its Model; those of an ONNX
/// file share its weights too.
class LoadedMembers {
 public:
  /// Errors: those of onnx::load(), naming the member.
  static Result<LoadedMembers> load(std::span<const Member> members);

  [[nodiscard]] const MemberModels& models() const { return models_; }

 private:
  std::vector<std::unique_ptr<LoadedModel>> loaded_;
  MemberModels models_;
};

/// The models of members without their weights: what planning needs. Members of one source share theirs, so that
/// however many there are, each source is loaded once.
class MemberStructures {
 public:
  /// Errors: those of onnx::load(), naming the first member of the source.
  static Result<MemberStructures> load(std::span<const Member> members);

  /// By member.
  [[nodiscard]] const std::vector<const Model*>& models() const { return models_; }

 private:
  std::map<ModelSource, std::unique_ptr<const Model>> by_source_;
  std::vector<const Model*> models_;
};

/// "alexnet5" of "alexnet5" or "nets/alexnet5.onnx": what files made from a model are called.
std::string base_name(const std::string& model);

}  // namespace cohort
