#pragma once

#include "models/compute/tensor_ref.hpp"
