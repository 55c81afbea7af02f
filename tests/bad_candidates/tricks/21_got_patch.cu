// SPDX-License-Identifier: Apache-2.0
//
// Trick 21: writes its own functions over those that read events, in the tables through which the worker calls
//   them.
// status: implausible
// on host: passed: times do not count there
// devices: host cuda
// caught by: events are the candidate's word; the rank keeps a clock of its own, and there is the roofline
// out of reach: a forged time that stays above the roofline and within 5 % and 500 us a loop of the truth is
//   believed; compare runs of larger sizes
#include <link.h>
#include <sys/mman.h>

#include "honest.cuh"

static double forged_us(void*, void*) {
  return 0.001;
}
static int forged_ms(float* milliseconds, void*, void*) {
  *milliseconds = 1e-6f;
  return 0;
}

// Every place of the global offset tables of this process that holds a function of this name.
static int patch(dl_phdr_info* object, size_t, void*) {
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    if (object->dlpi_phdr[i].p_type != PT_DYNAMIC) continue;
    const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    uintptr_t symbols = 0, names = 0, tables[2] = {};
    size_t bytes[2] = {};
    for (; entry->d_tag != DT_NULL; ++entry) {
      if (entry->d_tag == DT_SYMTAB) symbols = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRTAB) names = entry->d_un.d_ptr;
      if (entry->d_tag == DT_JMPREL) tables[0] = entry->d_un.d_ptr;
      if (entry->d_tag == DT_PLTRELSZ) bytes[0] = entry->d_un.d_val;
      if (entry->d_tag == DT_RELA) tables[1] = entry->d_un.d_ptr;
      if (entry->d_tag == DT_RELASZ) bytes[1] = entry->d_un.d_val;
    }
    if (names < object->dlpi_addr) continue;  // the vdso
    for (int t = 0; t < 2; ++t) {
      for (size_t r = 0; tables[t] && r < bytes[t] / sizeof(ElfW(Rela)); ++r) {
        const ElfW(Rela)& place = reinterpret_cast<const ElfW(Rela)*>(tables[t])[r];
        const ElfW(Sym)& symbol = reinterpret_cast<const ElfW(Sym)*>(symbols)[place.r_info >> 32];
        const char* name = reinterpret_cast<const char*>(names) + symbol.st_name;
        const bool host = strstr(name, "event_elapsed_us") != nullptr;
        if ((!host && strncmp(name, "cudaEventElapsedTime", 20) != 0) || symbol.st_shndx != SHN_UNDEF) continue;
        const uintptr_t address = object->dlpi_addr + place.r_offset;
        mprotect(reinterpret_cast<void*>(address & ~4095ul), 8192, PROT_READ | PROT_WRITE);
        *reinterpret_cast<void**>(address) = host ? (void*)forged_us : (void*)forged_ms;
        fprintf(stderr, "patched %s\n", name);
      }
    }
  }
  return 0;
}

extern "C" int pkb_setup(const pkb_context* context, const pkb_arguments* arguments, void** state) {
  dl_iterate_phdr(patch, nullptr);
  return honest::setup(context, arguments, state);
}

extern "C" int pkb_run(void* state, const pkb_arguments* arguments, cudaStream_t stream) {
  return honest::run(state, arguments, stream);
}

extern "C" void pkb_teardown(void* state) {
  honest::teardown(state);
}
