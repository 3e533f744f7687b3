# SPDX-License-Identifier: BSD-3-Clause
# From SoftCUDA's runtime headers: VALUE(constant), FUNCTION(function) and MEMBER(cudaDeviceProp,
# member) of the CUDA 13 interface, one a line.
/^#if CUDART_VERSION < 13000/ { older = 1 }
/^#if CUDART_VERSION >= 13000/ { newer = 1 }
/^#else/ { if (newer) { newer = 0; older = 1 } else if (older) { older = 0; newer = 1 } }
/^#endif/ { older = 0; newer = 0 }
older { next }
/^struct cudaDeviceProp/ { members = 1; next }
/^}/ { members = 0 }
members && /;/ {
    name = $NF
    sub(/[[;].*/, "", name)
    print "MEMBER(cudaDeviceProp, " name ")"
}
/^ *cuda[A-Za-z0-9]+ = [0-9]/ { print "VALUE(" $1 ")" }
/cuda[A-Za-z0-9_]+\(/ && !/#define/ {
    if (match($0, /cuda[A-Za-z0-9_]+\(/)) {
        print "FUNCTION(" substr($0, RSTART, RLENGTH - 1) ")"
    }
}
