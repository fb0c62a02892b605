#include "cli/planning.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <set>

#include "base/file.hpp"
#include "base/one_or_each.hpp"
#include "cli/devices.hpp"
#include "cli/list_option.hpp"
#include "cli/precision_option.hpp"
#include "cli/provenance.hpp"
#include "cli/text_checks.hpp"
#include "simulator/contention/gpu_profile.hpp"
#include "tracer/file/trace_file.hpp"

namespace cohort {
namespace {

/// That CUDA makes use of.
constexpr std::int64_t kMostConnections = 32;

/// "8GiB", "512MiB", "1000".
std::optional<Bytes> bytes_from(std::string_view text) {
  std::int64_t value = 0;
  const auto number = std::from_chars(text.data(), text.data() + text.size(), value);
  if (number.ec != std::errc() || value < 0) return std::nullopt;
  const std::string_view unit(number.ptr, static_cast<std::size_t>(text.data() + text.size() - number.ptr));
  int shift = 0;
  if (unit == "KiB")
    shift = 10;
  else if (unit == "MiB")
    shift = 20;
  else if (unit == "GiB")
    shift = 30;
  else if (!unit.empty() && unit != "B")
    return std::nullopt;
  if (value > (INT64_MAX >> shift)) return std::nullopt;
  return Bytes{value << shift};
}

Result<Limits> parse_limits(const std::vector<std::string>& texts) {
  Limits limits;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const auto bytes =
        equals == std::string::npos ? std::nullopt : bytes_from(std::string_view(text).substr(equals + 1));
    if (!bytes || (name != "memory" && name != "workspace"))
      return fail(ErrorCode::kUsage, "--limit must be like memory=8GiB or workspace=64MiB, not \"{}\"", text);
    (name == "memory" ? limits.memory : limits.workspace) = *bytes;
  }
  return limits;
}

/// `count` members of one source, named after it and their seeds.
void add_members(const ModelSource& source, int count, bool several, std::vector<Member>& members) {
  for (int i = 0; i < count; ++i) {
    std::string name = base_name(source.model);
    if (several && source.minibatch > 1) name += fmt::format("-b{}", source.minibatch);
    members.push_back({fmt::format("{}-{}", name, i), source, static_cast<std::uint64_t>(i)});
  }
}

/// Profiles of which one is chosen have no number each.
Result<void> check_counts(const PlanningOptions& options) {
  if (options.choose_minibatch && options.counts.size() > 1) {
    return fail(ErrorCode::kUsage,
                "-n: {} values with --choose-minibatch, which runs one of a model's profiles; give one for all",
                options.counts.size());
  }
  return check_one_or_each("-n", options.counts.size(), options.profiles.size(), "profile");
}

}  // namespace

Result<void> check_usage(const PlanningOptions& options) {
  const auto check = [](std::string_view option, int value, int least, int most) -> Result<void> {
    if (value >= least && value <= most) return {};
    return fail(ErrorCode::kUsage, "{} must be from {} to {}, not {}", option, least, most, value);
  };
  for (const int count : options.counts) COHORT_CHECK(check("-n", count, 1, 65536));
  COHORT_CHECK(check("--choose-models", options.choose_models.value_or(1), 1, 65536));
  COHORT_CHECK(check("--buffers", options.buffers, 1, 1024));
  COHORT_CHECK(check("--launch-threads", options.launch_threads, 1, 64));
  COHORT_CHECK(check("--decode-workers", options.decode_workers, 0, 1024));
  return check_utf8("--data", options.data);
}

Result<Bytes> parse_bytes(std::string_view option, std::string_view text) {
  const auto bytes = bytes_from(text);
  if (bytes) return *bytes;
  return fail(ErrorCode::kUsage, "{} '{}': write it as 64MiB, 1GiB or a number of bytes", option, text);
}

void add_planning_options(CLI::App& app, PlanningOptions& options) {
  app.add_option("PROFILE", options.profiles, "Profiles of the members' models (cohort profile)")->required();
  auto* count = add_list_option(app, "-n,--models", options.counts, parse_count,
                                "Members of each profiled model, with seeds from 0, or of each trace; one number for "
                                "all, or one for each in the order of the files")
                    ->type_name("N[,...]")
                    ->default_str("1");
  app.add_option("--members", options.members, "JSON file of members that differ, as a plan lists them")
      ->type_name("FILE")
      ->excludes(count);
  app.add_option("--data", options.data, "Folder of labelled JPEGs to decode; made-up values unless given")
      ->type_name("FOLDER");
  add_image_options(app, options.images);
  app.add_option("--input", options.input, "One input for all members, or one each")
      ->check(CLI::IsMember({"shared", "separate"}))
      ->capture_default_str();
  app.add_option("--bad-images", options.bad_images,
                 "Broken images and those that are not RGB or grey: skip (they are named at the end) or fatal")
      ->check(CLI::IsMember({"skip", "fatal"}))
      ->capture_default_str();
  app.add_option("--decode-workers", options.decode_workers, "Threads that decode; as many as cores unless given");
  app.add_option("--buffers", options.buffers, "Minibatches in flight per input")->capture_default_str();
  app.add_option("--input-seed", options.seed, "Order of the images, and made-up values")
      ->check(is_whole_number)
      ->capture_default_str();
  app.add_option("--device-profile", options.gpu_profile,
                 "Figures of the GPU (cohort calibrate --fit); the published ones unless given")
      ->type_name("FILE");
  app.add_option("--limit", options.limits, "memory=8GiB or workspace=64MiB")->type_name("NAME=BYTES");
  add_precision_option(app, options.precision, "What ops compute in: as the profiles do unless given");
}

Result<Plan> read_plan(const std::filesystem::path& file) {
  COHORT_TRY(const std::string text, read_file(file));
  auto plan = parse_plan(text);
  if (!plan) return in_context(file.string(), plan.error());
  return plan;
}

/// How images lay in memory in a profile; those that say nothing are of nhwc.
Result<Layout> recorded_layout(const std::map<std::string, std::string>& settings) {
  const auto found = settings.find("layout");
  return found == settings.end() ? Layout::kNhwc : layout_from(found->second);
}

Result<void> PlanningInput::read_profiles(const std::vector<std::filesystem::path>& files,
                                          const TraceReadOptions& read) {
  std::vector<const Trace*> pointers;
  profiles_.reserve(files.size());
  for (const auto& file : files) {
    COHORT_TRY(Trace trace, read_trace(file, read));
    if (trace.info.kind != TraceKind::kProfile)
      return fail(ErrorCode::kInvalidInput, "{} is a {} trace; planning needs a profile (cohort profile MODEL)",
                  file.string(), to_string(trace.info.kind));
    auto source = read_source(trace.info.settings);
    if (!source) return in_context(file.string(), source.error());
    const auto precision = recorded_precision(trace.info.settings);
    if (!precision) return in_context(file.string(), precision.error());
    if (!profiles_.empty() && *precision != precision_)
      return fail(ErrorCode::kInvalidInput, "{} was recorded in {}, {} in {}: a plan computes in one precision",
                  file.string(), to_string(*precision), files.front().string(), to_string(precision_));
    precision_ = *precision;
    const auto layout = recorded_layout(trace.info.settings);
    if (!layout) return in_context(file.string(), layout.error());
    if (!profiles_.empty() && *layout != layout_)
      return fail(ErrorCode::kInvalidInput, "{} was recorded in {}, {} in {}: a plan has one layout", file.string(),
                  to_string(*layout), files.front().string(), to_string(layout_));
    layout_ = *layout;
    sources_.push_back(std::move(*source));
    profiles_.push_back(std::move(trace));
    pointers.push_back(&profiles_.back());
  }
  COHORT_TRY(costs_, CostTable::from(pointers));
  device_ = profiles_.front().info.device;
  name_ = base_name(sources_.front().model);
  COHORT_TRY(common_.device, device_profile_of(pointers));
  return {};
}

/// A GPU shares itself among streams as its figures say; without them nothing can be said of streams.
Result<void> PlanningInput::read_gpu_profile(const std::filesystem::path& file) {
  std::optional<GpuProfile> figures;
  if (!file.empty()) {
    if (device_.kind != "cuda") {
      return fail(ErrorCode::kUsage,
                  "--device-profile {}: the profiles are of {}; only those of a GPU have a use for it", file.string(),
                  device_.kind.empty() ? "no known device" : device_.id);
    }
    COHORT_TRY(const std::string text, read_file(file));
    auto profile = parse_gpu_profile(text);
    if (!profile) return in_context(file.string(), profile.error());
    figures = *std::move(profile);
  } else if (device_.kind == "cuda") {
    figures = published_gpu_profile(device_.name);
  }
  if (!figures) return {};
  // Not a fact of the GPU: what the plan's process asks for, as the one that recorded the profile did.
  if (const auto connections = number_setting(device_, kConnectionsSetting); connections && *connections > 0)
    figures->connections = static_cast<int>(std::min<std::int64_t>(*connections, kMostConnections));
  std::vector<const Trace*> recorded;
  for (const Trace& profile : profiles_) recorded.push_back(&profile);
  common_.gpu = &gpu_.emplace(*std::move(figures), RecordedLaunches(recorded), precision_);
  return {};
}

/// What was profiled, as far as the device that is here can do it for a call: fused widths that were
/// never profiled may come with other algorithms than those that were.
class ProfiledDeviceCatalog final : public OpCatalog {
 public:
  /// `device` is null where the profiled device is not here: then what was recorded must do.
  ProfiledDeviceCatalog(const CostTable& costs, const DeviceInfo& profiled, Precision precision, int cores,
                        const OpCatalog* device)
      : costs_(costs),
        recorded_(costs, cores, precision, multiprocessors_of(profiled)),
        on_gpu_(profiled.kind == "cuda"),
        device_(device) {}

  Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const override {
    COHORT_TRY(auto recorded, recorded_.alternatives(call, threads));
    if (device_ == nullptr) return recorded;
    COHORT_TRY(auto here, device_->alternatives(call, threads));
    std::vector<Alternative> both;
    for (const Alternative& alternative : here) {
      const auto same = [&](const Alternative& other) { return other.algorithm == alternative.algorithm; };
      const bool known = std::any_of(recorded.begin(), recorded.end(), same);
      // Of a launch of several members' ops that no profile holds, what is recorded of each op stands for all ways.
      if (known && (call.parts.empty() || costs_.has(key_of(call, alternative)))) both.push_back(alternative);
    }
    return both.empty() ? here : both;
  }
  bool accepts_strides(const OpCall& call) const override {
    return device_ != nullptr ? device_->accepts_strides(call) : recorded_.accepts_strides(call);
  }
  std::vector<Precision> precisions() const override { return recorded_.precisions(); }
  int multiprocessors() const override {
    return device_ != nullptr ? device_->multiprocessors() : recorded_.multiprocessors();
  }
  int cores() const override { return recorded_.cores(); }
  std::optional<int> most_streams() const override { return on_gpu_ ? std::nullopt : std::optional(recorded_.cores()); }

 private:
  static int multiprocessors_of(const DeviceInfo& device) {
    int count = 0;
    const auto found = device.settings.find("multiprocessors");
    if (found != device.settings.end())
      std::from_chars(found->second.data(), found->second.data() + found->second.size(), count);
    return std::clamp(count, 0, 65536);
  }
  static CostKey key_of(const OpCall& call, const Alternative& way) {
    return {call.signature, call.strategy, call.width, way.threads, way.algorithm};
  }

  const CostTable& costs_;
  RecordedCatalog recorded_;
  bool on_gpu_;
  const OpCatalog* device_;
};

/// Times recorded in one precision, or layout, say nothing about another.
Result<void> PlanningInput::check_profiled(std::string_view asked, Precision precision) const {
  if (precision == precision_) return {};
  return fail(ErrorCode::kUsage, "{} {}: the profiles were recorded in {}; profile with --precision {}", asked,
              to_string(precision), to_string(precision_), to_string(precision));
}

Result<void> PlanningInput::check_profiled(Layout of_plan) const {
  if (of_plan == layout_) return {};
  return fail(ErrorCode::kUsage, "the plan's layout {}: the profiles were recorded in {}; profile with --layout {}",
              to_string(of_plan), to_string(layout_), to_string(of_plan));
}

/// Whether `here` would run ops as the profiled device did: by the same library, for the same instructions.
bool is_profiled_device(const DeviceInfo& here, const DeviceInfo& profiled) {
  const auto agree = [&](const char* key) {
    const auto mine = here.settings.find(key), recorded = profiled.settings.find(key);
    return mine == here.settings.end() || recorded == profiled.settings.end() || mine->second == recorded->second;
  };
  return here.name == profiled.name && agree("isa") && agree("library");
}

Result<void> PlanningInput::check_images(const std::vector<std::filesystem::path>& files,
                                         std::string_view asked) const {
  for (std::size_t i = 0; i < files.size(); ++i)
    COHORT_CHECK(check_timed_alike(base_.input, asked, profiles_[i], files[i]));
  return {};
}

Result<void> PlanningInput::prepare() {
  // The device may be elsewhere: then what was recorded of it must do.
  if (auto opened = open_device(device_.id); opened && is_profiled_device((*opened)->info(), device_))
    backend_ = std::move(*opened);
  catalog_ = std::make_unique<ProfiledDeviceCatalog>(*costs_, device_, precision_, common_.device.cores,
                                                     backend_ ? &backend_->catalog() : nullptr);
  common_.costs = &*costs_;
  common_.catalog = catalog_.get();
  for (std::vector<Member>& members : choices_) {
    Plan& base = bases_.emplace_back(base_);
    base.members = std::move(members);
    COHORT_TRY(MemberStructures structures, MemberStructures::load(base.members));
    PlanningCase& planning_case = cases_.emplace_back(common_);
    planning_case.base = &base;
    planning_case.models = members_.emplace_back(std::move(structures)).models();
  }
  return {};
}

/// Members named twice could not be told apart.
Result<void> PlanningInput::check_repeated(const PlanningOptions& options) const {
  for (auto source = sources_.begin(); source != sources_.end(); ++source) {
    const auto twin = std::find(sources_.begin(), source, *source);
    if (twin == source) continue;
    return fail(ErrorCode::kInvalidInput, "{} and {} are profiles of the same {}; --members FILE says which to run",
                options.profiles[static_cast<std::size_t>(twin - sources_.begin())].string(),
                options.profiles[static_cast<std::size_t>(source - sources_.begin())].string(), source->model);
  }
  return {};
}

/// The profiled models at each minibatch that all of them were profiled at, ascending.
Result<std::vector<std::vector<ModelSource>>> by_minibatch(const std::vector<ModelSource>& sources) {
  std::vector<ModelSource> models;  // minibatch apart
  std::set<std::int64_t> minibatches;
  const auto at = [](ModelSource source, std::int64_t minibatch) {
    source.minibatch = minibatch;
    return source;
  };
  for (const ModelSource& source : sources) {
    minibatches.insert(source.minibatch);
    const ModelSource model = at(source, 1);
    if (std::find(models.begin(), models.end(), model) == models.end()) models.push_back(model);
  }
  std::vector<std::vector<ModelSource>> choices;
  for (const std::int64_t minibatch : minibatches) {
    std::vector<ModelSource> choice;
    for (const ModelSource& model : models) choice.push_back(at(model, minibatch));
    const auto profiled = [&](const ModelSource& source) {
      return std::find(sources.begin(), sources.end(), source) != sources.end();
    };
    if (std::all_of(choice.begin(), choice.end(), profiled)) choices.push_back(std::move(choice));
  }
  if (choices.empty())
    return fail(ErrorCode::kUsage,
                "--choose-minibatch: the profiled models have no minibatch in common; profile each at the same ones");
  return choices;
}

/// 1, 2, 4, ... and the most.
std::vector<int> counts_up_to(int most) {
  std::vector<int> counts;
  for (int count = 1; count < most; count *= 2) counts.push_back(count);
  counts.push_back(most);
  return counts;
}

Result<void> PlanningInput::choose_members(const PlanningOptions& options) {
  if (!options.members.empty()) {
    COHORT_TRY(const std::string text, read_file(options.members));
    auto members = parse_members(text);
    if (!members) return in_context(options.members.string(), members.error());
    choices_.push_back(std::move(*members));
    return {};
  }
  COHORT_CHECK(check_repeated(options));
  std::vector<std::vector<ModelSource>> choices{sources_};
  if (options.choose_minibatch) {
    COHORT_TRY(choices, by_minibatch(sources_));
  }
  std::vector<std::vector<int>> numbers{options.counts};  // each as the option gives them
  if (options.choose_models) {
    numbers.clear();
    for (const int count : counts_up_to(*options.choose_models)) numbers.push_back({count});
  }
  for (const std::vector<int>& counts : numbers) {
    for (const std::vector<ModelSource>& choice : choices) {
      std::vector<Member>& members = choices_.emplace_back();
      for (std::size_t i = 0; i < choice.size(); ++i)
        add_members(choice[i], one_or_each(counts, i), choice.size() > 1, members);
    }
  }
  return {};
}

Result<void> PlanningInput::set_base(const PlanningOptions& options) {
  base_.device = device_.id;
  base_.precision = precision_;
  base_.layout = layout_;
  if (!options.precision.empty()) {
    COHORT_TRY(const Precision asked, precision_from(options.precision));
    COHORT_CHECK(check_profiled("--precision", asked));
  }
  base_.input.source = options.data.empty() ? InputSource::kGenerated : InputSource::kFolder;
  base_.input.path = options.data;
  COHORT_TRY(base_.input.images, images_of(options.images));
  base_.input.sharing = options.input == "shared" ? InputSharing::kShared : InputSharing::kSeparate;
  base_.input.bad_images = options.bad_images == "fatal" ? BadImages::kFatal : BadImages::kSkip;
  base_.input.decode_workers = options.decode_workers > 0 ? options.decode_workers : host_cores(device_);
  base_.input.buffers = options.buffers;
  base_.input.seed = options.seed;
  base_.launch_threads = options.launch_threads;
  if (options.launch && device_.kind == "cuda") base_.launch = *options.launch;
  COHORT_TRY(base_.limits, parse_limits(options.limits));
  return {};
}

Result<std::unique_ptr<PlanningInput>> PlanningInput::open(const PlanningOptions& options,
                                                           const TraceReadOptions& read) {
  COHORT_CHECK(check_usage(options));
  COHORT_CHECK(check_counts(options));
  std::unique_ptr<PlanningInput> input(new PlanningInput());
  COHORT_CHECK(input->read_profiles(options.profiles, read));
  COHORT_CHECK(input->read_gpu_profile(options.gpu_profile));
  if (input->device_.kind != "cuda" && (options.launch_threads > 1 || options.launch == LaunchMode::kGraph)) {
    const bool threads = options.launch_threads > 1;
    return fail(ErrorCode::kUsage, "{}: the profiles are of {}; only a GPU's steps are launched",
                threads ? fmt::format("--launch-threads {}", options.launch_threads) : "--graphs", input->device_.id);
  }
  COHORT_CHECK(input->set_base(options));
  COHORT_CHECK(input->check_images(options.profiles, "--resize"));
  COHORT_CHECK(input->choose_members(options));
  COHORT_CHECK(input->prepare());
  return input;
}

Result<std::unique_ptr<PlanningInput>> PlanningInput::open(const std::vector<std::filesystem::path>& profiles,
                                                           Plan plan, const std::filesystem::path& gpu_profile,
                                                           const TraceReadOptions& read) {
  std::unique_ptr<PlanningInput> input(new PlanningInput());
  COHORT_CHECK(input->read_profiles(profiles, read));
  COHORT_CHECK(input->read_gpu_profile(gpu_profile));
  COHORT_CHECK(input->check_profiled("the plan's precision", plan.precision));
  COHORT_CHECK(input->check_profiled(plan.layout));
  input->choices_.push_back(plan.members);
  input->base_ = std::move(plan);
  COHORT_CHECK(input->check_images(profiles, "the plan's input.resize"));
  COHORT_CHECK(input->prepare());
  return input;
}

}  // namespace cohort
