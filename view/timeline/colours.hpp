#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "view/timeline/lane.hpp"
#include "view/timeline/timeline.hpp"

namespace cohort {

/// What slices are coloured by.
enum class Colouring {
  kOpType,     ///< what kind of work it is: convolution, matrix product, copy, call ...
  kName,       ///< of the slice: kernel or op
  kMember,     ///< of the model batch
  kIteration,  ///< the step it belongs to
  kPhase,      ///< of a training step: forward, backward, update
};
std::string_view to_string(Colouring colouring);
inline constexpr Colouring kColourings[] = {Colouring::kOpType, Colouring::kName, Colouring::kMember,
                                            Colouring::kIteration, Colouring::kPhase};

/// A colour for each slice of a timeline, by part and SliceId.
using SliceColours = std::vector<std::vector<Argb>>;

/// Time: O(n). The same text has the same colour in every trace.
SliceColours colour_slices(const Timeline& timeline, Colouring colouring);

/// A colour that stands out from light and dark backgrounds and carries readable text, by what the text hashes to.
Argb colour_of_text(std::string_view text);
/// Grey of the same kind: for what has no key to colour by.
Argb colour_of_nothing();
/// Black or white, whichever has the greater contrast on `background` (WCAG 2.1, relative luminance).
Argb text_colour_on(Argb background);
/// `top` laid over `below`; opacity from 0 to 1.
Argb blend(Argb top, Argb below, double opacity);

/// What kind of work a slice does, for people: "convolution", "matrix product", "copy", "runtime call".
std::string_view op_type(const Trace& trace, const Slice& slice);

}  // namespace cohort
