#include "executor/onednn/loops/convolution.hpp"

#include <iterator>

namespace cohort::onednn {

OwnWays own_ways(const Convolution& op, const OpCall& call, int threads) {
  OwnWays ways = few_positions_ways(op, call, threads);
  OwnWays more = window_product_ways(op, call, threads);
  ways.insert(ways.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
  return ways;
}

}  // namespace cohort::onednn
