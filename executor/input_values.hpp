#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "executor/runner.hpp"

namespace cohort {

/// Which of a model batch's inputs one is, told in a way that a member run alone shares with the
/// whole model batch.
struct InputPlace {
  std::uint32_t pipeline = 0;  ///< position of the first member that reads it; 0 where all share it
  std::size_t position = 0;    ///< among the inputs of that member

  friend bool operator==(const InputPlace&, const InputPlace&) = default;
};
InputPlace place_of(const Program& program, std::size_t input_index);

/// Made-up values in [-1, 1), dense in logical order; they depend on the seed and the place alone.
std::vector<float> generated_values(const Shape& shape, std::uint64_t seed, InputPlace place);

/// Made-up values of one input: as above, or zeros and ones where it holds whole numbers.
std::vector<float> generated_values(const ProgramInput& input, std::uint64_t seed, InputPlace place);

/// Numbers as an input holds them in memory. Errors: kInvalidInput naming the input where it holds whole
/// numbers and one of these is none, or does not fit 32 bits.
Result<std::vector<float>> as_elements(const ProgramInput& input, std::vector<float> numbers);
/// The other way round, for outputs.
std::vector<float> as_numbers(ElementType element, std::vector<float> elements);

/// Writes an input of one slot in the Program's layout. `values` are elements (as_elements), dense in logical order.
/// Errors: kInvalidInput naming the input where their number is wrong.
Result<void> write_input(Runner& runner, std::size_t input_index, int slot, std::span<const float> values);

/// Values of one input, dense in logical order.
using InputValues = std::function<Result<std::vector<float>>(const ProgramInput& input, InputPlace place)>;

/// Fills every input of every slot with the same values and uploads them.
Result<void> fill_inputs(Runner& runner, const InputValues& values);

/// Fills every input of every slot with made-up values in no particular order, in little more time than writing takes:
/// what an op takes can depend on them. Plain loops of exponentials are slower than on zeros, and a GPU that multiplies
/// zeros draws less power and keeps higher clocks. Waits until they are there. Errors: those of Runner::wait().
Result<void> fill_inputs_to_time(Runner& runner);

}  // namespace cohort
