#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "cli/command.hpp"
#include "cli/text_checks.hpp"
#include "executor/input/synth.hpp"

namespace cohort {
namespace {

struct DatasetSynthCommandOptions {
  std::filesystem::path folder;
  SynthOptions synth;
};

Result<void> run(const DatasetSynthCommandOptions& options, CommandContext& context) {
  SynthOptions synth = options.synth;
  synth.force = context.overwrite == Overwrite::kAllow;
  synth.cancel = &context.cancel;
  synth.progress = [&](int done, int total) { context.console.progress(fmt::format("{} of {} images", done, total)); };
  COHORT_TRY(const SynthSummary made, write_synth_dataset(options.folder, synth));
  if (context.json) {
    context.console.print_json(nlohmann::ordered_json{{"folder", options.folder.string()},
                                                      {"classes", synth.classes},
                                                      {"images", made.images},
                                                      {"bytes", made.bytes.value}});
  } else {
    context.console.note(fmt::format("wrote {} images of {} classes to {} ({})", made.images, synth.classes,
                                     options.folder.string(), format_bytes(made.bytes)));
  }
  return {};
}

}  // namespace

Command dataset_synth_command() {
  Command command;
  command.name = "dataset synth";
  command.help = "Make a folder of photograph-like JPEGs in learnable classes, one subfolder per class";
  command.example = "cohort dataset synth photos --classes 4 --images-per-class 25";
  command.writes_files = true;
  command.setup = [](CLI::App& app) -> RunFunction {
    const auto options = std::make_shared<DatasetSynthCommandOptions>();
    SynthOptions& synth = options->synth;
    app.add_option("FOLDER", options->folder, "Folder to make; without -f it must be new or empty")->required();
    const auto add = [&](const char* name, int& value, const char* help, int least, int most) {
      app.add_option(name, value, help)->check(CLI::Range(least, most))->capture_default_str()->type_name("N");
    };
    add("--classes", synth.classes, "Number of classes", 1, kMostSynthClasses);
    add("--images-per-class", synth.images_per_class, "Images per class", 1, kMostSynthImages);
    add("--long-side", synth.long_side, "Longer side of an image in pixels", kLeastSynthSide, kMostSynthSide);
    add("--quality", synth.quality, "JPEG quality, 1 to 100", 1, 100);
    app.add_option("--seed", synth.seed, "Seed; equal seeds give equal files")
        ->check(is_whole_number)
        ->capture_default_str()
        ->type_name("N");
    return [options](CommandContext& context) { return run(*options, context); };
  };
  return command;
}

}  // namespace cohort
