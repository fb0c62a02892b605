#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "simulator/plan/program.hpp"

namespace cohort {

/// One way a device can run a call.
struct Alternative {
  std::string algorithm;  ///< the library's name for it: "brgconv:avx512_core"
  int threads = 1;
  Bytes workspace;
  Bytes packed_weights;  ///< of all weight operands, as this way stores them
  /// For a call of several members' ops (OpCall::parts): they run on the device at the same time, not one after
  /// another.
  bool side_by_side = false;
  /// For such a call: the same algorithm for one member's op alone, from which the call's time is estimated if no
  /// profile has it; empty: the fastest.
  std::string alone = {};
  int multiprocessors = 0;  ///< GPUs: number that this algorithm was chosen for, as the call asked; 0: all
};

/// Numbers of multiprocessors, besides all, for which a group's ops can be tuned: a half and a quarter. Profiles time
/// matrix products for these, and plans use them.
inline constexpr std::array kMultiprocessorParts{2, 4};

/// What a device can run; lowering asks for it. A backend answers for a device that is here, a recorded profile for one
/// that is not. Has no visible state, but may cache; call from one thread at a time.
class OpCatalog {
 public:
  OpCatalog() = default;
  OpCatalog(const OpCatalog&) = delete;
  OpCatalog& operator=(const OpCatalog&) = delete;
  virtual ~OpCatalog() = default;

  /// The ways to run `call` on `threads` cores, the library's first choice first; never empty.
  /// Errors: kInvalidInput naming the op where the device cannot run it at all.
  virtual Result<std::vector<Alternative>> alternatives(const OpCall& call, int threads) const = 0;

  /// Whether the call can run on its views as they are. Where not, lowering copies to dense
  /// tensors first.
  virtual bool accepts_strides(const OpCall& call) const = 0;

  /// What it computes in.
  virtual std::vector<Precision> precisions() const { return {Precision::kFloat32}; }

  /// Multiprocessors of a GPU whose libraries can be told to use fewer; 0: no such choice.
  virtual int multiprocessors() const { return 0; }

  /// Cores an op can use.
  virtual int cores() const = 0;

  /// Most streams of a plan. Absent for GPUs, where streams take turns; on a CPU they are workers, at most one per
  /// core.
  virtual std::optional<int> most_streams() const { return std::nullopt; }

  /// Whether steps can run the same kernel: those of a stream on a CPU do, one after the other.
  bool shares_kernels() const { return most_streams().has_value(); }
};

}  // namespace cohort
