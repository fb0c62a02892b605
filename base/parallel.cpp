#include "base/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace cohort {

void parallel_for(std::size_t count, std::size_t workers,
                  const std::function<void(std::size_t worker, std::size_t i)>& work) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr thrown;
  std::mutex guard;
  const auto take_all = [&](std::size_t worker) {
    try {
      for (std::size_t i = next++; i < count; i = next++) work(worker, i);
    } catch (...) {
      const std::lock_guard lock(guard);
      if (!thrown) thrown = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> threads;
    for (std::size_t worker = 1; worker < std::min(count, workers); ++worker) threads.emplace_back(take_all, worker);
    take_all(0);
  }
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace cohort
