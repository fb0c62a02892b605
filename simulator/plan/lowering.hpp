#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "simulator/plan/fuse.hpp"
#include "simulator/plan/launches.hpp"
#include "simulator/plan/lower.hpp"
#include "simulator/plan/pick.hpp"
#include "simulator/plan/values.hpp"

/// Builds one Program; used by lower() only.
namespace cohort {

/// What a step inherits from the launch it serves.
struct Context {
  std::uint32_t group = 0;
  std::vector<MemberId> members;
  StreamId stream{};
  Phase phase = Phase::kForward;
};

class Lowering {
 public:
  Lowering(const Plan& plan, std::span<const Model* const> models, const OpCatalog& catalog,
           const ChooseAlternative& choose)
      : plan_(plan),
        models_(models),
        catalog_(catalog),
        picker_(plan, catalog, choose),
        values_(models, plan.layout, storage_of(plan.precision)) {}

  Result<Program> run();

 private:
  // Inputs and launches
  void add_inputs();
  [[nodiscard]] Result<void> check_streams() const;
  [[nodiscard]] Result<void> check_multiprocessors() const;
  [[nodiscard]] Result<void> check_images() const;
  Result<void> convert_inputs(std::span<const Launch> launches);
  void reserve_stacks(std::span<const Launch> launches);
  Result<void> lower_single(const Launch& launch);
  Result<void> lower_fused(const Launch& launch);
  Result<void> lower_grouped(const Launch& launch);
  bool is_grouped(const Launch& launch) const;

  // Results that need not be moved (lower_aliases.cpp)
  bool alias_result(MemberId member, const Op& op);
  bool alias_reshape(const Value& x, MemberId member, TensorId y);
  bool alias_fused_reshape(const Launch& launch, const StackKey& x_key, const StackKey& y_key);
  bool alias_view(View view, const Value& x, MemberId member, TensorId y);
  [[nodiscard]] bool readers_take_views(MemberId member, TensorId y) const;
  void write_transposed(MemberId member, const Op& op, OpCall& call) const;

  // Training: what lives across steps, and gradients in their place (lower_training.cpp)
  void add_settings();
  void add_states();
  void place_packs(std::span<const Launch> launches);
  bool place_pack(const Op& pack, std::span<const MemberId> members);
  [[nodiscard]] bool can_place(MemberId member, const Op& pack) const;
  void place_parts(MemberId member, const Op& pack, const View& whole);
  bool set_pack(MemberId member, const Op& op);
  Result<void> lower_apart(const Launch& launch);
  bool alias_unpack(MemberId member, const Op& op);
  void order_updates(const Step& step, std::vector<StepId>& needs);
  void count_states();

  // Operands
  Result<OpCall> member_call(MemberId member, const Op& op, const Context& context, std::vector<StepId>& needs);
  void set_results(MemberId member, const Op& op, const std::vector<View>& outputs, StepId step);
  Result<void> make_dense(MemberId member, const Op& op, const Context& context, OpCall& call,
                          std::vector<StepId>& needs);
  View allocate_output(MemberId member, TensorId tensor);
  Result<Value> stacked(const StackKey& key, const Context& context);
  [[nodiscard]] std::optional<Value> in_steps(const StackKey& key) const;
  Result<bool> add_fused_input(const Launch& launch, const FusedOp& fused, std::size_t position, OpCall& call,
                               std::vector<StepId>& needs);
  Result<void> stack_strided(const Launch& launch, const FusedOp& fused, const std::vector<std::size_t>& strided,
                             OpCall& call, std::vector<StepId>& needs);
  View fused_output(const Launch& launch, const StackKey& key, const OpCall& call);
  Result<StepId> copy(const Value& from, const View& to, const MemberTensor& what, std::string_view why,
                      const Context& context);
  [[nodiscard]] bool shares_input(const Launch& launch) const;
  void set_slices(const StackKey& key, const Value& whole);

  // Steps
  Result<StepId> add_step(OpCall call, std::string op, const Context& context, std::vector<StepId> needs);
  [[nodiscard]] Context context_of(const Launch& launch) const;
  void add_ordering_needs(const Step& step, std::vector<StepId>& needs);
  const std::string& signature(const Model& model, const Op& op);

  // Closing
  Result<void> add_outputs();
  Result<View> to_float32(const MemberTensor& what);
  void lay_out_memory();
  [[nodiscard]] Result<void> check_limits() const;

  [[nodiscard]] const Op& op_of(const Launch& launch, std::size_t i) const {
    return models_[to_index(launch.members[i])]->op(launch.ops[i]);
  }
  [[nodiscard]] StackKey key_of(const Launch& launch, StackForm form, std::size_t position, bool output) const {
    StackKey key{form, {}};
    for (std::size_t i = 0; i < launch.members.size(); ++i) {
      const Op& op = op_of(launch, i);
      key.parts.push_back({launch.members[i], output ? op.outputs[position] : op.inputs[position]});
    }
    return key;
  }

  const Plan& plan_;
  std::span<const Model* const> models_;
  const OpCatalog& catalog_;
  AlternativePicker picker_;
  Values values_;
  Program program_;
  std::vector<std::vector<StepId>> needs_;  ///< of each step, not yet reduced
  std::map<std::pair<MemberId, TensorId>, StackKey> reserved_;
  std::map<std::pair<MemberId, TensorId>, Value> dense_copies_;
  std::map<std::pair<MemberId, TensorId>, View> placed_;  ///< results that are written into their place in a pack
  std::map<std::pair<MemberId, TensorId>, View> packs_;   ///< whose parts are all placed
  std::map<std::pair<MemberId, TensorId>, StackKey> stacks_of_packs_;  ///< that several members' packs lie in
  std::map<BufferId, std::vector<std::pair<StepId, View>>> state_readers_;
  std::map<const Op*, std::string> signatures_;
  std::unordered_set<std::string> tasks_;
  std::vector<std::vector<StepId>> steps_of_group_;
  std::map<StreamId, StepId> last_on_stream_;
  std::optional<StepId> last_wide_;  ///< last step that had all cores to itself
};

}  // namespace cohort
