#pragma once

#include <string>

#include "tests/cli/program.hpp"

namespace cohort {

/// Tests of the loop (profile, plan, run, compare) by the real program, on the device that every build has.
class LoopTest : public ProgramTest {
 protected:
  /// A small network, into mlp.trace.json.gz.
  Outcome profile() {
    return cohort({"profile", "mlp", "--set", "inputs=8", "--set", "hidden=8", "--device", "reference", "--minibatch",
                   "2", "-q"});
  }
  /// Measures next to nothing, and keeps the results below results/.
  Outcome run_shortly(const std::string& plan) {
    return cohort(
        {"run", plan, "--json", "--blocks", "1", "--block-ms", "1", "--iterations", "2", "--outputs", "results"});
  }
  /// Small photographs in two classes in photos/, and photos.plan.json of two lenet5 that read them.
  void make_photos() {
    ASSERT_EQ(cohort({"dataset", "synth", "photos", "--classes", "2", "--images-per-class", "3", "--long-side", "48"})
                  .exit_code,
              0);
    write("photos.plan.json", R"({"format": "cohort.plan", "version": 1, "device": "reference:0",
      "members": [{"name": "lenet5", "model": "lenet5", "arguments": {}, "minibatch": 2, "seed": 0, "count": 2}],
      "input": {"source": "folder", "path": "photos", "sharing": "shared", "decode_workers": 1, "buffers": 2, "seed": 0,
                "bad_images": "skip"},
      "streams": 1, "layout": "nhwc", "launch": "graph",
      "groups": [{"name": "all", "members": "0-1", "strategy": "serial"}]})");
  }
  /// Replaces the first `from` in a file.
  void edit(const std::string& name, const std::string& from, const std::string& to) {
    std::string text = read(name);
    const std::size_t at = text.find(from);
    ASSERT_NE(at, std::string::npos) << from << " is not in\n" << text;
    write(name, text.replace(at, from.size(), to));
  }
};

}  // namespace cohort
