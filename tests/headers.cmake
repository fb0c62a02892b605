# Every header compiles alone: one source per header that includes nothing else.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR} CONFIGURE_DEPENDS
     ${PROJECT_SOURCE_DIR}/base/*.hpp ${PROJECT_SOURCE_DIR}/models/*.hpp ${PROJECT_SOURCE_DIR}/tracer/*.hpp
     ${PROJECT_SOURCE_DIR}/simulator/*.hpp ${PROJECT_SOURCE_DIR}/executor/*.hpp)
# Headers of the CUDA parts that need CUDA's own.
if(NOT COHORT_WITH_CUPTI)
  list(FILTER headers EXCLUDE REGEX "^tracer/cupti/")
endif()
set(sources)
foreach(header ${headers})
  string(MAKE_C_IDENTIFIER ${header} name)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/headers/${name}.cpp)
  file(CONFIGURE OUTPUT ${source} CONTENT "#include \"${header}\"\n")
  list(APPEND sources ${source})
endforeach()
add_library(headers_alone OBJECT ${sources})
set_target_properties(headers_alone PROPERTIES CXX_CLANG_TIDY "")
target_link_libraries(headers_alone PRIVATE cohort_settings cohort::simulator cohort::run cohort::profile cohort::onnx)
if(COHORT_WITH_ONEDNN)
  target_link_libraries(headers_alone PRIVATE cohort::onednn)
endif()
if(COHORT_WITH_CUPTI)
  target_link_libraries(headers_alone PRIVATE cohort::cupti_decoder)
endif()
