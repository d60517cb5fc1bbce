// Fibres: stacks that are switched by hand. A CUDA thread is one fibre; a block's fibres take turns
// on one CPU thread.
#pragma once
#include <cstddef>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace pq::emulator {

// A fibre's stack with an unreadable page below it; reused from block to block.
class Stack {
 public:
  static constexpr std::size_t BYTES = 256 << 10;

  Stack();
  Stack(Stack&& other) noexcept : base_(other.base_) { other.base_ = nullptr; }
  Stack(const Stack&) = delete;
  Stack& operator=(const Stack&) = delete;
  Stack& operator=(Stack&&) = delete;
  ~Stack();

  char* bottom() const { return base_; }
  char* top() const { return base_ + BYTES; }

 private:
  char* base_;
};

// Where a fibre (or the thread that switches to fibres) goes on.
class Context {
 public:
  // Begins `entry(argument)` on the stack at the first switch to it. `entry` must not return.
  void prepare(const Stack& stack, void (*entry)(void*), void* argument);

  // Leave `from`, which goes on when it is switched to, for `to`.
  static void change(Context& from, Context& to);

 private:
#if defined(__x86_64__) || defined(__aarch64__)
  void* stack_pointer_ = nullptr;
#else
  ucontext_t context_{};
  void (*entry_)(void*) = nullptr;
  void* argument_ = nullptr;
#endif
};

}  // namespace pq::emulator
