#include "loops.hpp"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "bindings.hpp"
#include "error.hpp"

namespace nb = nanobind;

// Variables of the files in simd/, each compiled for that instruction set.
#define PQ_TABLES_OF(instruction_set)  \
  namespace instruction_set {          \
  extern const ValueLoops VALUE_LOOPS; \
  extern const RunLoops RUN_LOOPS;     \
  extern const BlockLoops BLOCK_LOOPS; \
  extern const SlotLoops SLOT_LOOPS;   \
  }
#define PQ_LOOPS_OF(instruction_set)                                                       \
  {instruction_set::VALUE_LOOPS, instruction_set::RUN_LOOPS, instruction_set::BLOCK_LOOPS, \
   instruction_set::SLOT_LOOPS, #instruction_set}

namespace pq {

PQ_TABLES_OF(serial)
PQ_TABLES_OF(portable)
#ifdef __x86_64__
PQ_TABLES_OF(avx2)
PQ_TABLES_OF(avx512)
#endif

namespace {

struct Form {
  Loops loops;
  bool (*runs_here)();
};

bool always() { return true; }

#ifdef __x86_64__
// What CMakeLists.txt lets the compiler use, and no more.
#define PQ_HAS __builtin_cpu_supports
bool has_avx2() { return PQ_HAS("avx2") && PQ_HAS("bmi") && PQ_HAS("bmi2") && PQ_HAS("popcnt"); }
bool has_avx512() {
  return has_avx2() && PQ_HAS("avx512f") && PQ_HAS("avx512bw") && PQ_HAS("avx512cd") &&
         PQ_HAS("avx512dq") && PQ_HAS("avx512vl") && PQ_HAS("avx512vbmi") && PQ_HAS("avx512vbmi2");
}
#undef PQ_HAS
#endif

// The fastest last; the first is never chosen.
const Form FORMS[] = {
    {PQ_LOOPS_OF(serial), always},
    {PQ_LOOPS_OF(portable), always},
#ifdef __x86_64__
    {PQ_LOOPS_OF(avx2), has_avx2},
    {PQ_LOOPS_OF(avx512), has_avx512},
#endif
};

const Loops* chosen = &FORMS[1].loops;

std::vector<std::string> instruction_sets() {
  std::vector<std::string> names;
  for (const Form& form : FORMS) {
    if (&form != FORMS && form.runs_here()) names.emplace_back(form.loops.instruction_set);
  }
  return names;
}

// The fastest, or what the environment variable says.
void choose() {
  const std::vector<std::string> names = instruction_sets();
  const char* wanted = std::getenv("PQLAB_CPU");
  const std::string name = wanted != nullptr && *wanted != 0 ? wanted : names.back();
  std::string known;
  for (const std::string& each : names) known += (known.empty() ? "" : ", ") + each;
  if (name == FORMS[0].loops.instruction_set || !choose_loops(name)) {
    throw Error(ErrorKind::Unsupported, "PQLAB_CPU is " + name + "; here it may be " + known);
  }
}

}  // namespace

const Loops& loops() { return *chosen; }

bool choose_loops(const std::string& instruction_set) {
  const Loops* found = loops_of(instruction_set);
  if (found != nullptr) chosen = found;
  return found != nullptr;
}

const Loops* loops_of(const std::string& instruction_set) {
  for (const Form& form : FORMS) {
    if (instruction_set == form.loops.instruction_set && form.runs_here()) return &form.loops;
  }
  return nullptr;
}

void bind_loops(nb::module_& m) {
  choose();
  m.attr("instruction_set") = chosen->instruction_set;
  m.def(
      "instruction_sets", &instruction_sets,
      "Those that the decoding loops are compiled for and this processor runs, the fastest last.");
}

}  // namespace pq
