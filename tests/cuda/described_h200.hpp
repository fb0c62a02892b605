#pragma once

namespace cohort::cuda {

/// An H200 in cuDNN's form, written by hand from NVIDIA's published figures (H100/H200 architecture, tuning guide
/// for Hopper): good enough to list engines; not a recording.
inline constexpr const char* kH200 =
    R"({"maxGridSize": [2147483647, 65535, 65535], "maxBlockSize": [1024, 1024, 64], "regsPerBlock": 65536,
        "multiProcessorCount": 132, "warpSize": 32, "maxSharedMemoryPerBlock": 49152,
        "maxSharedMemoryPerBlockOptin": 232448, "reservedSharedMemoryPerBlock": 1024, "maxRegistersPerSM": 65536,
        "maxCtasPerSM": 32, "maxThreadsPerBlock": 1024, "maxThreadsPerSM": 2048, "pciDeviceId": 0, "isTccDriver": 0,
        "supportCoopLaunch": 1, "smClockRateKHz": 1980000, "memClockRateKHz": 3201000, "l2CacheSize": 62914560,
        "deviceName": "NVIDIA H200", "deviceVer": 900, "cudaDeviceId": 0, "totalGlobalMem": 150110011392,
        "driverVer": 13000})";

}  // namespace cohort::cuda
