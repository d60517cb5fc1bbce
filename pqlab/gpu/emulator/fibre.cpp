#include "fibre.hpp"

#include <sys/mman.h>

#include <cstdint>
#include <cstring>
#include <new>

namespace pq::emulator {
namespace {

constexpr std::size_t GUARD = 64 << 10;  // a page, on machines with the largest pages, too

}  // namespace

Stack::Stack() {
  void* mapped = mmap(nullptr, GUARD + BYTES, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) throw std::bad_alloc();
  mprotect(mapped, GUARD, PROT_NONE);
  base_ = static_cast<char*>(mapped) + GUARD;
}

Stack::~Stack() {
  if (base_ != nullptr) munmap(base_ - GUARD, GUARD + BYTES);
}

#if defined(__x86_64__) || defined(__aarch64__)

// pq_emulator_switch(void** from, void* to): saves what a callee must, swaps stack pointers.
// pq_emulator_begin: a new fibre's first return address; calls entry(argument) from saved
// registers.
extern "C" void pq_emulator_switch(void** from, void* to);
extern "C" void pq_emulator_begin();

#if defined(__x86_64__)

asm(R"(
  .text
  .p2align 4
  .hidden pq_emulator_switch
  .globl pq_emulator_switch
  .type pq_emulator_switch, @function
pq_emulator_switch:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size pq_emulator_switch, .-pq_emulator_switch
  .p2align 4
  .hidden pq_emulator_begin
  .globl pq_emulator_begin
  .type pq_emulator_begin, @function
pq_emulator_begin:
  movq %r13, %rdi
  callq *%r12
  ud2
  .size pq_emulator_begin, .-pq_emulator_begin
)");

void Context::prepare(const Stack& stack, void (*entry)(void*), void* argument) {
  // r15 r14 r13 r12 rbx rbp, then the return address; a call must find the stack 16-aligned.
  auto* words = reinterpret_cast<std::uintptr_t*>(stack.top()) - 9;
  std::memset(words, 0, 9 * sizeof *words);
  words[2] = reinterpret_cast<std::uintptr_t>(argument);
  words[3] = reinterpret_cast<std::uintptr_t>(entry);
  words[6] = reinterpret_cast<std::uintptr_t>(&pq_emulator_begin);
  stack_pointer_ = words;
}

#else

asm(R"(
  .text
  .p2align 4
  .hidden pq_emulator_switch
  .globl pq_emulator_switch
  .type pq_emulator_switch, %function
pq_emulator_switch:
  sub sp, sp, #160
  stp x19, x20, [sp, #0]
  stp x21, x22, [sp, #16]
  stp x23, x24, [sp, #32]
  stp x25, x26, [sp, #48]
  stp x27, x28, [sp, #64]
  stp x29, x30, [sp, #80]
  stp d8, d9, [sp, #96]
  stp d10, d11, [sp, #112]
  stp d12, d13, [sp, #128]
  stp d14, d15, [sp, #144]
  mov x9, sp
  str x9, [x0]
  mov sp, x1
  ldp x19, x20, [sp, #0]
  ldp x21, x22, [sp, #16]
  ldp x23, x24, [sp, #32]
  ldp x25, x26, [sp, #48]
  ldp x27, x28, [sp, #64]
  ldp x29, x30, [sp, #80]
  ldp d8, d9, [sp, #96]
  ldp d10, d11, [sp, #112]
  ldp d12, d13, [sp, #128]
  ldp d14, d15, [sp, #144]
  add sp, sp, #160
  ret
  .size pq_emulator_switch, .-pq_emulator_switch
  .p2align 4
  .hidden pq_emulator_begin
  .globl pq_emulator_begin
  .type pq_emulator_begin, %function
pq_emulator_begin:
  mov x0, x20
  blr x19
  brk #0
  .size pq_emulator_begin, .-pq_emulator_begin
)");

void Context::prepare(const Stack& stack, void (*entry)(void*), void* argument) {
  auto* words = reinterpret_cast<std::uintptr_t*>(stack.top()) - 20;
  std::memset(words, 0, 20 * sizeof *words);
  words[0] = reinterpret_cast<std::uintptr_t>(entry);
  words[1] = reinterpret_cast<std::uintptr_t>(argument);
  words[11] = reinterpret_cast<std::uintptr_t>(&pq_emulator_begin);
  stack_pointer_ = words;
}

#endif

void Context::change(Context& from, Context& to) {
  pq_emulator_switch(&from.stack_pointer_, to.stack_pointer_);
}

#else

void Context::prepare(const Stack& stack, void (*entry)(void*), void* argument) {
  getcontext(&context_);
  context_.uc_stack.ss_sp = stack.bottom();
  context_.uc_stack.ss_size = Stack::BYTES;
  context_.uc_link = nullptr;
  entry_ = entry;
  argument_ = argument;
  // makecontext passes ints: a pointer goes as two halves.
  const auto self = reinterpret_cast<std::uintptr_t>(this);
  const auto start = +[](unsigned high, unsigned low) {
    auto* context = reinterpret_cast<Context*>(static_cast<std::uintptr_t>(high) << 16 << 16 | low);
    context->entry_(context->argument_);
  };
  makecontext(&context_, reinterpret_cast<void (*)()>(start), 2,
              static_cast<unsigned>(self >> 16 >> 16), static_cast<unsigned>(self));
}

void Context::change(Context& from, Context& to) { swapcontext(&from.context_, &to.context_); }

#endif

}  // namespace pq::emulator
