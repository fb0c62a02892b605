#include <algorithm>
#include <array>
#include <atomic>
#include <thread>

#include "calibrate/benchmarks.hpp"

namespace cohort::calibrate {
namespace {

MicrobenchmarkRecord empty_record(Microbenchmark benchmark) {
  cudaFuncAttributes attributes{};
  check(attributes_of_empty(&attributes), "cudaFuncGetAttributes(empty)");
  MicrobenchmarkRecord record;
  record.benchmark = benchmark;
  record.kernel = "empty";
  record.launch = shape_of({1, 32, 0}, attributes);
  return record;
}

/// `first` waits for all that was given to the others.
void join(const Streams& streams) {
  Event done;
  for (std::size_t i = 1; i < streams.size(); ++i) {
    done.record(*streams[i]);
    done.make_wait(*streams[0]);
  }
}

/// `chains` chains of `nodes` empty kernels in all, captured; `crossing`: each kernel also waits for its neighbour's.
class EmptyGraph {
 public:
  EmptyGraph(int nodes, int chains, bool crossing) : streams_(make_streams(chains)) {
    const Stream& first = *streams_[0];
    check(cudaStreamBeginCapture(first.get(), cudaStreamCaptureModeRelaxed), "cudaStreamBeginCapture");
    Event fork;
    fork.record(first);
    for (std::size_t i = 1; i < streams_.size(); ++i) fork.make_wait(*streams_[i]);
    std::vector<std::unique_ptr<Event>> crossings;
    for (int layer = 0; layer < std::max(1, nodes / chains); ++layer) {
      for (const auto& stream : streams_) check(launch_empty(stream->get()), "empty kernel");
      if (!crossing) continue;
      for (const auto& stream : streams_) {
        crossings.push_back(std::make_unique<Event>());
        crossings.back()->record(*stream);
      }
      for (std::size_t i = 0; i < streams_.size(); ++i)
        crossings[crossings.size() - streams_.size() + (i + 1) % streams_.size()]->make_wait(*streams_[i]);
    }
    join(streams_);
    check(cudaStreamEndCapture(first.get(), &graph_), "cudaStreamEndCapture");
    check(cudaGraphInstantiate(&executable_, graph_, 0), "cudaGraphInstantiate");
    check(cudaGraphUpload(executable_, first.get()), "cudaGraphUpload");
    first.synchronize();
  }
  EmptyGraph(const EmptyGraph&) = delete;
  EmptyGraph& operator=(const EmptyGraph&) = delete;
  ~EmptyGraph() {
    if (executable_ != nullptr) cudaGraphExecDestroy(executable_);
    if (graph_ != nullptr) cudaGraphDestroy(graph_);
  }

  struct Times {
    Nanoseconds device{};
    Nanoseconds host{};
  };
  Times launch() {
    const Stream& first = *streams_[0];
    begin_.record(first);
    const Nanoseconds before = host_now();
    check(cudaGraphLaunch(executable_, first.get()), "cudaGraphLaunch");
    const Nanoseconds host = host_now() - before;
    end_.record(first);
    first.synchronize();
    return {end_.since(begin_), host};
  }

 private:
  Streams streams_;
  cudaGraph_t graph_ = nullptr;
  cudaGraphExec_t executable_ = nullptr;
  Event begin_;
  Event end_;
};

/// `record.launches` of them on each stream in turn; leaves both times in `record`.
void launch_empty_kernels(const Streams& streams, MicrobenchmarkRecord& record) {
  Event begin;
  Event end;
  begin.record(*streams[0]);
  const Nanoseconds before = host_now();
  for (int i = 0; i < record.launches; ++i)
    check(launch_empty(streams[static_cast<std::size_t>(i) % streams.size()]->get()), "empty kernel");
  record.host_time = host_now() - before;
  join(streams);
  end.record(*streams[0]);
  streams[0]->synchronize();
  record.time = end.since(begin);
}

/// The same on one stream, all given before the first may begin: what then passes between them is the device's alone.
void launch_behind_gate(const Stream& stream, MicrobenchmarkRecord& record) {
  constexpr int kLaunchesOfASpan = 8;  // take less time than a gate allows for one
  const Gate gate(record.launches / kLaunchesOfASpan + 1);
  Gate::Span span;
  gate.begin(span, stream);
  for (int i = 0; i < record.launches; ++i) check(launch_empty(stream.get()), "empty kernel");
  Gate::end(span, stream);
  stream.synchronize();
  record.time = span.end.since(span.begin);
}

void empty_kernels_behind_gate(const Bench& bench) {
  const Stream stream;
  MicrobenchmarkRecord record = empty_record(Microbenchmark::kEmptyKernels);
  record.partner = "spin";
  record.partner_instances = 1;
  for (const int launches : kEmptyKernelLaunches) {
    record.launches = launches;
    for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
      if (bench.recorder.was_cancelled()) return;
      launch_behind_gate(stream, record);
      if (repetition >= 0) bench.recorder.add(record);
    }
  }
}

}  // namespace

void empty_kernels(const Bench& bench) {
  empty_kernels_behind_gate(bench);
  for (const int count : {1, 2, 4, 8, 16, 32, 64, 128}) {
    const Streams streams = make_streams(count);
    MicrobenchmarkRecord record = empty_record(Microbenchmark::kEmptyKernels);
    record.instances = count;
    for (const int launches : kEmptyKernelLaunches) {
      record.launches = launches;
      for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
        if (bench.recorder.was_cancelled()) return;
        launch_empty_kernels(streams, record);
        if (repetition >= 0) bench.recorder.add(record);  // the first warms up
      }
    }
  }
}

void launch_latency(const Bench& bench) {
  constexpr int kSamples = 50;
  const Stream stream;
  MicrobenchmarkRecord record = empty_record(Microbenchmark::kLaunchLatency);
  for (int i = -5; i < kSamples; ++i) {
    const Nanoseconds before = host_now();
    check(launch_empty(stream.get()), "empty kernel");
    record.host_time = host_now() - before;
    stream.synchronize();
    record.time = host_now() - before;
    if (i >= 0) bench.recorder.add(record);
  }
}

void launch_threads(const Bench& bench) {
  constexpr int kLaunches = kEmptyKernelLaunches.back();
  for (const int count : {1, 2, 4, 8}) {
    const Streams streams = make_streams(count);
    for (int repetition = -1; repetition < bench.recorder.repetitions(); ++repetition) {
      if (bench.recorder.was_cancelled()) return;
      std::atomic<int> ready{0};
      std::atomic<cudaError_t> failed{cudaSuccess};
      std::vector<Nanoseconds> times(static_cast<std::size_t>(count));
      std::vector<std::thread> threads;
      threads.reserve(times.size());
      for (std::size_t t = 0; t < times.size(); ++t) {
        threads.emplace_back([&, t] {
          cudaError_t status = cudaSetDevice(bench.facts.index);
          ready.fetch_add(1);
          while (ready.load() < count) std::this_thread::yield();
          const Nanoseconds before = host_now();
          for (int i = 0; i < kLaunches && status == cudaSuccess; ++i) status = launch_empty(streams[t]->get());
          times[t] = host_now() - before;
          if (status != cudaSuccess) failed.store(status);
        });
      }
      for (std::thread& thread : threads) thread.join();
      check(failed.load(), "empty kernel on a launch thread");
      synchronize_device();
      const Nanoseconds longest = *std::max_element(times.begin(), times.end());
      const std::array<Trace::NamedArg, 2> args{
          {{kLaunchThreadsArg, std::int64_t{count}}, {kLaunchesOfThreadArg, std::int64_t{kLaunches}}}};
      if (repetition >= 0) bench.recorder.add_extra(kThreadedLaunchesRecord, longest, args);
    }
  }
}

void empty_graphs(const Bench& bench) {
  for (const int chains : {1, 8}) {
    for (const int nodes : {8, 32, 128, 512, 2048}) {
      EmptyGraph graph(nodes, chains, false);
      MicrobenchmarkRecord record = empty_record(Microbenchmark::kEmptyGraph);
      record.instances = chains;
      record.launches = nodes;
      for (int repetition = -2; repetition < bench.recorder.repetitions(); ++repetition) {
        if (bench.recorder.was_cancelled()) return;
        const EmptyGraph::Times times = graph.launch();
        record.time = times.device;
        record.host_time = times.host;
        if (repetition >= 0) bench.recorder.add(record);
      }
    }
  }
}

void crossing_graphs(const Bench& bench) {
  constexpr int kNodes = 512;
  for (const int chains : {2, 4, 8, 16}) {
    EmptyGraph graph(kNodes, chains, true);
    for (int repetition = -2; repetition < bench.recorder.repetitions(); ++repetition) {
      if (bench.recorder.was_cancelled()) return;
      const EmptyGraph::Times times = graph.launch();
      const std::array<Trace::NamedArg, 3> args{{{kGraphChainsArg, std::int64_t{chains}},
                                                 {kGraphNodesArg, std::int64_t{kNodes}},
                                                 {kGraphHostTimeArg, times.host.count()}}};
      if (repetition >= 0) bench.recorder.add_extra(kCrossingGraphRecord, times.device, args);
    }
  }
}

}  // namespace cohort::calibrate
