#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "executor/backend.hpp"
#include "executor/host/kernel.hpp"

namespace cohort::testing {

constexpr std::uint32_t index_of(StepId id) { return static_cast<std::uint32_t>(id); }

/// Builds Programs by hand. Buffers are vectors of kElements floats; a step writes the sum of its
/// inputs plus one.
class SmallProgram {
 public:
  static constexpr std::int64_t kElements = 16;
  static constexpr Bytes kBufferBytes{kElements * 4};

  explicit SmallProgram(int streams);

  View input(std::string name);
  View output(std::string name);
  /// An activation at place `place` of the arena, counted in whole buffers.
  View activation(std::string name, int place);

  struct StepOptions {
    std::uint32_t stream = 0;
    std::vector<StepId> after;
    std::string algorithm = "add";
    int threads = 1;
  };
  StepId step(std::string task, std::vector<View> from, View to, StepOptions options);

  Program program;

 private:
  View add(Buffer buffer);
};

/// Part of a view: elements [first, first + count).
View part(View view, std::int64_t first, std::int64_t count);

/// Four streams that meet, as a GPU would run them, with arena bytes used again.
///
///   stream 0   a ──────── e ─ f ─ h      f writes where a's result lay, so it comes after c and d
///   stream 1      b ────┘
///   stream 2      c ──┐
///   stream 3          d ── g             g reads what b and d made
///
/// With input x in every element: g = 3x + 7, h = x + 5.
struct FourStreams {
  FourStreams();

  SmallProgram p;
  StepId a{}, b{}, c{}, d{}, e{}, f{}, g{}, h{};
};

/// What the kernels below share with the test.
struct KernelScript {
  std::atomic<bool> fail{false};
  std::atomic<int> runs{0};
  std::atomic<int> prepared{0};  ///< kernels
  std::mutex mutex;
  std::vector<int> thread_counts;  ///< as told by use_threads, guarded by mutex
  /// Cores told to each of those calls, and the cores that its thread may run on; guarded by mutex.
  std::vector<std::pair<std::vector<int>, std::vector<int>>> cores;
};

/// Kernels for SmallProgram: by algorithm, "add" adds; "slow" adds after a pause; "throw" and
/// "bad_alloc" fail while the script says so, else add.
std::unique_ptr<HostKernels> make_scripted_kernels(std::shared_ptr<KernelScript> script);

}  // namespace cohort::testing
