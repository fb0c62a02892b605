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
  /// Of a call of several members' ops (OpCall::parts): they are on the device at a time, not one after another.
  bool side_by_side = false;
  /// Of such a call: how one member's op runs alone in the same way, by which its time is told where no profile holds
  /// it; empty: in whichever is fastest.
  std::string alone = {};
  int multiprocessors = 0;  ///< of a GPU, that this way was chosen for because the call asked for so many; 0: all
};

/// What a group's ops may be made for beside all of a GPU's multiprocessors: a half and a quarter of them. Profiles
/// time matrix products for these, and plans are made with them.
inline constexpr std::array kMultiprocessorParts{2, 4};

/// What lowering asks of a device. A backend answers for what is here, a recorded profile for a
/// device that is not. Stateless to its callers; may cache; safe to call from one thread at a time.
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

  /// Those of a GPU whose libraries can be told to use fewer; 0: there is no such choice.
  virtual int multiprocessors() const { return 0; }

  /// Cores an op can use.
  virtual int cores() const = 0;

  /// Streams that a plan may have. Absent: a GPU's, which take turns; a CPU's are workers, at most as many as its
  /// cores.
  virtual std::optional<int> most_streams() const { return std::nullopt; }
};

}  // namespace cohort
