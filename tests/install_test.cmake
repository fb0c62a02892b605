# Installs a build into an empty folder, and runs what is there. BUILD: the build's folder, PREFIX: where to,
# VIEWER: whether cohort-viewer is part of it.
file(REMOVE_RECURSE ${PREFIX})
execute_process(COMMAND ${CMAKE_COMMAND} --install ${BUILD} --prefix ${PREFIX} OUTPUT_QUIET COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${PREFIX}/bin/cohort --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
if(NOT version MATCHES "[0-9]+\\.[0-9]+")
  message(FATAL_ERROR "the installed program says of its version: ${version}")
endif()
if(NOT EXISTS ${PREFIX}/share/bash-completion/completions/cohort)
  message(FATAL_ERROR "no completion for bash in ${PREFIX}")
endif()
if(NOT EXISTS ${PREFIX}/share/man/man1/cohort.1 OR NOT EXISTS ${PREFIX}/share/man/man1/cohort-trace-info.1)
  message(FATAL_ERROR "no manual pages in ${PREFIX}")
endif()

if(NOT VIEWER)
  return()
endif()
execute_process(COMMAND ${PREFIX}/bin/cohort-viewer --version OUTPUT_VARIABLE version COMMAND_ERROR_IS_FATAL ANY)
if(NOT version MATCHES "cohort-viewer [0-9]+\\.[0-9]+")
  message(FATAL_ERROR "the installed viewer says of its version: ${version}")
endif()
foreach(file applications/cohort-viewer.desktop icons/hicolor/scalable/apps/cohort-viewer.svg
             icons/hicolor/256x256/apps/cohort-viewer.png cohort/examples/lenet5-b1-n16.predicted.json.gz)
  if(NOT EXISTS ${PREFIX}/share/${file})
    message(FATAL_ERROR "no share/${file} in ${PREFIX}")
  endif()
endforeach()
# It finds what was installed with it, and draws without a display.
execute_process(
  COMMAND ${CMAKE_COMMAND} -E env --unset=DISPLAY --unset=WAYLAND_DISPLAY ${PREFIX}/bin/cohort-viewer --screenshot
          ${PREFIX}/start.png COMMAND_ERROR_IS_FATAL ANY)
if(NOT EXISTS ${PREFIX}/start.png)
  message(FATAL_ERROR "the installed viewer drew no picture")
endif()
