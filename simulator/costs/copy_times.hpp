#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace cohort {

/// What a copy's signature says: "Copy [16, 6, 28, 28] out of a stack of 16 in bfloat16".
struct CopySignature {
  std::string shape;    ///< "[16, 6, 28, 28]"
  double elements = 1;  ///< of the shape
  std::string kind;     ///< all behind the shape but `parts`
  double parts = 1;     ///< of the stack; 1: dense on both sides
};
CopySignature parse_copy(std::string_view signature);
/// The signature of the copy of equal shape that is dense on both sides.
std::string without_stack(std::string_view signature);

/// Of a reshape that has to move its elements, because they lie in a stack, the copy that moves as many; else empty.
std::string copy_of_reshape(std::string_view signature);

/// Recorded copies of one kind, and what others take by them.
class CopyTimes {
 public:
  void add(const CopySignature& copy, double time);
  /// Along lines through the recorded ones: a copy of a recorded shape by the parts of its stack, any other by how much
  /// it moves, too. Nothing where none was recorded.
  [[nodiscard]] std::optional<double> time(const CopySignature& asked) const;

 private:
  using ByParts = std::map<double, double>;
  static double stacked_time(const ByParts& recorded, double parts);

  std::map<std::string, ByParts> by_shape_;
  std::map<double, ByParts> by_elements_;
};

}  // namespace cohort
