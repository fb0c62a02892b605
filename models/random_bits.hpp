#pragma once

#include <cstdint>

/// Random numbers as a function of what they are for, so that threads, devices and gradients draw the same without
/// keeping a state.
namespace cohort {

struct RandomBlock {
  std::uint32_t words[4] = {};
};

/// Philox4x32-10. Source: Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3", SC11.
constexpr RandomBlock philox(RandomBlock counter, std::uint32_t key_low, std::uint32_t key_high) {
  constexpr std::uint64_t kMultipliers[] = {0xD2511F53U, 0xCD9E8D57U};
  constexpr std::uint32_t kWeyl[] = {0x9E3779B9U, 0xBB67AE85U};
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = kMultipliers[0] * counter.words[0];
    const std::uint64_t b = kMultipliers[1] * counter.words[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ counter.words[1] ^ key_low, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ counter.words[3] ^ key_high, static_cast<std::uint32_t>(a)}};
    key_low += kWeyl[0];
    key_high += kWeyl[1];
  }
  return counter;
}

/// What the "random" input of a training step holds for a member.
struct RandomKey {
  std::uint32_t seed_low = 0, seed_high = 0;
  std::uint32_t step = 0;
  std::uint32_t stream = 0;  ///< tells apart what is sampled from one seed in one step
};

/// Bits for the elements 4*block to 4*block + 3 of an op with salt `salt`: Philox with counter {block low, block high,
/// salt, step} and key {seed low, seed high xor stream}.
constexpr RandomBlock random_block(const RandomKey& key, std::uint32_t salt, std::uint64_t block) {
  const RandomBlock counter{
      {static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32), salt, key.step}};
  return philox(counter, key.seed_low, key.seed_high ^ key.stream);
}
/// Those of one element.
constexpr std::uint32_t random_bits(const RandomKey& key, std::uint32_t salt, std::uint64_t element) {
  return random_block(key, salt, element / 4).words[element % 4];
}

/// From 0 to 1, both possible: bits * 2^-32, the bits rounded to the nearest float32.
constexpr float uniform(std::uint32_t bits) { return static_cast<float>(bits) * 0x1p-32F; }
/// Whether a Dropout keeps the element that drew `bits`.
constexpr bool is_kept(std::uint32_t bits, float rate) { return uniform(bits) >= rate; }

}  // namespace cohort
