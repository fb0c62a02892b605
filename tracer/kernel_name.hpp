#pragma once

#include <string_view>

namespace cohort {

/// Whether a kernel is a collective operation of NCCL, RCCL or MSCCL, by its name with or without "void ":
/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "ncclKernel_...", "rcclKernel_...", "mscclKernel_...".
bool is_collective(std::string_view kernel);

/// Whether a kernel computes on operands of 16 bits or fewer, by its name, whatever types its sums and results have:
///
/// 1. A pair of types decides, the first where there are several. So cuBLAS and cuDNN name their operands:
///    "f16f16_f16f32_f32" and "bf16bf16_f32f32_f32" do, "f32f32_f16f32_f32" and "tf32f32_tf32f32_f32" do not.
/// 2. Else a type right behind "gemm" does: "f16_s1688gemm_tf32" has operands of 32 bits and results of 16.
/// 3. Of cuBLAS on Hopper and later the first letter does: "nvjet_sss" has operands of 32 bits (s; d, c and z are
///    larger), "nvjet_hsh", "nvjet_sm100_tst" and "nvjet_qqtst" have half, bfloat16 and 8 bits.
/// 4. Else "tf32" anywhere says 32 bits.
/// 5. Else a word of it is such a type or an instruction on such operands: "f16", "bf16", "fp16", "half", "Half",
///    "BFloat16", "bfloat16_t", "__half2", "OpaqueType<2u>", "e4m3"; "hmma", "hgemm", "h884", "s884", "h1688",
///    "h16816", "s16816". "s1688" alone says nothing: its operands are half on Turing and TF32 since Ampere.
///
/// False where the name tells no type, as of kernels that a compiler names.
bool computes_in_16_bits(std::string_view kernel);

}  // namespace cohort
