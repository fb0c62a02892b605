#include "gui/jobs/latest_job.hpp"

#include <gmock/gmock.h>

#include <QSemaphore>
#include <QTest>
#include <QThread>
#include <vector>

namespace cohort {
namespace {

using testing::ElementsAre;

TEST(LatestJob, AnswersOnTheThreadThatAsked) {
  LatestJob<int> job;
  int answer = 0;
  const QThread* worked = nullptr;
  const QThread* answered = nullptr;
  job.start(
      [&](const CancelToken&) {
        worked = QThread::currentThread();
        return 7;
      },
      [&](int value) {
        answer = value;
        answered = QThread::currentThread();
      });
  EXPECT_TRUE(job.running());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !job.running(); }));
  EXPECT_EQ(answer, 7);
  EXPECT_EQ(answered, QThread::currentThread());
  EXPECT_NE(worked, QThread::currentThread());
}

TEST(LatestJob, CancelsWhatRunsAndDropsItsAnswer) {
  LatestJob<int> job;
  std::vector<int> answers;
  QSemaphore started;
  bool was_cancelled = false;
  job.start(
      [&](const CancelToken& cancel) {
        started.release();
        while (!cancel.cancelled()) QThread::yieldCurrentThread();
        was_cancelled = true;
        return 1;
      },
      [&](int value) { answers.push_back(value); });
  started.acquire();
  job.start([](const CancelToken&) { return 2; }, [&](int value) { answers.push_back(value); });
  EXPECT_TRUE(QTest::qWaitFor([&] { return !job.running(); }));
  EXPECT_TRUE(was_cancelled);
  EXPECT_THAT(answers, ElementsAre(2));
}

TEST(LatestJob, SkipsWhatWaitedWhileNewerWorkCame) {
  LatestJob<int> job;
  std::vector<int> worked;
  std::vector<int> answers;
  QSemaphore gate;
  job.start(
      [&](const CancelToken&) {
        gate.acquire();
        return 0;
      },
      [&](int value) { answers.push_back(value); });
  for (int i = 1; i <= 5; ++i) {
    job.start(
        [&worked, i](const CancelToken&) {
          worked.push_back(i);
          return i;
        },
        [&](int value) { answers.push_back(value); });
  }
  gate.release();
  EXPECT_TRUE(QTest::qWaitFor([&] { return !job.running(); }));
  EXPECT_THAT(worked, ElementsAre(5));
  EXPECT_THAT(answers, ElementsAre(5));
}

TEST(LatestJob, DropsAnAnswerThatIsOnItsWay) {
  LatestJob<int> job;
  bool answered = false;
  QSemaphore done;
  job.start(
      [&](const CancelToken&) {
        done.release();
        return 1;
      },
      [&](int) { answered = true; });
  done.acquire();
  job.cancel();
  QTest::qWait(20);
  EXPECT_FALSE(answered);
  EXPECT_FALSE(job.running());
}

TEST(LatestJob, AnswersWithWhatWasFoundWhenStopped) {
  LatestJob<int> job;
  int answer = 0;
  QSemaphore started;
  job.start(
      [&](const CancelToken& cancel) {
        started.release();
        while (!cancel.cancelled()) QThread::yieldCurrentThread();
        return 3;
      },
      [&](int value) { answer = value; });
  started.acquire();
  job.stop();
  EXPECT_TRUE(job.running());
  EXPECT_TRUE(QTest::qWaitFor([&] { return !job.running(); }));
  EXPECT_EQ(answer, 3);
}

TEST(LatestJob, WaitsForItsWorkWhenItEnds) {
  bool finished = false;
  {
    LatestJob<int> job;
    QSemaphore started;
    job.start(
        [&](const CancelToken& cancel) {
          started.release();
          while (!cancel.cancelled()) QThread::yieldCurrentThread();
          finished = true;
          return 0;
        },
        [](int) { FAIL() << "nobody is there any more"; });
    started.acquire();
  }
  EXPECT_TRUE(finished);
}

}  // namespace
}  // namespace cohort
