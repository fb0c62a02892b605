#include "planning/choose_members.hpp"

#include <algorithm>
#include <set>
#include <string>

#include "base/file.hpp"
#include "base/one_or_each.hpp"
#include "planning/members.hpp"

namespace cohort {
namespace {

/// Members named twice could not be told apart.
Result<void> check_repeated(std::span<const ModelSource> sources, std::span<const std::filesystem::path> files) {
  for (auto source = sources.begin(); source != sources.end(); ++source) {
    const auto twin = std::find(sources.begin(), source, *source);
    if (twin == source) continue;
    return fail(ErrorCode::kInvalidInput, "{} and {} are profiles of the same {}; --members FILE says which to run",
                files[static_cast<std::size_t>(twin - sources.begin())].string(),
                files[static_cast<std::size_t>(source - sources.begin())].string(), source->model);
  }
  return {};
}

}  // namespace

std::vector<int> numbers_up_to(int most) {
  std::vector<int> numbers;
  for (int number = 1; number < most; number *= 2) numbers.push_back(number);
  numbers.push_back(most);
  return numbers;
}

std::vector<std::vector<int>> counts_up_to(int most) {
  std::vector<std::vector<int>> counts;
  for (const int number : numbers_up_to(most)) counts.push_back({number});
  return counts;
}

std::vector<std::vector<ModelSource>> sources_by_minibatch(std::span<const ModelSource> sources) {
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
  return choices;
}

std::vector<Member> members_of(std::span<const ModelSource> sources, const std::vector<int>& counts) {
  std::vector<Member> members;
  std::set<std::string> taken;
  for (std::size_t k = 0; k < sources.size(); ++k) {
    const ModelSource& source = sources[k];
    std::string name = base_name(source.model);
    if (sources.size() > 1 && source.minibatch > 1) name += fmt::format("-b{}", source.minibatch);
    // Files of one name in several folders, or networks of several widths.
    const std::string base = name;
    for (int number = 2; !taken.insert(name).second; ++number) name = fmt::format("{}.{}", base, number);
    for (int i = 0; i < one_or_each(counts, k); ++i)
      members.push_back({fmt::format("{}-{}", name, i), source, static_cast<std::uint64_t>(i)});
  }
  return members;
}

Result<std::vector<std::vector<Member>>> choose_members(const MemberChoice& choice,
                                                        std::span<const ModelSource> sources,
                                                        std::span<const std::filesystem::path> files) {
  if (!choice.file.empty()) {
    const auto text = read_file(choice.file);
    if (!text) return in_context("--members", text.error());
    auto members = parse_members(*text);
    if (!members) return in_context(choice.file.string(), members.error());
    return std::vector<std::vector<Member>>{std::move(*members)};
  }
  COHORT_CHECK(check_repeated(sources, files));
  std::vector<std::vector<ModelSource>> minibatches{{sources.begin(), sources.end()}};
  if (choice.choose_minibatch) minibatches = sources_by_minibatch(sources);
  if (minibatches.empty())
    return fail(ErrorCode::kUsage,
                "--choose-minibatch: the profiled models have no minibatch in common; profile each at the same ones");
  std::vector<std::vector<int>> numbers{choice.counts};  // each as the option gives them
  if (choice.choose_models) numbers = counts_up_to(*choice.choose_models);
  std::vector<std::vector<Member>> choices;
  for (const std::vector<int>& counts : numbers) {
    for (const std::vector<ModelSource>& at : minibatches) choices.push_back(members_of(at, counts));
  }
  return choices;
}

}  // namespace cohort
