#pragma once

#include <gtest/gtest.h>

#include <map>

#include "base/file.hpp"
#include "base/random.hpp"
#include "devices/devices.hpp"
#include "executor/input/npy.hpp"
#include "tests/temporary_folder.hpp"
#include "training/trainer.hpp"

namespace cohort {

/// 120 points around three centres.
class Sweeps : public ::testing::Test {
 protected:
  Sweeps() {
    Random random(5);
    std::vector<float> values;
    std::vector<float> labels;
    for (int i = 0; i < 120; ++i) {
      const int label = i % 3;
      for (int k = 0; k < 4; ++k) values.push_back((k == label ? 2.0F : 0.0F) + random.uniform(-1, 1));
      labels.push_back(static_cast<float>(label));
    }
    temporary_.write("x.npy", encode_npy(std::vector<std::int64_t>{120, 4}, values));
    temporary_.write("y.npy", encode_npy(std::vector<std::int64_t>{120}, labels));
  }

  static std::string head() {
    return "model = \"mlp\"\nminibatch = 8\nepochs = 4\noptimizer = \"momentum\"\ncheckpoint_every = 1\n"
           "[data]\ntrain = \"x.npy\"\nlabels = \"y.npy\"\n[space]\narguments.hidden = 8\n";
  }

  Result<PreparedSweep> prepare(const std::string& text) const {
    COHORT_TRY(Sweep sweep, parse_sweep(text, temporary_.path() / "sweep.toml"));
    return prepare_sweep(std::move(sweep), never_);
  }

  /// Trains into a folder; stops by itself after so many steps, as if by Ctrl-C.
  Result<void> train(PreparedSweep& prepared, const std::string& text, const std::string& folder, bool resume = false,
                     std::int64_t stop_after = INT64_MAX) {
    std::filesystem::create_directories(temporary_.path() / folder);
    CancelToken cancel;
    TrainerOptions options;
    options.folder = temporary_.path() / folder;
    options.sweep_text = text;
    options.resume = resume;
    options.cancel = &cancel;
    options.note = [&](const std::string& what) { notes_.push_back(what); };
    options.stepped = [&](std::int64_t step) {
      if (step >= stop_after) cancel.cancel();
    };
    const auto backend = open_device("cpu:0").value();
    SweepPlannerOptions planning;
    planning.cancel = &cancel;
    SweepPlanner planner = SweepPlanner::open(backend->info(), std::move(planning)).value();
    Trainer trainer(prepared, *backend, planner, std::move(options));
    return trainer.run();
  }
  Result<void> train(const std::string& text, const std::string& folder, bool resume = false,
                     std::int64_t stop_after = INT64_MAX) {
    COHORT_TRY(PreparedSweep prepared, prepare(text));
    return train(prepared, text, folder, resume, stop_after);
  }

  /// Results and models; times apart.
  std::map<std::string, std::string> left_in(const std::string& folder) const {
    std::map<std::string, std::string> files;
    files["results.csv"] = read_file(temporary_.path() / folder / "results.csv").value();
    for (const auto& entry : std::filesystem::directory_iterator(temporary_.path() / folder / "models"))
      files[entry.path().filename().string()] = read_file(entry.path()).value();
    return files;
  }

  const TemporaryFolder temporary_;
  const CancelToken never_;
  std::vector<std::string> notes_;
};

}  // namespace cohort
