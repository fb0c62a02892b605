# The CUDA parts. AUTO takes them when a toolkit is found; ON makes a missing one an error. The toolkit is looked for
# in COHORT_CUDA_ROOT, then where CMake looks (nvcc on the PATH, CUDA_PATH, /usr/local/cuda), then in build/cuda, where
# scripts/install-cuda puts a private one. No GPU and no driver are needed to build.
#
# Sets COHORT_WITH_CUDA (nvcc and cudart), COHORT_WITH_CUDNN (also cuDNN, cuBLAS and cuBLASLt) and COHORT_WITH_CUPTI,
# and makes the targets cohort_cudnn and cohort_cupti_headers. All of them are for plugins only: a program that linked
# these libraries would not start where they are missing.
set(COHORT_CUDA AUTO CACHE STRING "CUDA device, calibration and tracer: AUTO, ON or OFF")
set_property(CACHE COHORT_CUDA PROPERTY STRINGS AUTO ON OFF)
set(COHORT_CUDA_ROOT "" CACHE PATH "CUDA toolkit to use; empty: look for one")
set(COHORT_CUDA_ARCHITECTURES "90-real;75-virtual" CACHE STRING "Machine code for sm_90, PTX of compute_75 for all else")

set(COHORT_WITH_CUDA OFF)
set(COHORT_WITH_CUDNN OFF)
set(COHORT_WITH_CUPTI OFF)

# The toolkit whose nvcc comes first is the one whose libraries are used.
function(cohort_find_nvcc result)
  if(COHORT_CUDA_ROOT)
    find_program(COHORT_NVCC nvcc PATHS ${COHORT_CUDA_ROOT}/bin NO_DEFAULT_PATH)
  else()
    find_program(COHORT_NVCC nvcc HINTS ENV CUDA_PATH ENV CUDA_HOME PATHS /usr/local/cuda ${PROJECT_SOURCE_DIR}/build/cuda
                 PATH_SUFFIXES bin)
  endif()
  set(${result} ${COHORT_NVCC} PARENT_SCOPE)
endfunction()

if(NOT COHORT_CUDA STREQUAL "OFF")
  cohort_find_nvcc(cohort_nvcc)
  set(cohort_cuda_found "no CUDA toolkit found; scripts/install-cuda sets up a private one")
  if(cohort_nvcc)
    set(CMAKE_CUDA_COMPILER ${cohort_nvcc})
    set(CMAKE_CUDA_HOST_COMPILER ${CMAKE_CXX_COMPILER})
    set(CMAKE_CUDA_ARCHITECTURES ${COHORT_CUDA_ARCHITECTURES})
    enable_language(CUDA)
    if(NOT CMAKE_CUDA20_STANDARD_COMPILE_OPTION) # CMake 3.25 does not know that nvcc 13 speaks C++20
      set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
      set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
    endif()
    set(CMAKE_CUDA_STANDARD 20)
    # Else targets' "-isystem /usr/include" hides the host compiler's own order of folders.
    set(CMAKE_CUDA_IMPLICIT_INCLUDE_DIRECTORIES ${CMAKE_CXX_IMPLICIT_INCLUDE_DIRECTORIES})
    cmake_path(GET cohort_nvcc PARENT_PATH cohort_cuda_bin)
    cmake_path(GET cohort_cuda_bin PARENT_PATH CUDAToolkit_ROOT)
    find_package(CUDAToolkit QUIET)
    if(CUDAToolkit_FOUND AND TARGET CUDA::cudart_static)
      set(COHORT_WITH_CUDA ON)
      set(cohort_cuda_found "CUDA ${CUDAToolkit_VERSION} in ${CUDAToolkit_ROOT}, code for ${COHORT_CUDA_ARCHITECTURES}")
    else()
      set(cohort_cuda_found "${cohort_nvcc} has no CUDA runtime beside it")
    endif()
  endif()

  if(COHORT_WITH_CUDA)
    find_path(COHORT_CUDNN_INCLUDE cudnn_backend.h HINTS ${CUDAToolkit_INCLUDE_DIRS})
    find_library(COHORT_CUDNN_LIBRARY cudnn HINTS ${CUDAToolkit_LIBRARY_DIR})
    if(COHORT_CUDNN_INCLUDE AND COHORT_CUDNN_LIBRARY AND TARGET CUDA::cublasLt)
      set(COHORT_WITH_CUDNN ON)
      add_library(cohort_cudnn INTERFACE)
      target_include_directories(cohort_cudnn SYSTEM INTERFACE ${COHORT_CUDNN_INCLUDE})
      target_link_libraries(cohort_cudnn INTERFACE ${COHORT_CUDNN_LIBRARY} CUDA::cublas CUDA::cublasLt)
    endif()
    find_path(COHORT_CUPTI_INCLUDE cupti.h HINTS ${CUDAToolkit_INCLUDE_DIRS} ${CUDAToolkit_ROOT}/extras/CUPTI/include)
    if(COHORT_CUPTI_INCLUDE)
      set(COHORT_WITH_CUPTI ON)
      add_library(cohort_cupti_headers INTERFACE)
      target_include_directories(cohort_cupti_headers SYSTEM INTERFACE ${COHORT_CUPTI_INCLUDE} ${CUDAToolkit_INCLUDE_DIRS})
    endif()
  elseif(COHORT_CUDA STREQUAL "ON")
    message(FATAL_ERROR "COHORT_CUDA is ON, but: ${cohort_cuda_found}")
  endif()
  if(COHORT_CUDA STREQUAL "ON" AND NOT (COHORT_WITH_CUDNN AND COHORT_WITH_CUPTI))
    message(FATAL_ERROR "COHORT_CUDA is ON, but: cuDNN and cuBLAS found: ${COHORT_WITH_CUDNN}, CUPTI: ${COHORT_WITH_CUPTI} "
                        "(${cohort_cuda_found}); scripts/install-cuda sets up a toolkit with all of them")
  endif()
  message(STATUS "CUDA parts (COHORT_CUDA=${COHORT_CUDA}): ${COHORT_WITH_CUDA}; ${cohort_cuda_found}")
  if(COHORT_WITH_CUDA)
    message(STATUS "  with cuDNN and cuBLAS: ${COHORT_WITH_CUDNN}, CUPTI: ${COHORT_WITH_CUPTI}")
  endif()
else()
  message(STATUS "CUDA parts (COHORT_CUDA=OFF): OFF")
endif()

# What a program and its plugins must have in common.
set(COHORT_BUILD "${PROJECT_VERSION} ${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION} ${CMAKE_BUILD_TYPE}")

# cohort_plugin(NAME [SOURCES a.cpp b.cu ...] [LIBRARIES lib ...])
# A module cohort_NAME that the program opens at run time with open_plugin("NAME") (base/plugin.hpp). Only what is marked
# COHORT_PLUGIN_EXPORT is seen from outside. The CUDA runtime is linked in; other CUDA libraries are found at run time.
function(cohort_plugin name)
  cmake_parse_arguments(arg "" "" "SOURCES;LIBRARIES" ${ARGN})
  add_library(cohort_${name}_plugin MODULE ${arg_SOURCES} ${PROJECT_SOURCE_DIR}/base/plugin_build.cpp)
  set_target_properties(
    cohort_${name}_plugin
    PROPERTIES OUTPUT_NAME cohort_${name} LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib/cohort
               CXX_VISIBILITY_PRESET hidden CUDA_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON
               CUDA_RUNTIME_LIBRARY Static BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN/..")
  target_link_libraries(cohort_${name}_plugin PRIVATE ${arg_LIBRARIES} cohort_settings)
  target_compile_definitions(cohort_${name}_plugin PRIVATE COHORT_BUILD="${COHORT_BUILD}")
  target_link_options(cohort_${name}_plugin PRIVATE -Wl,--exclude-libs,ALL -Wl,--disable-new-dtags)
  add_dependencies(programs cohort_${name}_plugin)
  install(TARGETS cohort_${name}_plugin LIBRARY DESTINATION lib/cohort)
endfunction()
