#pragma once

#include "tracer/file/content.hpp"

namespace cohort {

/// Makes UTF-8 without a byte-order mark of a text that begins with one, or that is UTF-16. Lone surrogates become
/// question marks. Other content stays as it is.
void decode_text(PaddedBytes& bytes);

}  // namespace cohort
