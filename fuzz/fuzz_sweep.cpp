#include <cstddef>
#include <cstdint>

#include "fuzz/require.hpp"
#include "training/csv_table.hpp"
#include "training/search.hpp"
#include "training/sweep.hpp"

// Whatever the bytes: a sweep or a message, and the same for a table. The first members of a sweep can be asked for,
// and their hyperparameters set.

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using cohort::require;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto sweep = cohort::parse_sweep(text, "sweep.toml");
  if (!sweep) {
    require(sweep.error().message.find("sweep.toml:") != std::string::npos, "an error names file and line");
  } else {
    constexpr int kMost = 20;
    const auto search = cohort::make_search(*sweep);
    for (int i = 0; i < kMost; ++i) {
      const auto trial = search->ask();
      if (!trial) break;
      const cohort::Hyperparameters member = cohort::with_point({}, trial->point);
      require(member.learning_rate > 0, "a learning rate is above zero");
      (void)cohort::settings_at(member, i, {7, 100});
    }
  }
  const std::vector<std::string> label = {"label"};
  const auto table = cohort::parse_csv(text, label);
  if (table) {
    require(table->values.size() == table->rows * table->features.size(), "a table is whole");
  } else {
    require(!table.error().message.empty(), "an error says something");
  }
  return 0;
}
