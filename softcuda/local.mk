# softcuda/: the software CUDA device. Installed beside, never on, the default library path.
softcudadir = $(libdir)/beeline-softcuda
softcudaincludedir = $(includedir)/beeline-softcuda
softcudainclude_HEADERS = softcuda/include/softcuda.h softcuda/include/softcuda_kernel.hpp

include tests/unit/softcuda/local.mk
