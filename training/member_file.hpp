#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "training/member.hpp"
#include "training/sweep.hpp"

namespace cohort {

/// What a state file says beside a member's own values, so that what does not belong together is refused.
struct MemberFileFacts {
  std::string network;    ///< TrainedNetwork::fingerprint
  std::int64_t step = 0;  ///< of the sweep: the position in the data's order, and of the random numbers
  Normalization normalization;
};

/// Bytes of a member's state file: JSON on what it is, how far it came and what it was trained with; then its
/// parameters, what the optimizer keeps, and running statistics, bit for bit; and a sum of all of them.
std::string encode_member(const SweepMember& member, const MemberFileFacts& facts);

/// Into a member whose trial, point and source are known already.
/// Errors: kInvalidInput for what is no state file, is cut off or damaged, or belongs to another network or to other
/// hyperparameters, saying which.
Result<void> decode_member(std::string_view bytes, const MemberFileFacts& expected, SweepMember& member);

}  // namespace cohort
