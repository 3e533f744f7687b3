/* SPDX-License-Identifier: BSD-3-Clause */
/* Loads components as Open MPI does, from plain C, and looks for their MCA symbol; none may bring libcuda along. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

/* The symbol of /path/mca_pml_beeline.so is mca_pml_beeline_component. */
static int check_component(const char* path) {
    char symbol[256];
    const char* slash = strrchr(path, '/');
    const char* name = slash != NULL ? slash + 1 : path;
    const size_t length = strcspn(name, ".");
    if (length + sizeof "_component" > sizeof symbol) {
        fprintf(stderr, "%s: name too long\n", path);
        return 1;
    }
    memcpy(symbol, name, length);
    memcpy(symbol + length, "_component", sizeof "_component");
    void* component = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (component == NULL) {
        fprintf(stderr, "%s does not load: %s\n", path, dlerror());
        return 1;
    }
    if (dlsym(component, symbol) == NULL) {
        fprintf(stderr, "%s has no symbol %s\n", path, symbol);
        return 1;
    }
    printf("%s: %s found\n", path, symbol);
    return 0;
}

int main(int argc, char** argv) {
    int failures = 0;
    if (argc < 2) {
        fprintf(stderr, "usage: %s component.so...\n", argv[0]);
        return 2;
    }
    if (dlopen("libmpi.so.40", RTLD_NOW | RTLD_GLOBAL) == NULL) {
        fprintf(stderr, "libmpi does not load: %s\n", dlerror());
        return 1;
    }
    void* cuda = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    const int cuda_came_with_mpi = cuda != NULL;
    for (int index = 1; index < argc; ++index) {
        failures += check_component(argv[index]);
    }
    if (!cuda_came_with_mpi && dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD) != NULL) {
        fprintf(stderr, "loading a component loaded libcuda.so.1\n");
        ++failures;
    }
    return failures == 0 ? 0 : 1;
}
