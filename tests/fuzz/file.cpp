// A whole file, looked at in every way by tests/hostile_files.py, in a Python of this process whose
// pqlab has the fuzzed native code. The environment says where it is: PQLAB_FUZZ_PYTHON, the
// executable of an environment with pqlab's requirements, PQLAB_FUZZ_ROOT, the project.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdio>
#include <cstdlib>
#include <string>

extern "C" PyObject* PyInit__native();

namespace {

constexpr const char* PREPARE = R"(
import sys, os
import _native
root = os.environ["PQLAB_FUZZ_ROOT"]
sys.path[:0] = [root, os.path.join(root, "tests")]
sys.modules["pqlab.native._native"] = _native
import pqlab.native
pqlab.native._native = _native
from hostile_files import look_at
)";

PyObject* look_at = nullptr;

void fail() {
  PyErr_Print();
  std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  PyImport_AppendInittab("_native", &PyInit__native);
  PyConfig config;
  PyConfig_InitPythonConfig(&config);
  config.install_signal_handlers = 0;
  const char* executable = std::getenv("PQLAB_FUZZ_PYTHON");
  if (executable == nullptr) std::abort();
  PyConfig_SetBytesString(&config, &config.program_name, executable);
  const PyStatus status = Py_InitializeFromConfig(&config);
  PyConfig_Clear(&config);
  if (PyStatus_Exception(status)) std::abort();
  if (PyRun_SimpleString(PREPARE) != 0) std::abort();
  look_at = PyObject_GetAttrString(PyImport_AddModule("__main__"), "look_at");
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, size_t size) {
  PyObject* result = PyObject_CallFunction(look_at, "y#", reinterpret_cast<const char*>(data),
                                           static_cast<Py_ssize_t>(size));
  if (result == nullptr) fail();
  Py_DECREF(result);
  return 0;
}
