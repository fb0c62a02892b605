#pragma once

#include "simulator/transform/change.hpp"

namespace cohort {

/// Repeats a graph's iteration: `times` copies one after another, as Task::iteration tells them apart.
/// Resources serve a later copy after an earlier one; ops of an overlapping stream follow each other.
/// Errors: kInvalidInput for less than one.
Result<Change> repeat(TaskGraph& graph, int times, Nanoseconds stream_gap);

/// Lets producers run ahead of consumers by `buffers` iterations: for each iteration i and member an
/// edge from the last consumer of i to every producer of i + buffers; within an iteration, producers
/// no longer wait for other work of the stream they are on.
///
///     buffers 2   producer  |p0|p1|   |p2|      |p3|
///                 consumer     |== c0 ==||== c1 ==||...
///
/// Producers keep their order. Errors: kInvalidInput for less than one buffer, or naming a cycle.
Result<Change> double_buffer(TaskGraph& graph, const Selection& producers, const Selection& consumers, int buffers);

}  // namespace cohort
