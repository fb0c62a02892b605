#pragma once

#include <cstdint>
#include <string_view>

namespace cohort {

/// What a decode worker does to one image, in this order.
enum class InputStage { kRead, kDecode, kTransform };
std::string_view to_string(InputStage stage);

/// The image a worker is at.
struct InputWork {
  int worker = 0;
  int pipeline = 0;
  std::int64_t minibatch = 0;  ///< counted from 0 within the pipeline
  int place = 0;               ///< within the minibatch
  std::uint32_t image = 0;     ///< position in ImageFolder::images
};

/// Told when each stage of each image begins and ends. Called from the workers, from several at a
/// time; an implementation must allow that and be quick. A stage that fails ends, too.
class InputObserver {
 public:
  InputObserver() = default;
  InputObserver(const InputObserver&) = delete;
  InputObserver& operator=(const InputObserver&) = delete;
  virtual ~InputObserver() = default;

  virtual void begin(InputStage stage, const InputWork& work) noexcept = 0;
  virtual void end(InputStage stage, const InputWork& work) noexcept = 0;
};

}  // namespace cohort
