#pragma once

#include <cstdint>
#include <string_view>

#include "models/builder.hpp"
#include "models/networks/networks.hpp"

namespace cohort {

/// The whole number an argument holds. Errors: kInvalidInput naming the argument and its range.
Result<std::int64_t> integer_argument(const NetworkArguments& arguments, std::string_view name, std::int64_t least,
                                      std::int64_t most);

/// Number of outputs of the last layer, the argument "classes".
Result<std::int64_t> classes_argument(const NetworkArguments& arguments);

Network alexnet();
Network alexnet5();
Network densenet121();
Network encoder();
Network gru();
Network inception_v3();
Network lenet5();
Network lstm();
Network mlp();
Network mobilenet_v2();
Network randwire();
Network resnet18();
Network resnet50();
Network smallcnn();
Network squeezenet1_1();

}  // namespace cohort
