#include "tracer/kernel_name.hpp"

#include <gtest/gtest.h>

namespace cohort {
namespace {

TEST(KernelName, TellsCollectives) {
  for (const char* name : {"ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
                           "ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t", "void ncclKernel_AllGather", "rcclKernel_x",
                           "ncclSymDevKernel_AllReduce", "void mscclKernel_Sum_half_Simple"})
    EXPECT_TRUE(is_collective(name)) << name;
  for (const char* name : {"", "void ", "gemm", "my_ncclKernel", "void reduce_kernel"})
    EXPECT_FALSE(is_collective(name)) << name;
}

TEST(KernelName, TellsOperandsOf16BitsFromLibrariesNames) {
  for (const char* name :
       {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_kernel__5x_cublas",
        "sm80_xmma_gemm_f16f16_f32f32_f32_tn_n_tilesize32x32x64",
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwc",
        "sm90_xmma_gemm_e4m3bf16_bf16f32_f32_tn_n",
        "sm80_xmma_gemm_i8i8_i8i32_f32_tn_n",
        "volta_h884gemm_64x128_ldg8_nn",
        "volta_fp16_s884gemm_fp16_128x128_ldg8_f2f_nn",
        "volta_s884cudnn_128x128",
        "turing_h1688gemm_128x128_ldg8_nn",
        "turing_fp16_s1688cudnn_fp16_128x128",
        "ampere_h16816gemm_256x128",
        "ampere_bf16_s16816gemm_bf16_128x128",
        "ampere_s16816gemm_fp16_64x64",
        "volta_hgemm_128x128_nn",
        "cutlass_75_tensorop_f16_s1688gemm_f16_256x128",
        "void cutlass::Kernel2<cutlass_80_wmma_tensorop_s161616gemm_f16_16x16>",
        "nvjet_hsh_128x256_64x4_1x2_h_bz_NNT",
        "nvjet_tst_192x192_64x4",
        "nvjet_sm100_tst_128x64",
        "nvjet_qqtst_128x128",
        "Cijk_Ailk_Bljk_HHS_BH_MT128x128x32_MI32x32x8x1_SE_K1",
        "Cijk_Alik_Bljk_BBS_BH_Bias_HAS_SAV_MT64x64x64",
        "fmha_cutlassF_bf16_aligned_64x64",
        "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_3_64x128x128_4x1x1_kernel0_0"})
    EXPECT_TRUE(computes_in_16_bits(name)) << name;
  for (const char* name :
       {"", "ampere_sgemm_128x64_nn", "volta_sgemm_64x64_nt", "cudnn_infer_volta_scudnn_128x64_relu_medium_nn_v1",
        "sm80_xmma_gemm_f32f32_f32f32_f32_tn_n", "sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n",
        "sm80_xmma_fprop_implicit_gemm_indexed_tf32f32_tf32f32_f32_nhwckrsc_nchw_tilesize128x128x16",
        "sm80_xmma_gemm_f32f32_f16f32_f16_tn_n", "cutlass_80_tensorop_s1688gemm_64x256_16x4_nn_align4",
        "cutlass_80_tensorop_tf32_s1688gemm_128x128", "cutlass_80_tensorop_f16_s1688gemm_tf32_128x128",
        "cutlass3x_sm90_tensorop_s64x128x8gemm_f32_f32_f32_f16_f16", "nvjet_sss_128x256", "nvjet_sm100_sss_64x64",
        "Cijk_Ailk_Bljk_SB_MT64x64x16_MI32x32x1x2", "Cijk_Ailk_Bljk_DB_MT64x64x16_MI16x16x4x1",
        "fmha_cutlassF_f32_aligned_64x64", "ampere_dgemm_64x64", "void gemm_kernel2x2_core<double, true, false>"})
    EXPECT_FALSE(computes_in_16_bits(name)) << name;
}

TEST(KernelName, TellsOperandsOf16BitsFromTemplates) {
  for (const char* name :
       {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<c10::BFloat16> >",
        "void at::native::elementwise_kernel<128, 4, at::native::BinaryFunctor<c10::Half, c10::Half, c10::Half> >",
        "void CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>",
        "void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, cutlass::bfloat16_t> >",
        "void cutlass::Kernel<cutlass::half_t>", "void norm<__half, float>", "void norm<__half2>",
        "void softmax<__nv_bfloat16, float, float>", "void at::native::bfloat16_copy_kernel_cuda"})
    EXPECT_TRUE(computes_in_16_bits(name)) << name;
  for (const char* name :
       {"void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >",
        "void CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<4u>, unsigned int, 4, 64, 64>",
        "void cudnn::winograd_nonfused::winogradForwardData4x4<float, float>", "triton_poi_fused_add_0", "halfway",
        "cask_cudnn_infer::computeBOffsetsKernel(cask_cudnn_infer::ComputeBOffsetsParams)"})
    EXPECT_FALSE(computes_in_16_bits(name)) << name;
}

}  // namespace
}  // namespace cohort
