"""A SIMT emulator: CUDA kernels run by the CPU, a fibre a thread, from the same sources.

It proves kernels where there is no GPU; its times say nothing of a GPU's.
"""
