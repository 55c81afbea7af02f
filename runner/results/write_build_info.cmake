# SPDX-License-Identifier: Apache-2.0
#
# Run at every build (cmake -P): the state of the checkout becomes pkb_build_info.h, rewritten only when it changed, so
# that results never name a commit they were not built from. Takes SOURCE_DIR, OUTPUT, VERSION, COMPILER, BUILD_TYPE.
set(commit "")
set(dirty 0)
find_program(GIT git)
if(GIT AND EXISTS ${SOURCE_DIR}/.git)
  execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} rev-parse HEAD
                  OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET RESULT_VARIABLE failed)
  if(failed)
    set(commit "")
  else()
    execute_process(COMMAND ${GIT} -C ${SOURCE_DIR} --no-optional-locks status --porcelain --untracked-files=no
                    OUTPUT_VARIABLE changes OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
    if(changes)
      set(dirty 1)
    endif()
  endif()
endif()

set(text "// Made by write_build_info.cmake.
#pragma once
#define PKB_VERSION \"${VERSION}\"
#define PKB_GIT_COMMIT \"${commit}\"
#define PKB_GIT_DIRTY ${dirty}
#define PKB_COMPILER \"${COMPILER}\"
#define PKB_BUILD_TYPE \"${BUILD_TYPE}\"
")
set(old "")
if(EXISTS ${OUTPUT})
  file(READ ${OUTPUT} old)
endif()
if(NOT old STREQUAL text)
  file(WRITE ${OUTPUT} "${text}")
endif()
