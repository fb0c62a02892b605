#include "executor/cuda/launch_threads.hpp"

#include <exception>
#include <system_error>

#include "executor/host/core_binding.hpp"

namespace cohort::cuda {
namespace {

std::string_view name_of(const StreamCall& call) {
  if (std::holds_alternative<GiveStep>(call.what)) return "launch";
  if (std::holds_alternative<GiveUpload>(call.what)) return "upload";
  return std::holds_alternative<GiveRecord>(call.what) ? "record" : "wait";
}

}  // namespace

LaunchThreads::LaunchThreads(const Program& program, DeviceApi& api, std::function<void(const StreamCall&)> give)
    : program_(program), api_(api), give_(std::move(give)) {
  for (int i = 0; i < program.launch_threads; ++i) workers_.emplace_back();
  try {
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      workers_[i].thread = std::thread(&LaunchThreads::thread_main, this, i);
    }
  } catch (const std::system_error&) {
    join();
    throw;
  }
}

LaunchThreads::~LaunchThreads() {
  (void)drain();
  join();
}

void LaunchThreads::join() {
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.queue.stop();
  }
  for (Worker& worker : workers_) {
    if (worker.thread.joinable()) worker.thread.join();
  }
}

LaunchThreads::Ticket LaunchThreads::post(const StreamCall& call, std::optional<Ticket> after) {
  const auto index = static_cast<std::size_t>(program_.launch_thread_of(call.stream));
  Worker& worker = workers_[index];
  if (after && after->thread == index) after.reset();  // its own calls are given in order
  worker.queue.post({call, after, posted_++});
  return {index, ++worker.posted};
}

std::optional<Error> LaunchThreads::drain() {
  for (const Worker& worker : workers_) worker.given.wait(worker.posted);
  const std::lock_guard lock(mutex_);
  failed_.store(false, std::memory_order_relaxed);
  if (!failure_) return std::nullopt;
  return std::exchange(failure_, std::nullopt)->second;
}

void LaunchThreads::thread_main(std::size_t index) {
  // Beside the thread that posts, where there is a core for each.
  const std::vector<int> cores = launch_cores(program_.launch_threads, cores_to_bind());
  if (!cores.empty()) bind_to_core(cores[index + 1]);
  std::string refused;
  try {
    api_.use();
  } catch (const DeviceError& error) {
    refused = error.what();
  }
  Worker& worker = workers_[index];
  while (worker.queue.wait()) {
    for (const Posted& posted : worker.queue.take()) {
      if (!refused.empty()) remember(posted.order, refused);
      give_posted(index, posted);
    }
  }
}

void LaunchThreads::give_posted(std::size_t index, const Posted& posted) {
  if (posted.after) workers_[posted.after->thread].given.wait(posted.after->number);
  if (!failed_.load(std::memory_order_relaxed)) {
    try {
      give_(posted.call);
    } catch (const std::exception& error) {
      remember(posted.order, fmt::format("{}: {}", name_of(posted.call), error.what()));
    }
  }
  workers_[index].given.advance();
}

void LaunchThreads::remember(std::uint64_t order, std::string message) {
  const std::lock_guard lock(mutex_);
  if (!failure_ || order < failure_->first) failure_ = {order, Error{ErrorCode::kDeviceMissing, std::move(message)}};
  failed_.store(true, std::memory_order_relaxed);
}

}  // namespace cohort::cuda
