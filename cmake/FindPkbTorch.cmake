# SPDX-License-Identifier: Apache-2.0
#
# LibTorch from the pip wheel or the libtorch archive, as torch::torch (torch::cuda adds the CUDA side). torch's own CMake
# package wants a CUDA toolkit even for CPU use and takes seconds, so the few targets needed are made here.
#
# PKB_TORCH_DIR: the folder `torch` (with include/ and lib/). Not set: asked of the Python in PKB_PYTHON or on PATH.
if(NOT PKB_TORCH_DIR)
  set(PKB_PYTHON "" CACHE FILEPATH "Python that has torch (for LibTorch)")
  find_program(PKB_PYTHON_FOUND NAMES "${PKB_PYTHON}" python3 NO_CACHE)
  execute_process(
    COMMAND ${PKB_PYTHON_FOUND} -c
            "import importlib.util as u; s = u.find_spec('torch'); print(s.submodule_search_locations[0] if s else '')"
    OUTPUT_VARIABLE pkb_torch_location OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  if(pkb_torch_location)
    set(PKB_TORCH_DIR "${pkb_torch_location}" CACHE PATH "LibTorch: the folder with include/ and lib/" FORCE)
  endif()
endif()
find_library(PKB_TORCH_CPU_LIBRARY torch_cpu PATHS "${PKB_TORCH_DIR}/lib" NO_DEFAULT_PATH)
if(NOT PKB_TORCH_CPU_LIBRARY)
  message(FATAL_ERROR "LibTorch not found. Run scripts/setup (it makes a Python environment with torch 2.11.0), or set "
                      "-DPKB_TORCH_DIR=<.../site-packages/torch, or an unpacked libtorch archive>")
endif()

file(STRINGS "${PKB_TORCH_DIR}/include/torch/headeronly/version.h" pkb_torch_version REGEX "\"[0-9.]+\"" LIMIT_COUNT 1)
string(REGEX REPLACE ".*\"(.*)\".*" "\\1" PKB_TORCH_VERSION "${pkb_torch_version}")
message(STATUS "LibTorch ${PKB_TORCH_VERSION} in ${PKB_TORCH_DIR}")

function(pkb_import_torch_library name)
  find_library(PKB_TORCH_${name}_LIBRARY ${name} PATHS "${PKB_TORCH_DIR}/lib" NO_DEFAULT_PATH)
  if(PKB_TORCH_${name}_LIBRARY)
    add_library(torch::${name} SHARED IMPORTED GLOBAL)
    set_target_properties(torch::${name} PROPERTIES IMPORTED_LOCATION "${PKB_TORCH_${name}_LIBRARY}")
  endif()
endfunction()
foreach(library torch_cpu c10 torch_cuda c10_cuda)
  pkb_import_torch_library(${library})
endforeach()

add_library(torch::torch INTERFACE IMPORTED GLOBAL)
target_include_directories(torch::torch SYSTEM INTERFACE "${PKB_TORCH_DIR}/include"
                                                         "${PKB_TORCH_DIR}/include/torch/csrc/api/include")
target_link_libraries(torch::torch INTERFACE torch::torch_cpu torch::c10)

# The GPU side registers itself when loaded, but no symbol of it may be referenced: keep it linked all the same.
if(PKB_CUDA AND TARGET torch::torch_cuda)
  add_library(torch::cuda INTERFACE IMPORTED GLOBAL)
  target_link_libraries(torch::cuda INTERFACE torch::torch -Wl,--no-as-needed torch::torch_cuda torch::c10_cuda
                                              -Wl,--as-needed)
  find_path(PKB_NCCL_INCLUDE_DIR nccl.h HINTS "${PKB_TORCH_DIR}/../nvidia/nccl/include" ${CUDAToolkit_INCLUDE_DIRS})
  if(NOT PKB_NCCL_INCLUDE_DIR)
    message(FATAL_ERROR "nccl.h not found: pip install nvidia-nccl-cu13, or -DPKB_NCCL_INCLUDE_DIR=<folder>")
  endif()
  target_include_directories(torch::cuda SYSTEM INTERFACE "${PKB_NCCL_INCLUDE_DIR}")
endif()
