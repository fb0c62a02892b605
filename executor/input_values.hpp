#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "executor/runner.hpp"

namespace cohort {

/// Identifies an input in a way that is the same for a member alone and in its model batch.
struct InputPlace {
  std::uint32_t pipeline = 0;  ///< position of the first member that reads it; 0 where all share it
  std::size_t position = 0;    ///< among the inputs of that member

  friend bool operator==(const InputPlace&, const InputPlace&) = default;
};
InputPlace place_of(const Program& program, std::size_t input_index);

/// Settings of one member that work with any update rule: a learning rate of 1e-3, and otherwise the defaults of papers
/// and frameworks.
std::vector<float> usual_settings();

/// Synthetic values in [-1, 1), dense in logical order; they depend only on seed and place.
std::vector<float> generated_values(const Shape& shape, std::uint64_t seed, InputPlace place);

/// Synthetic values of one input: as above, but zeros and ones for integers, and usual_settings() for settings.
std::vector<float> generated_values(const ProgramInput& input, std::uint64_t seed, InputPlace place);

/// Numbers as an input holds them in memory. Errors: kInvalidInput naming the input if it holds integers and a value is
/// not one, or does not fit 32 bits.
Result<std::vector<float>> as_elements(const ProgramInput& input, std::vector<float> numbers);
/// The reverse, for outputs.
std::vector<float> as_numbers(ElementType element, std::vector<float> elements);

/// Writes an input of one slot in the Program's layout. `values` are elements (as_elements), dense in logical order.
/// Errors: kInvalidInput naming the input where their number is wrong.
Result<void> write_input(Runner& runner, std::size_t input_index, int slot, std::span<const float> values);

/// Values of one input, dense in logical order.
using InputValues = std::function<Result<std::vector<float>>(const ProgramInput& input, InputPlace place)>;

/// Fills every input of every slot with the same values and uploads them.
Result<void> fill_inputs(Runner& runner, const InputValues& values);

/// Quickly fills every input of every slot with synthetic values for timing, and waits for them. Values matter: plain
/// loops of exponentials are faster on zeros, and a GPU that multiplies zeros draws less power and keeps higher clocks.
/// Errors: those of Runner::wait().
Result<void> fill_inputs_to_time(Runner& runner);

}  // namespace cohort
