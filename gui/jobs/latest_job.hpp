#pragma once

#include <QMetaObject>
#include <QObject>
#include <QThreadPool>
#include <atomic>
#include <functional>
#include <memory>
#include <utility>

#include "base/cancel.hpp"

namespace cohort {

/// Work off the GUI thread of which only the newest result counts: a new start cancels what runs, and an answer to
/// anything but the last start is dropped. To be used from the GUI thread alone.
template <class Value>
class LatestJob {
 public:
  /// Called on another thread: must own all it uses, and may stop early once cancelled, with any value.
  using Work = std::function<Value(const CancelToken& cancel)>;
  /// Called on the GUI thread with the value of the last start, unless that was cancelled.
  using Done = std::function<void(Value value)>;

  LatestJob() { pool_.setMaxThreadCount(1); }
  LatestJob(const LatestJob&) = delete;
  LatestJob& operator=(const LatestJob&) = delete;
  /// Waits for the work that runs, which has been told to stop.
  ~LatestJob() {
    cancel();
    pool_.waitForDone();
  }

  void start(Work work, Done done) {
    cancel();
    run_ = std::make_shared<Run>();
    pool_.start([this, run = run_, work = std::move(work), done = std::move(done)]() mutable {
      if (run->dropped.load(std::memory_order_relaxed)) return;
      auto value = std::make_shared<Value>(work(run->cancel));
      // The receiver outlives this thread; what it has not received yet is dropped with it.
      QMetaObject::invokeMethod(
          &receiver_,
          [this, run = std::move(run), value = std::move(value), done = std::move(done)] {
            if (run->dropped.load(std::memory_order_relaxed)) return;
            run_.reset();
            done(std::move(*value));
          },
          Qt::QueuedConnection);
    });
  }

  /// Neither what runs nor what waits will be answered.
  void cancel() {
    if (!run_) return;
    run_->dropped.store(true, std::memory_order_relaxed);
    stop();
    run_.reset();
  }

  /// Asks what runs to end early; what it has found by then is still an answer.
  void stop() {
    if (run_) run_->cancel.cancel();
  }

  [[nodiscard]] bool running() const { return run_ != nullptr; }

 private:
  struct Run {
    CancelToken cancel;
    std::atomic<bool> dropped{false};
  };

  QObject receiver_;
  QThreadPool pool_;
  std::shared_ptr<Run> run_;  ///< the last start; null once it is answered or cancelled
};

}  // namespace cohort
