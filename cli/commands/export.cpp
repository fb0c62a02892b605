#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/shapes_json.hpp"
#include "planning/exported_batch.hpp"
#include "planning/members.hpp"
#include "planning/plan_files.hpp"

namespace cohort {
namespace {

using nlohmann::ordered_json;

struct ExportCommandOptions {
  std::filesystem::path plan;
  std::filesystem::path output;
  std::string fuse = "plan";
};

/// "x [1, 3, 224, 224]", or "lenet5-0/x [1, 1, 28, 28] and 15 more".
std::string first_of(const Model& model, const std::vector<TensorId>& tensors) {
  const Tensor& first = model.tensor(tensors.front());
  const std::string text = fmt::format("{} {}", first.name, to_string(first.shape));
  return tensors.size() == 1 ? text : fmt::format("{} and {} more", text, tensors.size() - 1);
}

void report(const Plan& plan, const ExportedBatch& batch, const ExportCommandOptions& options,
            const std::filesystem::path& data, CommandContext& context) {
  const Bytes size{static_cast<std::int64_t>(batch.bytes.size() + batch.data.size())};
  if (context.json) {
    ordered_json json{{"file", options.output.string()},
                      {"bytes", size.value},
                      {"models", plan.members.size()},
                      {"ops", batch.model.ops.size()},
                      {"inputs", shapes_json(batch.model, batch.model.inputs)},
                      {"outputs", shapes_json(batch.model, batch.model.outputs)}};
    if (!batch.data.empty()) json["data"] = data.string();
    context.console.print_json(json);
    return;
  }
  std::string text = fmt::format("{} models as one of {} ops\n", plan.members.size(), batch.model.ops.size());
  if (!batch.model.inputs.empty()) text += fmt::format("inputs:  {}\n", first_of(batch.model, batch.model.inputs));
  text += fmt::format("outputs: {}\n", first_of(batch.model, batch.model.outputs));
  context.console.print(text);
  if (plan.precision != Precision::kFloat32)
    context.console.note(
        fmt::format("weights are float32: precision {} is left to the runtime", to_string(plan.precision)));
  const std::string beside = batch.data.empty() ? "" : fmt::format(" and its weights, {}", data.string());
  context.console.note(fmt::format("wrote {}{} ({})", options.output.string(), beside, format_bytes(size)));
}

Result<void> run(ExportCommandOptions options, CommandContext& context) {
  // "lenet5.onnx" of "lenet5.plan.json" would be the name of a model that the plan may read.
  if (options.output.empty()) options.output = beside_plan(options.plan.filename(), ".batch.onnx");
  const std::filesystem::path data = options.output.string() + ".data";
  COHORT_CHECK(check_writable(options.output, context.overwrite));
  COHORT_CHECK(check_writable(data, context.overwrite));
  COHORT_TRY(const Plan plan, read_plan(options.plan));
  context.console.progress("loading the models");
  const ExportFusion fusion = options.fuse == "all" ? ExportFusion::kAll : ExportFusion::kPlan;
  auto batch = export_batch(plan, fusion, data.filename().string());
  context.console.clear_progress();
  if (!batch) return in_context(options.plan.string(), batch.error());
  COHORT_CHECK(context.cancel.check());
  PendingFiles pending(context.overwrite);
  COHORT_CHECK(pending.add(options.output, batch->bytes));
  if (!batch->data.empty()) COHORT_CHECK(pending.add(data, batch->data));
  COHORT_CHECK(pending.commit());
  report(plan, *batch, options, data, context);
  return {};
}

}  // namespace

Command export_command() {
  Command command;
  command.name = "export";
  command.help =
      "Write a plan's model batch as one ONNX model for any runtime: what the plan fuses is fused, the rest stands "
      "side "
      "by side";
  command.example =
      "cohort profile lenet5\n  cohort plan lenet5.trace.json.gz -n 16\n  cohort export lenet5.plan.json -o "
      "lenet5x16.onnx";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<ExportCommandOptions>();
    app.add_option("PLAN", options->plan, "A plan that cohort plan wrote, or one by hand")->required();
    app.add_option("-o,--output", options->output, "File to write (PLAN's name with .batch.onnx)")
        ->type_name("FILE.onnx");
    app.add_option(
           "--fuse", options->fuse,
           "Ops to fuse across members: those that the plan fuses, as it is faster on the plan's device; or all "
           "that can be")
        ->check(CLI::IsMember({"plan", "all"}))
        ->capture_default_str();
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
