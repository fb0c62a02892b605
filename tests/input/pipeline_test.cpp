#include "executor/input/pipeline.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "executor/host/core_binding.hpp"
#include "executor/input/image_loader.hpp"
#include "tests/input/fixture.hpp"

namespace cohort {
namespace {

using input_test::Buffers;
using input_test::receive;
using input_test::Received;
using input_test::scan;
using input_test::write_numbered_images;
using testing::ElementsAre;
using testing::HasSubstr;

std::unique_ptr<InputPipelines> open(const TemporaryFolder& folder, const InputOptions& options,
                                     std::vector<PipelineOptions> pipelines) {
  auto opened = InputPipelines::open(scan(folder.path()), options, std::move(pipelines));
  EXPECT_TRUE(opened) << opened.error().message;
  return opened ? std::move(*opened) : nullptr;
}

/// The first `count` minibatches of 4 with `workers` workers and `slots` slots.
std::vector<Received> first_minibatches(const TemporaryFolder& folder, InputOptions options, int slots, int count) {
  const Buffers buffers(4, slots);
  const auto pipelines = open(folder, options, {buffers.options()});
  return receive(*pipelines, 0, buffers, count);
}

class InputPipelinesTest : public testing::Test {
 protected:
  InputPipelinesTest() { write_numbered_images(folder_, kImages); }

  static constexpr int kImages = 11;
  TemporaryFolder folder_;
};

TEST_F(InputPipelinesTest, FillsPlacesInTheFoldersOrderWithoutShuffle) {
  InputOptions options;
  options.shuffle = false;
  const auto minibatches = first_minibatches(folder_, options, 2, 4);
  ASSERT_EQ(minibatches.size(), 4U);
  EXPECT_THAT(minibatches[0].images, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(minibatches[1].images, ElementsAre(4, 5, 6, 7));
  EXPECT_THAT(minibatches[2].images, ElementsAre(8, 9, 10, 0));
  EXPECT_THAT(minibatches[3].images, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(minibatches[1].labels, ElementsAre(0, 0, 1, 1));  // six even numbers in class a come first
}

TEST_F(InputPipelinesTest, PutsEachImageInItsPlace) {
  Buffers buffers(4, 2);
  PipelineOptions pipeline = buffers.options();
  pipeline.target.random_crop = pipeline.target.random_flip = false;
  const auto pipelines = open(folder_, {}, {pipeline});
  const ImageFolder images = scan(folder_.path());
  ImageLoader loader;
  std::vector<float> expected(pipeline.target.size());
  for (const Received& minibatch : receive(*pipelines, 0, buffers, 6))
    for (std::size_t place = 0; place < 4; ++place) {
      const ImageFile& image = images.images[minibatch.images[place]];
      ASSERT_TRUE(loader.load(image.path, 0, pipeline.target, expected));
      EXPECT_EQ(minibatch.labels[place], image.label);
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                             minibatch.values.begin() + static_cast<std::ptrdiff_t>(place * expected.size())));
    }
}

TEST_F(InputPipelinesTest, GivesTheSameForAnyNumberOfWorkersAndSlots) {
  const auto expected = first_minibatches(folder_, {}, 1, 9);
  for (const int workers : {1, 2, 3, 4})
    for (const int slots : {1, 2, 3}) {
      InputOptions options;
      options.workers = workers;
      EXPECT_EQ(first_minibatches(folder_, options, slots, 9), expected)
          << workers << " workers, " << slots << " slots";
    }
}

TEST_F(InputPipelinesTest, ShowsEveryImageOnceAnEpochInAnOrderOfItsOwn) {
  std::vector<std::uint32_t> sequence;
  for (const Received& minibatch : first_minibatches(folder_, {}, 2, kImages))  // four epochs
    sequence.insert(sequence.end(), minibatch.images.begin(), minibatch.images.end());
  std::set<std::vector<std::uint32_t>> orders;
  for (std::ptrdiff_t epoch = 0; epoch < 4; ++epoch) {
    const auto begin = sequence.begin() + epoch * kImages;
    orders.insert({begin, begin + kImages});
    EXPECT_EQ(std::set<std::uint32_t>(begin, begin + kImages).size(), std::size_t{kImages});
  }
  EXPECT_EQ(orders.size(), 4U);
}

TEST_F(InputPipelinesTest, FollowsTheSeed) {
  InputOptions options;
  const auto first = first_minibatches(folder_, options, 2, 3);
  options.seed = 1;
  const auto second = first_minibatches(folder_, options, 2, 3);
  EXPECT_NE(first, second);
  EXPECT_EQ(second, first_minibatches(folder_, options, 2, 3));
}

TEST_F(InputPipelinesTest, VariesAnImageFromEpochToEpoch) {
  const TemporaryFolder single;
  single.write("a/x.jpg", input_test::jpeg_of(input_test::noisy_picture(40, 20, 3, 1)));
  std::set<std::vector<float>> versions;
  for (const Received& minibatch : first_minibatches(single, {}, 2, 5)) {
    const std::size_t size = minibatch.values.size() / 4;
    for (std::size_t place = 0; place < 4; ++place) {
      const auto begin = minibatch.values.begin() + static_cast<std::ptrdiff_t>(place * size);
      versions.insert({begin, begin + static_cast<std::ptrdiff_t>(size)});
    }
  }
  EXPECT_GT(versions.size(), 10U);
}

TEST_F(InputPipelinesTest, GivesEverySeparatePipelineWhatASharedOneGives) {
  const auto expected = first_minibatches(folder_, {}, 2, 6);
  std::vector<Buffers> buffers;
  for (const int slots : {2, 3, 1}) buffers.emplace_back(4, slots);
  InputOptions options;
  options.workers = 2;
  const auto pipelines = open(folder_, options, {buffers[0].options(), buffers[1].options(), buffers[2].options()});
  for (std::size_t p = 0; p < buffers.size(); ++p)
    EXPECT_EQ(receive(*pipelines, static_cast<int>(p), buffers[p], 6), expected) << "pipeline " << p;
}

TEST_F(InputPipelinesTest, ServesPipelinesOfDifferentShapes) {
  const Buffers coloured(3, 2);
  std::vector<float> gray_slot(2 * 5 * 7);
  PipelineOptions gray{{1, 5, 7, ImageLayout::kNchw}, 2, {gray_slot}};
  InputOptions options;
  options.workers = 3;
  options.shuffle = false;
  const auto pipelines = open(folder_, options, {coloured.options(), gray});
  const auto ready = pipelines->next(1);
  ASSERT_TRUE(ready);
  EXPECT_THAT(std::vector(ready->images.begin(), ready->images.end()), ElementsAre(0, 1));
  EXPECT_EQ(receive(*pipelines, 0, coloured, 2).size(), 2U);
}

TEST_F(InputPipelinesTest, MayBeUsedFromAThreadPerPipeline) {
  const auto expected = first_minibatches(folder_, {}, 2, 20);
  std::vector<Buffers> buffers;
  for (int p = 0; p < 4; ++p) buffers.emplace_back(4, 2);
  std::vector<PipelineOptions> wanted;
  for (const Buffers& own : buffers) wanted.push_back(own.options());
  InputOptions options;
  options.workers = 3;
  const auto pipelines = open(folder_, options, wanted);
  std::vector<std::vector<Received>> received(buffers.size());
  std::vector<std::thread> callers;
  for (std::size_t p = 0; p < buffers.size(); ++p)
    callers.emplace_back([&, p] { received[p] = receive(*pipelines, static_cast<int>(p), buffers[p], 20); });
  for (std::thread& caller : callers) caller.join();
  for (const auto& own : received) EXPECT_EQ(own, expected);
}

TEST_F(InputPipelinesTest, ServesAPipelineWhileAnotherStandsStill) {
  const Buffers moving(4, 2);
  const Buffers still(4, 2);
  const auto pipelines = open(folder_, {}, {still.options(), moving.options()});
  EXPECT_EQ(receive(*pipelines, 1, moving, 30).size(), 30U);
  EXPECT_EQ(receive(*pipelines, 0, still, 30).size(), 30U);
}

/// Collects what workers report, and checks that nobody works on a minibatch too far ahead.
class RecordingObserver : public InputObserver {
 public:
  explicit RecordingObserver(int slots) : slots_(slots) {}

  void begin(InputStage stage, const InputWork& work) noexcept override {
    if (work.minibatch >= released + slots_) too_far_ahead = true;
    const std::lock_guard lock(mutex_);
    if (!open_.emplace(work.worker, stage).second) unbalanced = true;
    ++begun[{work.minibatch, work.place}];
  }
  void end(InputStage stage, const InputWork& work) noexcept override {
    const std::lock_guard lock(mutex_);
    const auto found = open_.find(work.worker);
    if (found == open_.end() || found->second != stage) unbalanced = true;
    open_.erase(work.worker);
    workers.insert(work.worker);
  }

  std::atomic<std::int64_t> released{0};
  std::atomic<bool> too_far_ahead{false};
  std::atomic<bool> unbalanced{false};
  std::map<std::pair<std::int64_t, int>, int> begun;  ///< stages by (minibatch, place)
  std::set<int> workers;

 private:
  int slots_;
  std::mutex mutex_;
  std::map<int, InputStage> open_;
};

TEST_F(InputPipelinesTest, KeepsNoMoreMinibatchesInFlightThanThereAreSlots) {
  for (const int slots : {1, 2, 3}) {
    RecordingObserver observer(slots);
    const Buffers buffers(4, slots);
    InputOptions options;
    options.workers = 4;
    options.observer = &observer;
    auto pipelines = open(folder_, options, {buffers.options()});
    for (int i = 0; i < 25; ++i) {
      const auto ready = pipelines->next(0);
      ASSERT_TRUE(ready);
      ++observer.released;
      pipelines->release(0, ready->slot);
    }
    pipelines.reset();
    EXPECT_FALSE(observer.too_far_ahead) << slots << " slots";
  }
}

// The workers are kept busy by the second pipeline: had they been free to go on with the first, they
// would have, since its minibatch would have been the more urgent one.
TEST_F(InputPipelinesTest, LeavesAHeldSlotAlone) {
  for (const int slots : {1, 2, 3}) {
    const Buffers held(4, slots);
    const Buffers moving(4, 2);
    const auto pipelines = open(folder_, {}, {held.options(), moving.options()});
    std::vector<std::vector<float>> before;
    for (int i = 0; i < slots; ++i) {
      ASSERT_TRUE(pipelines->next(0));
      before.push_back(held.content(i));
    }
    EXPECT_EQ(receive(*pipelines, 1, moving, 10).size(), 10U);
    for (int i = 0; i < slots; ++i) EXPECT_EQ(held.content(i), before[static_cast<std::size_t>(i)]);
    pipelines->release(0, 0);
    const auto next = pipelines->next(0);
    ASSERT_TRUE(next);
    EXPECT_EQ(next->index, slots);
    EXPECT_EQ(next->slot, 0);
    EXPECT_NE(held.content(0), before[0]);
  }
}

TEST_F(InputPipelinesTest, TellsTheObserverOfEachStageOfEachImageOnce) {
  RecordingObserver observer(2);
  const Buffers buffers(4, 2);
  InputOptions options;
  options.workers = 3;
  options.observer = &observer;
  auto pipelines = open(folder_, options, {buffers.options()});
  for (int i = 0; i < 8; ++i) {
    const auto ready = pipelines->next(0);
    ASSERT_TRUE(ready);
    pipelines->release(0, ready->slot);
  }
  pipelines.reset();
  EXPECT_FALSE(observer.unbalanced);
  for (std::int64_t minibatch = 0; minibatch < 8; ++minibatch)
    for (int place = 0; place < 4; ++place) EXPECT_EQ((observer.begun[{minibatch, place}]), 3);
  for (const int worker : observer.workers) EXPECT_TRUE(worker >= 0 && worker < 3);
}

TEST_F(InputPipelinesTest, WakesABlockedCallerWhenCancelled) {
  CancelToken cancel;
  const Buffers buffers(4, 1);
  InputOptions options;
  options.cancel = &cancel;
  const auto pipelines = open(folder_, options, {buffers.options()});
  ASSERT_TRUE(pipelines->next(0));  // and keep its only slot, so that the next call has to wait
  std::thread canceller([&] { cancel.cancel(); });
  const auto ready = pipelines->next(0);
  canceller.join();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kInterrupted);
}

TEST_F(InputPipelinesTest, WakesABlockedCallerWhenStopped) {
  const Buffers buffers(4, 1);
  const auto pipelines = open(folder_, {}, {buffers.options()});
  ASSERT_TRUE(pipelines->next(0));
  std::thread stopper([&] { pipelines->stop(); });
  const auto ready = pipelines->next(0);
  stopper.join();
  ASSERT_FALSE(ready);
  EXPECT_EQ(ready.error().code, ErrorCode::kInterrupted);
  EXPECT_FALSE(pipelines->next(0));
}

TEST_F(InputPipelinesTest, EndsAtAnyMoment) {
  for (int taken = 0; taken < 12; ++taken)
    for (const int workers : {1, 4}) {
      const Buffers buffers(4, 2);
      const Buffers untouched(4, 1);
      InputOptions options;
      options.workers = workers;
      const auto pipelines = open(folder_, options, {buffers.options(), untouched.options()});
      for (int i = 0; i < taken / 2; ++i) {
        const auto ready = pipelines->next(0);
        ASSERT_TRUE(ready);
        if (i + 1 < taken / 2 || taken % 2 == 0) pipelines->release(0, ready->slot);
      }
    }
}

TEST_F(InputPipelinesTest, RefusesOptionsThatCannotBe) {
  const auto message = [&](const auto& change) {
    InputOptions options;
    std::vector<float> slot(2 * 3 * 8 * 8);
    std::vector<PipelineOptions> pipelines{{{3, 8, 8}, 2, {slot}}};
    ImageFolder folder = scan(folder_.path());
    change(options, pipelines, folder);
    const auto opened = InputPipelines::open(folder, options, pipelines);
    return opened ? std::string("no error") : opened.error().message;
  };
  EXPECT_EQ(message([](auto&, auto&, auto&) {}), "no error");
  EXPECT_THAT(message([](auto& options, auto&, auto&) { options.workers = 0; }), HasSubstr("0 decode workers"));
  EXPECT_THAT(message([](auto&, auto& pipelines, auto&) { pipelines.clear(); }), HasSubstr("at least one pipeline"));
  EXPECT_THAT(message([](auto&, auto& pipelines, auto&) { pipelines[0].minibatch = 0; }),
              HasSubstr("input pipeline 0: minibatch is 0"));
  EXPECT_THAT(message([](auto&, auto& pipelines, auto&) { pipelines[0].slots.clear(); }), HasSubstr("no slot"));
  EXPECT_THAT(message([](auto&, auto& pipelines, auto&) { pipelines[0].minibatch = 3; }),
              HasSubstr("slot 0 holds 384 values; a minibatch of 3 images has 576"));
  EXPECT_THAT(message([](auto&, auto& pipelines, auto&) { pipelines[0].target.channels = 4; }), HasSubstr("1 or 3"));
  EXPECT_THAT(message([](auto&, auto&, auto& folder) { folder.images.clear(); }), HasSubstr("no images in"));
}

/// Where each worker may run.
class CoreObserver final : public InputObserver {
 public:
  void begin(InputStage /*stage*/, const InputWork& /*work*/) noexcept override {
    const std::lock_guard lock(mutex_);
    seen_.insert(usable_cores());
  }
  void end(InputStage /*stage*/, const InputWork& /*work*/) noexcept override {}
  [[nodiscard]] std::set<std::vector<int>> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

 private:
  std::mutex mutex_;
  std::set<std::vector<int>> seen_;
};

TEST_F(InputPipelinesTest, KeepsItsWorkersToTheCoresItIsGiven) {
  CoreObserver observer;
  InputOptions options;
  options.workers = 2;
  options.observer = &observer;
  const std::vector<int> here = usable_cores();
  options.cores = {here.back()};
  first_minibatches(folder_, options, 2, 2);
  EXPECT_THAT(observer.seen(), ElementsAre(options.cores));
  EXPECT_EQ(usable_cores(), here) << "who opens the pipelines is not bound";
}

}  // namespace
}  // namespace cohort
