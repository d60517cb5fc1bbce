// What CUDA and the emulator say differently; the emulator's forms are in emulator/cuda.hpp.
#pragma once

#ifndef PQ_EMULATOR
// Memory that a block shares: `name[count]`.
#define PQ_SHARED(T, name, count) __shared__ T name[count]
// Names a kernel to the emulator.
#define PQ_EXPORT(kernel)
#endif
