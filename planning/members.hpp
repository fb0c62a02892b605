#pragma once

#include <map>
#include <memory>
#include <mutex>
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

/// Models without their weights: what planning needs. However many members there are of a source, and cases of them,
/// it is loaded once. Any thread may ask.
class ModelStructures {
 public:
  /// By member; they live as long as this.
  /// Errors: those of onnx::load(), naming the first member of the source.
  Result<std::vector<const Model*>> of(std::span<const Member> members);

 private:
  std::mutex mutex_;
  std::map<ModelSource, std::unique_ptr<const Model>> by_source_;  ///< guarded by the above
};

/// "alexnet5" of "alexnet5" or "nets/alexnet5.onnx": what files made from a model are called.
std::string base_name(const std::string& model);

}  // namespace cohort
